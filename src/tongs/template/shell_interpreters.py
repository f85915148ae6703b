"""Which programs run a part of their own arguments as code, and where that part stands."""

from __future__ import annotations

from tongs.core.record import dataclass, field, replace

_ALL = 1000


@dataclass(frozen=True, slots=True)
class Options:
    """How a program's options divide its words.

    `valued` are the short options that take the next word (or the rest of their own), `glued`
    those that take only the rest of their own word. `long_valued` counts the words a long option
    takes without `=`, and so for long names after one dash (`-ex`). Options are still read after so
    many operands: `permuted`.
    """

    valued: str = ""
    glued: str = ""
    long_valued: dict[str, int] = field(default_factory=dict)
    permuted: int = 0


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A program that reads code from its words.

    The code is the value of one of `program_options`; else, unless one of `elsewhere` says that it
    comes from a file, the operand after the first `skip` ones (`rest`: that and all later ones),
    where `operand` is true or the short option `switch` was given. `stdin`: without any of these
    the code is read from standard input; `files`: an operand is a file with the code instead.
    """

    hint: str
    options: Options = Options()
    program_options: frozenset[str] = frozenset()
    elsewhere: frozenset[str] = frozenset()
    switch: str = ""
    operand: bool = False
    skip: int = 0
    rest: bool = False
    stdin: bool = False
    files: bool = True


@dataclass(frozen=True, slots=True)
class Wrapper:
    """A program that starts the command standing after its options and `skip` operands."""

    options: Options = Options()
    skip: int = 0
    # `NAME=value` words may stand before the command.
    assignments: bool = False
    # With one of these short options nothing is started (`command -v`).
    lookups: str = ""
    # Options whose value is itself a command line (`env -S`).
    program_options: frozenset[str] = frozenset()


_SHELL = Interpreter(
    """pass the value as an argument: bash -c '… "$1"' _ {NAME}""",
    Options(valued="oO", long_valued={"--rcfile": 1, "--init-file": 1}),
    switch="c",
    stdin=True,
)
_AWK = Interpreter(
    "pass the value as a variable: awk -v value={NAME} '… value …'",
    Options(valued="Fvfeil", long_valued={"--source": 1, "--file": 1, "--assign": 1}),
    program_options=frozenset({"-e", "--source"}),
    elsewhere=frozenset({"-f", "--file"}),
    operand=True,
)
_SED = Interpreter(
    'sed has no variables; use awk -v value={NAME} \'…\', or bash\'s ${text//"$from"/"$to"}',
    Options(valued="efl", glued="i", long_valued={"--expression": 1, "--file": 1}, permuted=_ALL),
    program_options=frozenset({"-e", "--expression"}),
    elsewhere=frozenset({"-f", "--file"}),
    operand=True,
)
_JQ = Interpreter(
    "pass the value as a variable: jq --arg value {NAME} '… $value …'",
    Options(
        valued="L",
        long_valued={
            "--arg": 2,
            "--argjson": 2,
            "--slurpfile": 2,
            "--rawfile": 2,
            "--indent": 1,
        },
        permuted=_ALL,
    ),
    elsewhere=frozenset({"-f", "--from-file"}),
    operand=True,
)
_PERL = Interpreter(
    "pass the value as an argument: perl -e '… $ARGV[0] …' -- {NAME}",
    Options(valued="eEI", glued="iMmFxDC"),
    program_options=frozenset({"-e", "-E"}),
    stdin=True,
)
_RUBY = Interpreter(
    "pass the value as an argument: ruby -e '… ARGV[0] …' -- {NAME}",
    Options(valued="eIrC", glued="iFKTWx"),
    program_options=frozenset({"-e"}),
    stdin=True,
)
_PYTHON = Interpreter(
    "pass the value as an argument: python3 -c 'import sys; … sys.argv[1] …' {NAME}",
    Options(valued="cmWX"),
    program_options=frozenset({"-c"}),
    elsewhere=frozenset({"-m"}),
    stdin=True,
)
_NODE = Interpreter(
    "pass the value as an argument: node -e '… process.argv[1] …' -- {NAME}",
    Options(valued="epr", long_valued={"--eval": 1, "--print": 1, "--require": 1}),
    program_options=frozenset({"-e", "-p", "--eval", "--print"}),
    stdin=True,
)
_SU = Interpreter(
    """pass the value as an argument: su USER -c '… "$1"' -- _ {NAME}""",
    Options(valued="cCgGswT", long_valued={"--command": 1, "--session-command": 1}, permuted=_ALL),
    program_options=frozenset({"-c", "--command", "--session-command"}),
    stdin=True,
)
_SSH = Interpreter(
    "the other side's shell reads the whole command: send the value on standard input "
    "(printf %s {NAME} | ssh HOST 'cat > file'), or allow only listed values with enum",
    Options(valued="BbcDEeFIiJLlmOopQRSWw", permuted=1),
    program_options=frozenset({"-o"}),
    operand=True,
    skip=1,
    rest=True,
    stdin=True,
)
_EVAL = Interpreter("run the command itself: a placeholder needs no eval", operand=True, rest=True)
_NAMES = Interpreter(
    "name the variable yourself: bash runs commands in the subscript of a name",
    operand=True,
    rest=True,
)
_COMPLETION = Interpreter("write the text yourself", Options(valued=""), operand=True, rest=True)
_DASH_E = Interpreter(
    "pass the value as an argument of the program",
    Options(valued="e"),
    program_options=frozenset({"-e"}),
    stdin=True,
)

_SQL_HINT = "the value could end the text it stands in, and the client runs shell commands, too: "
_MYSQL = Interpreter(
    _SQL_HINT + "allow only listed values with enum, or use a program that binds parameters",
    Options(valued="eDhPuS", glued="p", long_valued={"--execute": 1, "--database": 1}),
    program_options=frozenset({"-e", "--execute"}),
    stdin=True,
    files=False,
)
_OWN_COMMAND = "write the command yourself, or allow only listed values with enum"
_EDITOR = Interpreter(
    "an editor's commands can start programs: write them yourself",
    Options(valued="cuUSTwW", long_valued={"--cmd": 1}, permuted=_ALL),
    program_options=frozenset({"-c", "--cmd"}),
)
_LINE_EDITOR = Interpreter(_EDITOR.hint, Options(valued="pc"), stdin=True, files=False)
_SCHEDULER = Interpreter(
    "a shell runs these lines later: write them yourself, with the value in a file they read",
    Options(valued="fqtu"),
    elsewhere=frozenset({"-f"}),
    stdin=True,
    files=False,
)
_COPY = Interpreter(
    _OWN_COMMAND,
    Options(valued="cDFiJloPSXs"),
    program_options=frozenset({"-o", "-S"}),
)
_SHELLS = "bash sh dash ash zsh ksh mksh yash fish rbash csh tcsh".split()

PROGRAMS: dict[str, Interpreter] = {
    **dict.fromkeys(_SHELLS, _SHELL),
    **dict.fromkeys(("awk", "gawk", "mawk", "nawk"), _AWK),
    **dict.fromkeys(("sed", "gsed"), _SED),
    **dict.fromkeys(("jq", "yq", "gojq", "jaq"), _JQ),
    **dict.fromkeys(("python", "pypy"), _PYTHON),
    **dict.fromkeys(("node", "nodejs", "bun"), _NODE),
    **dict.fromkeys(("su", "runuser"), _SU),
    **dict.fromkeys(("lua", "luajit", "Rscript", "groovy", "elixir", "julia"), _DASH_E),
    "perl": _PERL,
    "ruby": _RUBY,
    "php": Interpreter(
        "pass the value as an argument: php -r '… $argv[1] …' -- {NAME}",
        Options(valued="rfBRFEdcSt"),
        program_options=frozenset({"-r", "-B", "-R", "-E"}),
        elsewhere=frozenset({"-f", "-F"}),
        stdin=True,
    ),
    "pwsh": Interpreter(
        "use a pwsh: script, where placeholders are safe",
        Options(valued="c"),
        program_options=frozenset({"-c", "-Command", "-command"}),
        stdin=True,
    ),
    **dict.fromkeys(("ssh", "autossh", "mosh"), _SSH),
    **dict.fromkeys(("scp", "sftp"), _COPY),
    **dict.fromkeys(("mysql", "mariadb"), _MYSQL),
    **dict.fromkeys(("vim", "nvim", "vi", "view"), _EDITOR),
    **dict.fromkeys(("ed", "ex"), _LINE_EDITOR),
    **dict.fromkeys(("at", "batch"), _SCHEDULER),
    "crontab": replace(_SCHEDULER, elsewhere=frozenset({"-l", "-r"}), files=True),
    "psql": Interpreter(
        _SQL_HINT + "psql -v value={NAME} <<< \"select :'value'\"",
        Options(
            valued="cdfhpUvLoFPRT",
            long_valued={"--command": 1, "--dbname": 1, "--file": 1, "--variable": 1, "--set": 1},
            permuted=_ALL,
        ),
        program_options=frozenset({"-c", "--command"}),
        elsewhere=frozenset({"-f", "--file"}),
        stdin=True,
        files=False,
    ),
    "sqlite3": Interpreter(
        _SQL_HINT + "allow only listed values with enum, or use python: with its sqlite3 module",
        Options(long_valued={"-separator": 1, "-nullvalue": 1, "-newline": 1, "-cmd": 1}),
        program_options=frozenset({"-cmd"}),
        operand=True,
        skip=1,
        rest=True,
        stdin=True,
    ),
    "osascript": Interpreter(
        "pass the value as an argument: osascript -e 'on run argv' -e '… item 1 of argv …' -e end"
        " {NAME}",
        Options(valued="els"),
        program_options=frozenset({"-e"}),
        stdin=True,
    ),
    "gdb": Interpreter(
        _OWN_COMMAND,
        Options(long_valued={"-ex": 1, "--ex": 1, "-eval-command": 1, "--eval-command": 1}),
        program_options=frozenset({"-ex", "--ex", "-eval-command", "--eval-command"}),
    ),
    "emacs": Interpreter(
        _OWN_COMMAND,
        Options(long_valued={"--eval": 1, "-eval": 1}, permuted=_ALL),
        program_options=frozenset({"--eval", "-eval"}),
    ),
    **dict.fromkeys(("dc", "gnuplot", "R", "tclsh"), _DASH_E),
    "expect": replace(_DASH_E, options=Options(valued="cf"), program_options=frozenset({"-c"})),
    "script": Interpreter(
        _OWN_COMMAND,
        Options(valued="cEIOBTmo", long_valued={"--command": 1}, permuted=_ALL),
        program_options=frozenset({"-c", "--command"}),
    ),
    **dict.fromkeys(
        ("make", "gmake"),
        Interpreter(
            "make expands $(shell …) in it: write it yourself",
            Options(valued="CfIjloWE", long_valued={"--eval": 1, "--file": 1}, permuted=_ALL),
            program_options=frozenset({"-E", "--eval"}),
        ),
    ),
    "hyperfine": Interpreter(
        "hyperfine hands its words to a shell", Options(valued="wrpcsnu"), operand=True, rest=True
    ),
    "tar": Interpreter(
        _OWN_COMMAND,
        Options(
            valued="fCTXIFgKbHVLN",
            long_valued={"--to-command": 1, "--use-compress-program": 1, "--checkpoint-action": 1},
            permuted=_ALL,
        ),
        program_options=frozenset(
            {
                "-I",
                "-F",
                "--to-command",
                "--use-compress-program",
                "--checkpoint-action",
                "--rsh-command",
                "--rmt-command",
                "--info-script",
                "--new-volume-script",
            }
        ),
    ),
    "rsync": Interpreter(
        _OWN_COMMAND,
        Options(valued="eTfBM", long_valued={"--rsh": 1, "--rsync-path": 1}, permuted=_ALL),
        program_options=frozenset({"-e", "--rsh", "--rsync-path"}),
    ),
    "split": Interpreter(
        "split hands this to a shell, and the name of each part as $FILE: write it yourself",
        Options(valued="abClnt", long_valued={"--filter": 1}, permuted=_ALL),
        program_options=frozenset({"--filter"}),
    ),
    "sort": Interpreter(
        _OWN_COMMAND,
        Options(valued="kotST", long_valued={"--compress-program": 1}, permuted=_ALL),
        program_options=frozenset({"--compress-program"}),
    ),
    "watch": Interpreter(
        "watch hands its words to sh: use watch -x",
        Options(valued="nq", long_valued={"--interval": 1}),
        elsewhere=frozenset({"-x", "--exec"}),
        operand=True,
        rest=True,
    ),
    "parallel": Interpreter(
        "parallel hands its words to a shell: put the value after :::",
        Options(valued="jNnIaLlsdS", long_valued={"--jobs": 1}),
        operand=True,
        stdin=True,
    ),
}

BUILTINS: dict[str, Interpreter] = {
    "unset": _NAMES,
    **dict.fromkeys(("alias", "bind", "complete", "compgen"), _COMPLETION),
    "eval": _EVAL,
    "let": Interpreter("give the parameter the type integer or number", operand=True, rest=True),
    "trap": Interpreter(
        "keep the value in a variable: value={NAME}; trap '… \"$value\"' EXIT",
        Options(glued="lp"),
        operand=True,
    ),
    "read": Interpreter(
        _NAMES.hint,
        Options(valued="adinNptu"),
        program_options=frozenset({"-a"}),
        operand=True,
        rest=True,
    ),
    "printf": Interpreter(_NAMES.hint, Options(valued="v"), program_options=frozenset({"-v"})),
    "wait": Interpreter(_NAMES.hint, Options(valued="p"), program_options=frozenset({"-p"})),
    "getopts": Interpreter(_NAMES.hint, operand=True, skip=1),
    **dict.fromkeys(
        ("mapfile", "readarray"),
        Interpreter(
            _NAMES.hint,
            Options(valued="dnOsuCc"),
            program_options=frozenset({"-C", "-O"}),
            operand=True,
            rest=True,
        ),
    ),
}

WRAPPERS: dict[str, Wrapper] = {
    "env": Wrapper(
        Options(valued="uCS", long_valued={"--unset": 1, "--chdir": 1, "--split-string": 1}),
        assignments=True,
        program_options=frozenset({"-S", "--split-string"}),
    ),
    "sudo": Wrapper(
        Options(valued="ughpCrtTUDR", long_valued={"--user": 1, "--group": 1, "--prompt": 1}),
        assignments=True,
    ),
    "doas": Wrapper(Options(valued="uC")),
    "command": Wrapper(lookups="vV"),
    "builtin": Wrapper(),
    "exec": Wrapper(Options(valued="a")),
    "nohup": Wrapper(),
    "setsid": Wrapper(),
    "time": Wrapper(Options(valued="fo")),
    "-p": Wrapper(),
    "--": Wrapper(),
    "nice": Wrapper(Options(valued="n", long_valued={"--adjustment": 1})),
    "ionice": Wrapper(Options(valued="cnpPu")),
    "chrt": Wrapper(Options(valued="TPDp"), skip=1),
    "taskset": Wrapper(skip=1),
    "timeout": Wrapper(
        Options(valued="ks", long_valued={"--kill-after": 1, "--signal": 1}), skip=1
    ),
    "stdbuf": Wrapper(Options(valued="ioe", long_valued={"--output": 1, "--error": 1})),
    "chroot": Wrapper(skip=1),
    "flock": Wrapper(
        Options(valued="wEc", long_valued={"--timeout": 1, "--command": 1}),
        skip=1,
        program_options=frozenset({"-c", "--command"}),
    ),
    "xargs": Wrapper(
        Options(
            valued="IdELnPsa",
            glued="iel",
            long_valued={"--delimiter": 1, "--max-args": 1, "--max-procs": 1, "--arg-file": 1},
        )
    ),
    "busybox": Wrapper(),
    "sshpass": Wrapper(Options(valued="pfdP")),
    **dict.fromkeys(("torsocks", "torify", "proxychains", "proxychains4"), Wrapper()),
    **dict.fromkeys(("unbuffer", "pkexec", "caffeinate", "dbus-run-session"), Wrapper()),
    "xvfb-run": Wrapper(Options(valued="enpsw")),
    "ltrace": Wrapper(Options(valued="eopsuaDFnx")),
    "valgrind": Wrapper(),
    "unshare": Wrapper(Options(glued="muinpUCT")),
    "strace": Wrapper(Options(valued="eopPsuEaSIOXb")),
    "systemd-run": Wrapper(Options(valued="pMHE", long_valued={"--property": 1, "--unit": 1})),
}

# Programs that start a command somewhere among their words, by rules too many to repeat here.
RUNNERS = frozenset({
    "docker", "podman", "nerdctl", "kubectl", "oc", "lxc", "lxc-attach", "incus", "machinectl",
    "nsenter", "bwrap", "firejail", "vagrant", "script", "tmux", "screen", "uv", "poetry", "pipx",
    "npx", "conda", "direnv", "dotenv", "entr", "gosu", "tini", "dumb-init", "proot", "fakeroot",
})  # fmt: skip
FINDERS = frozenset({"find", "gfind", "fd", "fdfind"})
FIND_ACTIONS = frozenset(
    {"-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"}
)
DECLARATIONS = frozenset({"declare", "typeset", "local", "export", "readonly"})
# Programs whose output is their arguments.
ECHOES = frozenset({"echo", "printf"})
# Programs whose output is a part of their arguments.
PATH_PARTS = frozenset({"basename", "dirname", "realpath", "readlink"})
# Programs whose output is what they read, or parts of it.
FILTERS = frozenset(
    "cat tee tr sort uniq head tail rev tac cut grep sed fold paste base64 envsubst".split()
)
# Variables whose value the shell expands again, or takes for the program to run.
EXPANDED_VARIABLES = frozenset({
    "PS0", "PS1", "PS2", "PS4", "PROMPT_COMMAND", "BASH_ENV", "ENV", "BASH_ALIASES", "BASH_CMDS",
})  # fmt: skip
# Variables that bash made with `declare -i`.
INTEGER_VARIABLES = frozenset({"RANDOM", "SRANDOM", "SECONDS", "OPTIND", "HISTCMD", "LINENO"})
