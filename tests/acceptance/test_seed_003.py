"""Executables (seed 003), driven by the real command. `seed_003/` holds the seed's own two."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import threading
import time
from pathlib import Path

import pytest
from tests.acceptance.conftest import Place, Run

from tongs import Runtime

SEED = Path(__file__).with_name("seed_003")
EXAMPLES = Path(__file__).parents[2] / "examples" / "executables"

# Leaves a trace when it is started, whatever for.
TRACED = """#!/bin/sh
echo "$1" >> {trace} 2> /dev/null || echo "cannot write" >&2
case "$1" in
  description) echo '{{"name": "traced", "description": "leaves a trace",
    "input_schema": {{"type": "object"}}, "permissions": {{"fs": {{"write": ["."]}}}}}}' ;;
  run) cat ;;
esac
"""


def put(source: Path, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(source, folder / source.name))


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def described(name: str, body: str = "cat", **more: object) -> str:
    """A small tool in sh; `body` is what `run` does."""
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}}
    said = {"name": name, "description": "does it", "input_schema": schema, **more}
    return (
        f'#!/bin/sh\ncase "$1" in\n'
        f"description) cat <<'EOF'\n{json.dumps(said)}\nEOF\n;;\n"
        f"run) {body} ;;\n*) exit 1 ;;\nesac\n"
    )


@pytest.fixture
def repository(place: Place) -> Path:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], cwd=place.project, check=True)
    commit = [*git, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(commit, cwd=place.project, check=True)
    return place.project


def test_the_seeds_tools_run_as_written(place: Place, tongs: Run, repository: Path) -> None:
    for name in ("hello", "git_info"):
        put(SEED / name, place.project / "kodelet-tools")
    tongs("trust", "--yes")

    greeting = tongs("tool", "run", "hello", "name=Alice", "age=30")
    info = tongs("tool", "run", "git_info")

    assert (greeting.stdout, greeting.code) == ("Hello, Alice! You are 30 years old.\n", 0)
    assert json.loads(info.stdout)["branch"] == "main"
    assert json.loads(info.stdout)["uncommitted_changes"] > 0


def test_the_examples_run(place: Place, tongs: Run, repository: Path) -> None:
    for name in ("hello", "git_info", "error_tool"):
        put(EXAMPLES / name, place.project / ".tongs" / "tools")
    tongs("trust", "--yes")

    assert tongs("tool", "run", "hello", "name=Bob").stdout == "Hello, Bob!\n"
    assert json.loads(tongs("tool", "run", "git_info").stdout)["branch"] == "main"
    assert tongs("tool", "run", "error_tool").stdout == "nothing went wrong\n"


def test_nothing_of_a_project_is_run_before_it_is_trusted(place: Place, tongs: Run) -> None:
    trace = place.project / "trace"
    tool = executable(place.project / ".tongs/tools/traced", TRACED.format(trace=trace))

    listed = tongs("tool", "list")
    called = tongs("tool", "run", "traced", "x=1")
    shown = tongs("tool", "get", "traced")
    tongs("lint")

    assert not trace.exists()
    assert "traced  local  exec  run  [untrusted]" in listed.stdout
    assert (called.code, called.stderr.splitlines()[0]) == (
        3,
        f"denied: traced was not run: nobody has accepted {tool} yet",
    )
    assert "[untrusted]" not in shown.stdout


def test_description_runs_without_a_place_to_write(place: Place, tongs: Run) -> None:
    trace = place.project / "trace"
    executable(place.project / ".tongs/tools/traced", TRACED.format(trace=trace))
    tongs("trust", "--yes")

    listed = tongs("tool", "list")

    assert "leaves a trace" in listed.stdout
    assert not trace.exists()


def test_description_of_an_unchanged_file_runs_once(place: Place, tongs: Run) -> None:
    calls = place.home / "calls"
    text = described("counted").replace("#!/bin/sh\n", f"#!/bin/sh\necho x >> {calls}\n")
    # In the user's folder, confined by nothing, so that it can count.
    (place.user / "config.yml").parent.mkdir(parents=True, exist_ok=True)
    (place.user / "config.yml").write_text("security: {enforcement: 'off'}\n")
    tool = executable(place.user / "tools/counted", text)
    tongs("tool", "list")
    first = calls.read_text()

    for _ in range(3):
        tongs("tool", "list")
    again = calls.read_text()
    tool.write_text(text + "# changed\n")
    tongs("tool", "list")

    assert first == again == "x\n" * 2  # description, and config
    assert calls.read_text() == "x\n" * 4


def test_a_changed_executable_is_shown_as_changed_and_does_not_run(
    place: Place, tongs: Run
) -> None:
    tool = executable(place.project / "kodelet-tools/echo_it", described("echo_it"))
    tongs("trust", "--yes")
    assert tongs("tool", "run", "echo_it", "x=1").stdout == '{"x": 1}'

    tool.write_text(tool.read_text() + "echo evil\n")

    assert "[changed]" in tongs("tool", "list").stdout
    assert tongs("tool", "run", "echo_it", "x=1").code == 3


def test_the_bytes_that_were_accepted_are_the_bytes_that_run(place: Place) -> None:
    """The file is changed after the tool was found, before it runs."""
    tool = executable(place.project / "kodelet-tools/swapped", described("swapped", "echo good"))
    env = {**os.environ}
    os.environ.update(place.env)
    try:
        with Runtime.open(place.project, auto_approve=["*"]) as runtime:
            runtime.definitions.accept(runtime.find("swapped"))
            found = runtime.find("swapped")
            tool.write_text(described("swapped", "echo evil"))
            runtime.registry.register(found)
            result = runtime.call_sync("swapped")
    finally:
        os.environ.clear()
        os.environ.update(env)

    assert result.output == "good\n"


@pytest.mark.parametrize(
    ("how", "message", "code"),
    [
        ("structured", "error_tool failed: Failed to process request", "EXECUTION_ERROR"),
        ("stderr", "error_tool failed with exit code 3: something went wrong", "EXECUTION_ERROR"),
    ],
)
def test_errors_are_told(place: Place, tongs: Run, how: str, message: str, code: str) -> None:
    put(EXAMPLES / "error_tool", place.project / "kodelet-tools")
    tongs("trust", "--yes")

    done = tongs("tool", "run", "error_tool", "should_fail=true", f"how={how}", "--json")

    error = json.loads(done.stdout)["error"]
    assert (error["message"], error["code"], done.code) == (message, code, 1)
    if how == "structured":
        assert error["details"]["details"] == "should_fail was true"


def test_the_verb_config_sets_the_timeout(place: Place, tongs: Run) -> None:
    text = (EXAMPLES / "error_tool").read_text().replace("5s", "300ms")
    executable(place.project / "kodelet-tools/error_tool", text)
    tongs("trust", "--yes")

    done = tongs("tool", "run", "error_tool", "should_fail=true", "how=hang", "--json")

    result = json.loads(done.stdout)
    assert result["error"]["code"] == "TIMEOUT"
    assert "its `config`" in result["error"]["details"]["hint"]
    assert result["metadata"]["executionTime"] < 5000


def test_a_tool_gets_at_least_an_empty_object(place: Place, tongs: Run) -> None:
    executable(place.project / "kodelet-tools/echo_it", described("echo_it"))
    tongs("trust", "--yes")

    assert tongs("tool", "run", "echo_it").stdout == "{}"


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo not json", "did not print JSON: it begins with `not json`"),
        ("true", "did not print JSON: it is empty"),
        ("echo '[]'", "JSON that is no object"),
        ("exit 7", "failed with exit code 7"),
        ('echo \'{"name": "x"}\'', "description.input_schema: is required"),
        ("kill -9 $$", "failed with signal 9"),
        (
            'echo \'{"name": "x", "description": "y", "input_schema": {"type": "array"}}\'',
            "must have the type `object`",
        ),
    ],
)
def test_a_tool_whose_description_fails_is_broken_with_the_reason(
    place: Place, tongs: Run, body: str, reason: str
) -> None:
    executable(place.project / "kodelet-tools/bad", f"#!/bin/sh\n{body}\n")
    tongs("trust", "--yes")

    _is_broken(tongs, reason)


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("#!/bin/sh\r", "its first line ends in a carriage return"),
        ("#!/no/such/sh", "its first line, /no/such/sh, does not exist"),
        ("", "it is not a program"),
    ],
)
def test_a_tool_that_cannot_be_started_says_why(
    place: Place, tongs: Run, first: str, reason: str
) -> None:
    executable(place.project / "kodelet-tools/bad", f"{first}\n")
    tongs("trust", "--yes")

    _is_broken(tongs, reason)


@pytest.mark.parametrize("timeout", ['"soon"', '"0s"', "-1", "true", "[]"])
def test_a_timeout_that_cannot_be_kept_is_told(place: Place, tongs: Run, timeout: str) -> None:
    """Else the tool would get another time than it says, and nobody would know."""
    text = described("bad").replace("*)", f"config) echo '{{\"timeout\": {timeout}}}' ;;\n*)")
    executable(place.project / "kodelet-tools/bad", text)
    tongs("trust", "--yes")

    _is_broken(tongs, "config.timeout: must be")
    assert "FAIL  schema" in tongs("tool", "validate", "bad").stdout


def _is_broken(tongs: Run, reason: str) -> None:
    listed = tongs("tool", "list")
    called = tongs("tool", "run", "bad")

    assert "[broken]" in listed.stdout
    assert reason in listed.stderr
    assert (called.code, reason in called.stderr) == (2, True)
    assert "hint: " in called.stderr
    assert "Traceback" not in listed.stderr + called.stderr


def test_a_file_without_the_executable_bit_is_no_tool(place: Place, tongs: Run) -> None:
    tool = executable(place.project / "kodelet-tools/echo_it", described("echo_it"))
    tool.chmod(stat.S_IRUSR | stat.S_IWUSR)

    assert "echo_it" not in tongs("tool", "list").stdout


def test_a_projects_tool_comes_before_the_users(place: Place, tongs: Run) -> None:
    executable(place.home / ".kodelet/tools/who", described("who", "echo user"))
    assert tongs("tool", "run", "who").stdout == "user\n"

    executable(place.project / "kodelet-tools/who", described("who", "echo project"))
    tongs("trust", "--yes")

    assert tongs("tool", "run", "who").stdout == "project\n"
    assert tongs("tool", "run", "--user", "who").stdout == "user\n"


def test_models_may_use_the_prefix(place: Place, tongs: Run) -> None:
    executable(place.project / ".kodelet/tools/echo_it", described("echo_it"))
    tongs("trust", "--yes")

    assert tongs("tool", "run", "custom_tool_echo_it", "x=2").stdout == '{"x": 2}'


def test_calls_at_once_do_not_meet(place: Place) -> None:
    executable(place.home / ".kodelet/tools/echo_it", described("echo_it", "sleep 0.2; cat"))
    env = {**os.environ}
    os.environ.update(place.env)
    results: dict[int, str] = {}
    try:
        with Runtime.open(place.project, auto_approve=["*"]) as runtime:

            def call(number: int) -> None:
                results[number] = runtime.call_sync("echo_it", x=number).output

            threads = [threading.Thread(target=call, args=(number,)) for number in range(8)]
            begun = time.monotonic()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        os.environ.clear()
        os.environ.update(env)

    assert results == {number: f'{{"x": {number}}}' for number in range(8)}
    assert time.monotonic() - begun < 8 * 0.2 + 5
