"""The command itself: version, help, mistakes, exits, logs."""

import fcntl
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, WITHOUT_USERNS, Outcome, Place, Run, Show
from tests.unit.sandbox.running import is_locked

from tongs._version import __version__


@pytest.mark.parametrize("arguments", [["--version"], ["-V"], ["-v", "--version"]])
def test_the_version_is_answered(tongs: Run, arguments: list[str]) -> None:
    assert tongs(*arguments) == Outcome(f"tongs {__version__}\n", "", 0)


def test_the_module_is_the_command(place: Place) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tongs", "--version"], env=place.env, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"tongs {__version__}\n"


def test_the_version_imports_nothing_else(place: Place) -> None:
    program = (
        "import sys; before = set(sys.modules); sys.argv = ['tongs', '--version'];"
        "import atexit; atexit.register(lambda: print(*(set(sys.modules) - before)));"
        "from tongs.__main__ import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=place.env, capture_output=True, check=True
    )
    loaded = set(done.stdout.decode().splitlines()[1].split())
    allowed = {
        "atexit",
        "gc",
        "tongs",
        "tongs.__main__",
        "tongs._version",
        "tongs.core",
        "tongs.core.annotations",
    }
    assert loaded <= {*allowed, "__future__"}


HEAVY = {
    *("asyncio", "logging", "subprocess", "tempfile", "pathlib", "yaml", "jsonschema_rs"),
    *("tree_sitter", "rich", "prompt_toolkit", "mcp", "httpx2", "pydantic", "starlette"),
    *("importlib.metadata", "importlib.resources", "difflib", "urllib", "socket"),
}


@pytest.mark.parametrize("line", ["tool list", "tool run greet WHO=x", "tool get greet"])
def test_everyday_commands_load_nothing_heavy(tongs: Run, place: Place, line: str) -> None:
    tongs(
        "tool", "add", "greet", "--description", "d", "--bash", "echo {WHO}", "--parameter", "WHO"
    )
    tongs(*line.split())
    program = (
        f"import sys; sys.argv = ['tongs', *{line.split()!r}];"
        "import atexit; atexit.register(lambda: print('loaded', *sys.modules, file=sys.stderr));"
        "from tongs.__main__ import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=place.project,
        env={key: value for key, value in place.env.items() if not key.startswith("COVERAGE_")},
        capture_output=True,
        check=True,
    )
    loaded = set(done.stderr.decode().rpartition("loaded ")[2].split())
    assert loaded & HEAVY == set()


@pytest.mark.parametrize(
    ("line", "page"),
    [
        ("", "tongs"),
        ("--help", "tongs"),
        ("help", "tongs"),
        ("tool", "tool"),
        ("tool -h", "tool"),
        ("help tool", "tool"),
        *[
            (line.format(command), f"tool-{command}")
            for command in ("list", "get", "add", "remove", "run")
            for line in ("help tool {}", "tool {} --help", "tool {} x -h", "--help tool {}")
        ],
        ("help tools", "tools"),
        ("trust --help", "trust"),
        ("help lint", "lint"),
        ("help completion", "completion"),
        ("help --help", "help"),
    ],
)
def test_help_is_the_same_text_everywhere(tongs: Run, line: str, page: str) -> None:
    root = Path(__file__).parents[2] / "src/tongs/surfaces/cli/help"
    text = (root / f"{page}.txt").read_text(encoding="utf-8")
    assert tongs(*line.split()) == Outcome(text, "", 0)


def test_a_value_that_reads_help_is_no_question_for_help(tongs: Run) -> None:
    tongs("tool", "add", "say", "--description", "d", "--run", "echo", "--arguments", "{A}",
          "--parameter", "A")  # fmt: skip
    assert tongs("tool", "run", "say", "A=--help").stdout != ""
    assert tongs("tool", "run", "say", "--", "A=-h").stdout == "-h\n"


def test_words_are_found_in_the_help(tongs: Run) -> None:
    found = tongs("help", "find", "percent-ENCODED")
    assert found == Outcome(
        "tongs help tools\n  {URL:NAME}     percent-encoded, for use in a URL\n", "", 0
    )
    expanded = tongs("help", "find", "percent-encoded", "--expand")
    assert expanded == tongs("help", "tools")
    nothing = tongs("help", "find", "zzzz")
    assert (nothing.stdout, nothing.code) == ("", 1)


@pytest.mark.parametrize(
    ("line", "message", "hint"),
    [
        ("tol list", "there is no command `tongs tol`", "did you mean `tongs tool`?"),
        ("tool lst", "there is no command `tongs tool lst`", "did you mean `tongs tool list`?"),
        ("zzz", "there is no command `tongs zzz`", "tongs help"),
        ("tool list --jsn", "tool list: unknown option `--jsn`", "did you mean `--json`?"),
        ("--jsn", "tongs: unknown option `--jsn`", "tongs help"),
        ("tool get", "tool get: NAME is missing", "tongs help tool get"),
        ("tool get a b", "tool get: unknown argument `b`", "tongs help tool get"),
        ("tool add x", "tool add: --description is missing", "tongs help tool add"),
        ("help tol", "there is no help on `tol`", "did you mean `tongs help tool`?"),
        (
            "tool list --profile x",
            "--profile: there is no profile `x`",
            "write one: profiles/NAME.yml",
        ),
    ],
)
def test_mistakes_are_said_with_what_to_type_instead(
    tongs: Run, line: str, message: str, hint: str
) -> None:
    said = f"error: {message}\n" + (f"hint: {hint}\n" if hint else "")
    assert tongs(*line.split()) == Outcome("", said, 2)


def test_a_reader_that_leaves_early_is_no_error(place: Place) -> None:
    for name in range(300):
        place.tool(f"tool{name}", f"description: {'x' * 500}\nbash: 'true'\n")
    done = subprocess.run(
        ["bash", "-c", f"{TONGS} tool list | head -n 1; echo ${{PIPESTATUS[0]}}"],
        cwd=place.project,
        env=place.env,
        capture_output=True,
        check=True,
    )
    assert done.stderr == b""
    assert done.stdout.splitlines()[1] == b"141"


def test_a_reader_that_leaves_early_ends_the_tool(place: Place, tongs: Run) -> None:
    tongs("tool", "add", "endless", "--description", "d", "--bash", "exec yes")
    done = subprocess.run(
        ["bash", "-c", f"{TONGS} tool run endless | head -n 1; echo ${{PIPESTATUS[0]}}"],
        cwd=place.project,
        env=place.env,
        capture_output=True,
        timeout=30,
        check=True,
    )
    assert (done.stdout, done.stderr) == (b"y\n141\n", b"")


@pytest.mark.parametrize("line", ["--version", "help", "tool list --json", "tool run big"])
def test_a_full_disk_is_said(place: Place, line: str) -> None:
    place.tool("big", "bash: head -c 100000 /dev/zero\n", scope="user")
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [TONGS, *line.split()],
            cwd=place.project,
            env=place.env,
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    said = "error: the output cannot be written: No space left on device\n"
    assert (done.stderr.decode(), done.returncode) == (said, 1)


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_trouble(place: Place, closed: str) -> None:
    place.tool("t", "bash: touch ran; echo out; echo err >&2\n", scope="user")
    place.tool("stranger", "bash: 'true'\n")
    for line, code in {"tool list": 0, "tool run t": 0, "tool run stranger": 3, "-V": 0}.items():
        done = subprocess.run(
            ["bash", "-c", f"{TONGS} {line} {closed}"],
            cwd=place.project,
            env=place.env,
            capture_output=True,
            start_new_session=True,
            check=False,
        )
        assert done.returncode == code
        assert b"Traceback" not in done.stderr
        assert b"INTERNAL_ERROR" not in done.stderr
    assert (place.project / "ran").exists()


# Holds a lock for as long as any of its processes lives, the daemon included.
SLOW = "exec 9> lock; flock 9; setsid sleep 300 & echo started; exec sleep 300"


def test_ctrl_c_ends_the_tool_and_exits_130(place: Place, tongs: Run, screen: Show) -> None:
    tongs("tool", "add", "slow", "--description", "d", "--bash", SLOW)
    shown = screen("tool", "run", "slow")
    shown.wait_for("started")
    assert is_locked(place.project / "lock")
    shown.type("\x03")

    assert shown.end() == 130
    assert not is_locked(place.project / "lock")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_tool_is_recorded_and_exits_130(
    place: Place, tongs: Run, number: signal.Signals
) -> None:
    tongs("tool", "add", "slow", "--description", "d", "--bash", SLOW)
    process = subprocess.Popen(
        [TONGS, "tool", "run", "slow"], cwd=place.project, env=place.env, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"started\n"
    assert is_locked(place.project / "lock")
    process.send_signal(number)
    process.stdout.close()

    assert process.wait(30) == 130
    assert not is_locked(place.project / "lock")
    record = place.copy.splitlines()[-1]
    assert "TOOL_EXECUTED name=slow params={} status=error code=CANCELLED" in record


@pytest.mark.parametrize("tier", ["A", "B"])
def test_killing_tongs_itself_ends_the_tool_and_all_it_has_started(
    place: Place, tongs: Run, tier: str
) -> None:
    tongs("tool", "add", "slow", "--description", "d", "--bash", SLOW)
    around = [] if tier == "A" else [sys.executable, WITHOUT_USERNS, "--"]
    with subprocess.Popen(
        [*around, TONGS, "tool", "run", "slow"],
        cwd=place.project,
        env=place.env,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"started\n"
        assert is_locked(place.project / "lock")
        process.kill()

    with (place.project / "lock").open() as lock:
        # Waits for the last of them, and does not end before.
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_an_unexpected_failure_is_one_sentence_with_an_id(place: Place, tongs: Run) -> None:
    (place.project / "sitecustomize.py").write_text(
        "import tongs.surfaces.cli.pages as p\np.names = lambda: 1 / 0\n", encoding="utf-8"
    )
    failed = tongs("help", "tool", env={"PYTHONPATH": str(place.project)})

    log = place.state / "log" / "tongs.log"
    assert (failed.stdout, failed.code) == ("", 4)
    assert "Traceback" not in failed.stderr
    mark = failed.stderr.partition(", id ")[2].split()[0]
    assert str(log) in failed.stderr
    text = log.read_text(encoding="utf-8")
    assert f"id={mark}" in text
    assert "ZeroDivisionError" in text
    assert log.stat().st_mode & 0o777 == 0o600


def test_v_says_more_on_stderr_and_log_level_in_the_file(place: Place, tongs: Run) -> None:
    tongs("tool", "add", "hi", "--description", "d", "--bash", "echo hi")
    log = place.state / "log" / "tongs.log"

    quiet = tongs("tool", "run", "hi")
    assert (quiet.stderr, log.exists()) == ("", False)
    verbose = tongs("tool", "run", "hi", "-v")
    assert ("info: " in verbose.stderr, log.exists()) == (True, False)
    logged = tongs("tool", "run", "hi", "--log-level", "info")
    assert (logged.stderr, "run yaml:hi" in log.read_text(encoding="utf-8")) == ("", True)
    assert log.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("env", "options", "colored"),
    [
        ({}, [], True),
        ({"NO_COLOR": "1"}, [], False),
        ({"TERM": "dumb"}, [], False),
        ({}, ["--color", "never"], False),
        ({"NO_COLOR": "1"}, ["--color", "always"], True),
    ],
)
def test_colour_only_where_it_is_wanted(
    place: Place, screen: Show, env: dict[str, str], options: list[str], colored: bool
) -> None:
    place.tool("a", "description: d\nbash: 'true'\n", scope="user")
    shown = screen("tool", "list", *options, env=env)
    shown.end()
    assert ("\x1b[1m" in shown.raw) is colored
    assert shown.text.startswith("NAME  SCOPE  KIND  MAY  DESCRIPTION\n")


def test_no_colour_in_a_pipe_unless_forced(place: Place, tongs: Run) -> None:
    place.tool("a", "description: d\nbash: 'true'\n", scope="user")
    assert "\x1b" not in tongs("tool", "list").stdout
    assert "\x1b[1m" in tongs("tool", "list", "--color", "always").stdout
