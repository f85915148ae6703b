"""`shell` of seed 001 and `run_code` of seed 002, by the real command, in both tiers."""

from __future__ import annotations

import json
import secrets
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests import alive
from tests.acceptance.conftest import Outcome, Place, Run

LANGUAGES = {
    "python": "import sys, os; print(sys.argv[1:], os.environ['X']); sys.exit(3)",
    "bash": 'echo "$@" "$X"; exit 3',
}


@pytest.fixture(params=["namespaces", "landlock"])
def tier(request: pytest.FixtureRequest, tongs: Run, limited: Run) -> Run:
    """The command on a machine with namespaces, and on one without."""
    return tongs if request.param == "namespaces" else limited


def result(done: Outcome) -> dict[str, Any]:
    return {**json.loads(done.stdout), "exit": done.code}


def call(run: Run, name: str, *words: str, **arguments: object) -> dict[str, Any]:
    given = json.dumps(arguments)
    return result(run("tool", "run", name, "--input-json", given, "--json", *words))


# shell --------------------------------------------------------------------------------------------


def test_shell_gives_stdout_and_stderr_of_a_command(tier: Run, place: Place) -> None:
    done = call(tier, "shell", command="echo out; echo err >&2; pwd")

    value = done["value"]
    assert (done["exit"], value["stdout"], value["stderr"], value["exitCode"]) == (
        0,
        f"out\n{place.project}\n",
        "err\n",
        0,
    )
    assert set(done["output"].splitlines()) == {"out", "err", str(place.project)}


def test_shell_runs_in_the_directory_it_is_given(tier: Run, place: Place) -> None:
    (place.project / "a" / "b").mkdir(parents=True)
    (place.project / "within").symlink_to("a/b")

    for cwd in ("a/b", str(place.project / "a" / "b"), "within", "a/../a/b"):
        assert call(tier, "shell", command="pwd -P", cwd=cwd)["output"] == (
            f"{place.project}/a/b\n"
        )


@pytest.mark.parametrize(
    ("cwd", "code"),
    [
        ("/", "INVALID_PATH"),
        ("..", "INVALID_PATH"),
        ("~", "INVALID_PATH"),
        ("out", "INVALID_PATH"),
        ("a\0b", "INVALID_PATH"),
        ("file", "INVALID_PATH"),
        ("none", "FILE_NOT_FOUND"),
    ],
)
def test_shell_stays_in_the_workspace(tongs: Run, place: Place, cwd: str, code: str) -> None:
    (place.project / "out").symlink_to(place.home)
    (place.project / "file").touch()

    done = call(tongs, "shell", command="touch ran", cwd=cwd)

    assert (done["exit"], done["error"]["code"]) == (1, code)
    assert not [*place.project.parent.rglob("ran")]


def test_failed_command_is_an_error_with_what_it_said(tier: Run) -> None:
    done = call(tier, "shell", command="echo some; echo why >&2; exit 3")

    assert (done["exit"], done["error"]["code"], done["value"]["exitCode"]) == (
        1,
        "EXECUTION_ERROR",
        3,
    )
    assert done["error"]["message"] == "shell failed with exit code 3: why"
    assert done["value"]["stdout"] == "some\n"


def test_what_code_says_on_stderr_is_said_there_only(tongs: Run) -> None:
    fine = tongs("tool", "run", "shell", "command=echo trouble >&2")
    failed = tongs("tool", "run", "run_code", "language=bash", "code=echo trouble >&2; exit 3")

    assert (fine.code, fine.stdout, fine.stderr) == (0, "", "trouble\n")
    assert (failed.code, failed.stdout) == (1, "")
    assert failed.stderr.count("trouble") == 1


def test_timeout_ends_the_whole_tree(tier: Run) -> None:
    word = f"9{secrets.randbelow(10**9)}"
    command = f"setsid sleep {word} & sleep {word}"

    done = call(tier, "shell", command=command, timeout=0.5)

    assert (done["exit"], done["error"]["code"]) == (1, "TIMEOUT")
    assert done["error"]["details"]["hint"] == "give `timeout` more seconds"
    assert alive.with_word(word) == []


def test_whoever_gives_less_time_is_heard(tongs: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("tools: {shell: {timeout: 300ms}}\n")

    by_config = call(tongs, "shell", command="sleep 20")
    beyond_config = call(tongs, "shell", command="sleep 20", timeout=20)
    by_command_line = call(tongs, "shell", "--timeout", "300", command="sleep 20", timeout=20)

    codes = [each["error"]["code"] for each in (by_config, beyond_config, by_command_line)]
    assert codes == ["TIMEOUT"] * 3


def test_shell_reaches_neither_the_home_nor_the_network(tier: Run, place: Place) -> None:
    (place.home / "key").write_text("private")
    with socket.create_server(("127.0.0.1", 0)) as server:
        connect = f"exec 3<>/dev/tcp/127.0.0.1/{server.getsockname()[1]} && echo connected"
        attack = f"cat {place.home}/key; echo x > {place.home}/new; {connect}"

        plain = subprocess.run(["bash", "-c", attack], capture_output=True, text=True, check=False)
        (place.home / "new").unlink()
        done = call(tier, "shell", command=attack)

    assert plain.stdout == "privateconnected\n"
    assert (done["ok"], done["value"]["stdout"]) == (False, "")
    assert not (place.home / "new").exists()


def test_command_is_shown_before_it_runs(tongs: Run, place: Place) -> None:
    done = tongs("tool", "run", "shell", "command=touch ran", "cwd=a b", "--show-command")

    assert done.stdout == "cd 'a b'\ntouch ran\n"
    assert not (place.project / "ran").exists()


def test_shell_of_a_project_is_never_taken_for_the_built_in_one(tongs: Run, place: Place) -> None:
    place.tool("shell", "bash: echo mine\nparameters: {command: {}}\ntags: [read]\n")
    assert tongs("trust", "--yes").code == 0

    assert tongs("tool", "run", "shell", "command=echo theirs").stdout == "theirs\n"
    assert tongs("tool", "run", "yaml:shell", "command=x").stdout == "mine\n"


# run_code -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
def test_run_code_gives_the_structure_of_the_seed(tier: Run, language: str) -> None:
    done = call(
        tier, "run_code", language=language, code=LANGUAGES[language], args=["a b"], env={"X": "y"}
    )

    value = done["value"]
    assert set(value) == {"stdout", "stderr", "exitCode", "duration"}
    assert (value["exitCode"], value["stderr"]) == (3, "")
    assert value["stdout"] == {"python": "['a b'] y\n", "bash": "a b y\n"}[language]
    assert 0 < value["duration"] < 60_000
    assert done["error"]["code"] == "EXECUTION_ERROR"
    assert done["warnings"] == []


def test_run_code_without_a_mistake_is_a_success(tier: Run) -> None:
    done = call(tier, "run_code", language="python", code="print(6 * 7)")

    assert (done["exit"], done["output"], done["error"]) == (0, "42\n", None)


def test_code_that_takes_too_long_is_ended(tier: Run) -> None:
    done = call(tier, "run_code", language="python", code="while True: pass", timeout=0.5)

    assert (done["error"]["code"], done["value"]["exitCode"]) == ("TIMEOUT", 137)


def test_code_that_takes_too_much_memory_is_ended(tier: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("tools: {run_code: {limits: {memory: 64MiB}}}\n")

    done = call(tier, "run_code", language="python", code="x = b'x' * 2**28; print(len(x))")

    assert (done["ok"], done["value"]["stdout"]) == (False, "")


def test_code_that_takes_too_much_processor_time_is_ended(tier: Run, place: Place) -> None:
    (place.user / "config.yml").write_text("tools: {run_code: {limits: {cpu: 1s}}}\n")

    done = call(tier, "run_code", language="python", code="while True: pass", timeout=30)

    assert done["error"]["code"] == "EXECUTION_ERROR"
    assert done["value"]["duration"] < 20_000


def test_code_has_the_network_only_where_the_config_grants_it(
    tier: Run, place: Place, tmp_path: Path
) -> None:
    code = "import socket; socket.socket().connect(('127.0.0.1', 9))"

    without = call(tier, "run_code", language="python", code=code)
    (place.user / "config.yml").write_text("tools: {run_code: {permissions: {network: true}}}\n")
    granted = call(tier, "run_code", language="python", code=code)

    # The discard port refuses; a wall says something else.
    assert "Connection refused" not in without["value"]["stderr"]
    assert "network" in without["error"]["details"]["confined"]
    assert "Connection refused" in granted["value"]["stderr"]


@pytest.mark.parametrize("name", ["a=b", "", "a\0b"])
def test_variable_that_cannot_be_is_refused(tongs: Run, name: str) -> None:
    done = call(tongs, "run_code", language="bash", code="touch ran", env={name: "x"})

    assert (done["exit"], done["error"]["code"]) == (2, "INVALID_ARGUMENTS")


def test_arguments_that_fit_no_schema_run_nothing(tongs: Run, place: Place) -> None:
    for wrong in (
        {"language": "perl", "code": "1"},
        {"language": "bash"},
        {"language": "bash", "code": "touch ran", "timeout": 0},
        {"language": "bash", "code": "touch ran", "shell": "x"},
        {"language": "bash", "code": "touch ran", "args": [1]},
    ):
        assert call(tongs, "run_code", **wrong)["error"]["code"] == "INVALID_ARGUMENTS"
    assert not (place.project / "ran").exists()


def test_command_line_has_no_background(tongs: Run) -> None:
    done = call(tongs, "shell", command="echo hi", background=True)

    assert (done["exit"], done["error"]["code"]) == (2, "INVALID_ARGUMENTS")
    assert "a job ends with its session" in done["error"]["message"]
