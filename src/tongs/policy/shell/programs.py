"""Programs that start others: wrappers, shells, finders, and interpreters of other languages.

The tables of `template/shell_interpreters.py` say where the command of a wrapper and the text of an
interpreter stand; here they are followed.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence

from tongs.core.annotations import Any
from tongs.core.record import replace
from tongs.policy.shell.dividing import Given, divide
from tongs.policy.shell.languages import interpreted
from tongs.policy.shell.started import Started, from_stdin, text_for_shell
from tongs.policy.shell.state import ANY, UNKNOWN, Findings, Invocation
from tongs.template.shell_interpreters import (
    EXPANDED_VARIABLES,
    FIND_ACTIONS,
    FINDERS,
    PROGRAMS,
    RUNNERS,
    WRAPPERS,
    Options,
    Wrapper,
)

SHELLS = frozenset("bash sh dash ash zsh ksh mksh yash fish rbash csh tcsh".split())
_CONTAINERS = frozenset({"docker", "podman", "nerdctl", "kubectl", "oc"})
_ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
# Options of wrappers that the tables lack, since no placeholder stands there.
_MORE_OPTIONS = {
    "env": Options("uCSa", "", {"--unset": 1, "--chdir": 1, "--split-string": 1, "--argv0": 1}),
    "sudo": Options(
        "ughpCrtTUDR",
        "",
        dict.fromkeys(
            "--user --group --host --prompt --close-from --role --type --other-user --chdir"
            " --chroot --command-timeout".split(),
            1,
        ),
    ),
    "systemd-run": Options(
        "pMHEut", "", dict.fromkeys("--property --unit --uid --gid --slice".split(), 1)
    ),
}
_MORE_WRAPPERS = {
    "toybox": Wrapper(), "prlimit": Wrapper(), "setarch": Wrapper(), "linux64": Wrapper(),
    "run0": Wrapper(), "start-stop-daemon": Wrapper(), "chronic": Wrapper(), "ts": Wrapper(),
    "fakeroot": Wrapper(), "gosu": Wrapper(skip=1), "su-exec": Wrapper(skip=1),
    "choom": Wrapper(Options("np", "", {"--adjust": 1, "--pid": 1})), "setpriv": Wrapper(),
    "numactl": Wrapper(Options("iNmCp", "", dict.fromkeys(("--cpunodebind", "--membind"), 1))),
    "proot": Wrapper(), "tini": Wrapper(), "dumb-init": Wrapper(), "ld.so": Wrapper(),
    "ld-linux-x86-64.so.2": Wrapper(), "nsenter": Wrapper(Options("tSGm")),
}  # fmt: skip


def starts_others(name: str) -> bool:
    """Whether what it starts is followed."""
    return name in WRAPPERS or name in _MORE_WRAPPERS or name in SHELLS or name in ("find", "gfind")


def started_by(invocation: Invocation, findings: Findings) -> Iterator[Started]:
    """Everything the program itself starts; what is not understood goes to the findings."""
    name, words = invocation.program, invocation.words[1:]
    _note_written(invocation, findings)
    wrapper = WRAPPERS.get(name) or _MORE_WRAPPERS.get(name)
    if wrapper is not None:
        yield from _wrapped(name, wrapper, invocation, findings)
    elif name in FINDERS:
        yield from _found(invocation)
    elif name in SHELLS:
        yield from _shell(name, invocation, findings)
    elif name in ("eval", "trap", "source", "."):
        yield from _in_this_shell(name, words, invocation, findings)
    elif name in _CALLBACKS:
        yield from _callback(name, words, findings)
    elif name in ("su", "runuser"):
        yield from _su(name, words, invocation, findings)
    elif name in ("ssh", "autossh", "mosh", "watch", "parallel", "hyperfine"):
        yield from _joined(name, words, invocation, findings)
    elif name in ("tmux", "screen") or (name in RUNNERS and name not in PROGRAMS):
        yield from _runner(name, words, invocation)
    elif name == "git":
        yield from _git(words, invocation, findings)
    else:
        yield from interpreted(name, words, invocation, findings)


def _again(invocation: Invocation, words: Sequence[str], by: str) -> Iterator[Invocation]:
    if words:
        yield replace(
            invocation,
            words=tuple(words),
            through=(*invocation.through, by),
            reads=(),
            writes=(),
        )


def _wrapped(
    name: str, wrapper: Wrapper, invocation: Invocation, findings: Findings
) -> Iterator[Started]:
    options = _MORE_OPTIONS.get(name, wrapper.options)
    given = divide(invocation.words[1:], options)
    if any(option.strip("-") in wrapper.lookups for option, _ in given.options if wrapper.lookups):
        return
    operands = given.operands[wrapper.skip :]
    for option in wrapper.program_options:
        if (text := given.value(option)) is not None:
            yield from text_for_shell(" ".join((text, *map(_quoted, operands))), name, findings)
            return
    if operands and operands[0] in wrapper.program_options:
        yield from text_for_shell(" ".join(operands[1:]), name, findings)
        return
    while wrapper.assignments and operands and (match := _ASSIGNMENT.match(operands[0])):
        if match[1] in EXPANDED_VARIABLES:
            findings.doubt(f"{match[1]} is expanded by the next shell")
        operands = operands[1:]
    if name == "xargs":
        operands = _with_input(given, operands or ["echo"], invocation)
    invocation = replace(invocation, folders=_folders(name, given, invocation))
    found = [*_again(invocation, operands, name)]
    # An option that takes a value, for all that is known here, hides the command behind it.
    known = {f"-{letter}" for letter in options.valued + options.glued} | {*options.long_valued}
    if any(option not in known and not values for option, values in given.options):
        found += _again(invocation, operands[1:], name)
    yield Started(words=tuple(found))


def _folders(name: str, given: Given, invocation: Invocation) -> tuple[str, ...]:
    """Where a wrapper starts the command."""
    if name in ("chroot", "nsenter"):
        return (UNKNOWN,)
    chosen = {"env": ("-C", "--chdir"), "sudo": ("-D", "--chdir")}.get(name)
    folder = given.value(*chosen) if chosen else None
    if folder is None:
        return invocation.folders
    return (folder if folder.startswith("/") else UNKNOWN,)


def _quoted(word: str) -> str:
    return word if UNKNOWN in word else shlex.quote(word)


def _with_input(given: Given, operands: list[str], invocation: Invocation) -> list[str]:
    """The command that xargs starts, with what it reads among its words."""
    known = invocation.stdin
    arrived = [UNKNOWN] if known is None or known == "" else _xargs_words(known)
    mark = given.value("-I", "--replace", "-i")
    if given.has("-I", "--replace", "-i"):
        return [word.replace(mark or "{}", "\n".join(arrived)) for word in operands]
    return [*operands, *arrived]


def _xargs_words(text: str) -> list[str]:
    try:
        return shlex.split(text.replace("\0", "\n"))
    except ValueError:
        return [UNKNOWN]


def _found(invocation: Invocation) -> Iterator[Started]:
    """`find ROOTS … -exec COMMAND {} ;`: what is found lies below the roots."""
    words = invocation.words[1:]
    roots = find_roots(words)
    names = [words[n + 1] for n, word in enumerate(words[:-1]) if word in ("-name", "-path")]
    ends = names[-1:] or [ANY]
    for index, word in enumerate(words):
        if word not in FIND_ACTIONS:
            continue
        command: list[str] = []
        for each in words[index + 1 :]:
            if each in (";", "+"):
                break
            places = [f"{root.rstrip('/')}/{end}" for root in roots for end in ends]
            command += [each.replace("{}", place) for place in places] if "{}" in each else [each]
        yield Started(words=tuple(_again(invocation, command, "find")))


def find_roots(words: Sequence[str]) -> list[str]:
    roots: list[str] = []
    for word in words:
        if word in ("-H", "-L", "-P") or word.startswith(("-O", "-D")):
            continue
        if word.startswith(("-", "(", "!")):
            break
        roots.append(word)
    return roots or ["."]


def _shell(name: str, invocation: Invocation, findings: Findings) -> Iterator[Started]:
    options = Options("oO", "", {"--rcfile": 1, "--init-file": 1})
    given = divide(invocation.words[1:], options)
    operands = given.operands
    if any(
        "c" in option.lstrip("-+") and not option.startswith("--") for option, _ in given.options
    ):
        if not operands:
            findings.doubt(f"{name} -c runs nothing that is known")
            return
        yield from text_for_shell(
            operands[0], f"{name} -c", findings, positional=tuple(operands[1:]) or None
        )
        return
    if given.value("--rcfile", "--init-file"):
        findings.doubt(f"{name} runs a file of its own first")
    if operands and not given.has("-s"):
        yield from _file(name, operands[0], findings, positional=tuple(operands))
        return
    yield from from_stdin(name, invocation, findings)


def _file(name: str, path: str, findings: Findings, **more: Any) -> Iterator[Started]:
    """A script in a file is a program like any other, unless this script made it."""
    if path in findings.pipes:
        text = findings.pipes[path]
        yield from text_for_shell(UNKNOWN if text is None else text, name, findings, **more)
    elif path in ("-", "/dev/stdin") or UNKNOWN in path:
        findings.doubt(f"what {name} runs is not known")


def _note_written(invocation: Invocation, findings: Findings) -> None:
    """A file that the script writes and then runs holds nobody knows what."""
    if invocation.program in ("cp", "mv", "install", "tee", "curl", "wget", "ln"):
        findings.written.update(word.rpartition("/")[2] for word in invocation.words[1:])
    findings.written.update(path.rpartition("/")[2] for path in invocation.writes)
    run = [invocation.words[0]] if "/" in invocation.words[0] else []
    if invocation.program in SHELLS or invocation.program in ("source", "."):
        run += [word for word in invocation.words[1:] if not word.startswith("-")][:1]
    for path in run:
        if path.rpartition("/")[2] in findings.written and path != "/dev/null":
            findings.doubt(f"it runs {path}, which it has written itself")


def _in_this_shell(
    name: str, words: Sequence[str], invocation: Invocation, findings: Findings
) -> Iterator[Started]:
    operands = [word for word in words if word != "--"]
    if name == "eval":
        yield from text_for_shell(" ".join(operands), name, findings, same_shell=True)
    elif name == "trap":
        if len(operands) > 1 and operands[0] not in ("-", "", "-p", "-l"):
            yield from text_for_shell(operands[0], name, findings, same_shell=True)
    elif operands[:1] in (["/dev/stdin"], ["-"]):
        yield from from_stdin(name, invocation, findings)
    elif operands:
        yield from _file(name, operands[0], findings, same_shell=True)


# Builtins that run a text among their options, or expand one.
_CALLBACKS = {
    **dict.fromkeys(("mapfile", "readarray"), (("-C",), Options("dnOsucC"))),
    **dict.fromkeys(("compgen", "complete"), (("-C", "-F", "-W"), Options("oAGWFCXPS"))),
    "bind": (("-x",), Options("mqurfx")),
}


def _callback(name: str, words: Sequence[str], findings: Findings) -> Iterator[Started]:
    running, options = _CALLBACKS[name]
    for option, values in divide(words, options).options:
        if option not in running:
            continue
        for value in values or [UNKNOWN]:
            text = f': "{value}"' if option == "-W" else value
            yield from text_for_shell(text, f"{name} {option}", findings)


def _su(
    name: str, words: Sequence[str], invocation: Invocation, findings: Findings
) -> Iterator[Started]:
    given = divide(words, PROGRAMS["su"].options)
    text = given.value("-c", "--command", "--session-command")
    if text is not None:
        yield from text_for_shell(text, f"{name} -c", findings)
    elif name == "runuser" and given.has("-u"):
        wrapped = divide(words, Options("ugG")).operands
        yield Started(words=tuple(_again(invocation, wrapped, name)))
    else:
        yield from from_stdin(name, invocation, findings)


def _joined(
    name: str, words: Sequence[str], invocation: Invocation, findings: Findings
) -> Iterator[Started]:
    """Programs that put their words together and hand them to a shell."""
    interpreter = PROGRAMS[name]
    given = divide(words, interpreter.options)
    for option in ("-o", "-S"):
        value = given.value(option) if interpreter.skip else None
        if value and "command" in value.lower():
            yield from text_for_shell(value.partition("=")[2], f"{name} {option}", findings)
    operands = given.operands[interpreter.skip :]
    elsewhere = (UNKNOWN,) if name in ("ssh", "autossh", "mosh") else None
    if name == "watch" and given.has("-x", "--exec"):
        yield Started(words=tuple(_again(invocation, operands, name)))
    elif name == "parallel":
        yield Started(words=tuple(_parallel(operands, invocation, findings)))
    elif name == "hyperfine":
        for operand in operands:
            yield from text_for_shell(operand, name, findings)
    elif operands:
        yield from text_for_shell(" ".join(operands), name, findings, folders=elsewhere)
    elif name != "watch":
        for started in from_stdin(name, invocation, findings):
            yield replace(started, folders=elsewhere)


def _parallel(
    operands: list[str], invocation: Invocation, findings: Findings
) -> Iterator[Invocation]:
    marks = [n for n, word in enumerate(operands) if word in (":::", "::::", ":::+")]
    template = operands[: marks[0]] if marks else operands
    arguments = operands[marks[0] + 1 :] if marks and operands[marks[0]] == ":::" else [UNKNOWN]
    if not template:
        findings.doubt("parallel runs lines that are not known")
        return
    if any(re.search(r"[\s;|&$`<>]", word) for word in template):
        # A shell reads it: as a text, with the argument behind it.
        yield replace(
            invocation,
            words=("bash", "-c", " ".join(template)),
            through=(*invocation.through, "parallel"),
        )
        return
    for argument in arguments:
        filled = [word.replace("{}", argument) for word in template]
        words = filled if filled != template else [*template, argument]
        yield from _again(invocation, words, "parallel")


def _runner(name: str, words: Sequence[str], invocation: Invocation) -> Iterator[Started]:
    """The first word that is known to start something, and what follows it."""
    if name in ("tmux", "screen"):
        for word in words:
            if " " in word:
                yield Started(text=word, by=name)
    if name in _CONTAINERS:
        starts = [n for n, word in enumerate(words) if word in ("run", "exec")]
        if not starts:
            return
        words = words[starts[0] + 1 :]
        invocation = replace(invocation, folders=(UNKNOWN,))
    for index, word in enumerate(words):
        program = word.rpartition("/")[2]
        if program in PROGRAMS or program in WRAPPERS or program in _TELLING:
            yield Started(words=tuple(_again(invocation, words[index:], name)))
            return


# Programs a rule is likely to be about, where only guessing tells which word is the program.
_TELLING = frozenset("rm dd shred mkfs wipefs find curl wget nc shutdown reboot rimraf cat".split())


def _git(words: Sequence[str], invocation: Invocation, findings: Findings) -> Iterator[Started]:
    from tongs.policy.git_words import commands, divided  # noqa: PLC0415 - only for git

    for text, by in commands(words):
        yield from text_for_shell(text, by, findings)
    operands = divided(words).operands
    if operands[:2] == ["bisect", "run"]:
        yield Started(words=tuple(_again(invocation, operands[2:], "git")))
