"""Programs that cannot be started: a clear error instead of a call."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import MODES, World, command

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command
from tongs.core.permissions import Permissions
from tongs.sandbox.failures import start_failure


def refusal(world: World, wanted: Command) -> ToolError:
    with pytest.raises(ToolError) as caught:
        world.run(wanted)
    assert caught.value.code == ErrorCode.EXECUTION_ERROR
    return caught.value


def file(path: Path, text: str, mode: int) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_program_is_looked_for_on_the_path_of_its_own_environment(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    file(tmp_path / "a" / "tool", "not executable", 0o600)
    file(tmp_path / "b" / "tool", "#!/bin/sh\necho found in b\n", 0o700)

    completed = world.run(
        command("tool", environment={"PATH": f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b"})
    )

    assert completed.stdout == b"found in b\n"


def test_an_empty_entry_of_the_path_is_the_working_directory(world: World, tmp_path: Path) -> None:
    file(tmp_path / "tool", "#!/bin/sh\necho here\n", 0o700)

    completed = world.run(command("tool", environment={"PATH": ""}, cwd=str(tmp_path)))

    assert completed.stdout == b"here\n"


def test_without_a_path_the_system_default_is_used(world: World) -> None:
    assert world.run(command("true", environment={})).exit_code == 0


def test_a_relative_program_starts_from_the_working_directory(world: World, tmp_path: Path) -> None:
    file(tmp_path / "tool", "#!/bin/sh\necho here\n", 0o700)

    assert world.run(command("./tool", cwd=str(tmp_path))).stdout == b"here\n"


def test_a_missing_program(world: World) -> None:
    error = refusal(world, command("no-such", environment={"PATH": "/usr/bin"}))

    assert error.message == "cannot start `no-such`: not found on PATH"
    assert error.hint == "install it; the tool's PATH is /usr/bin"


def test_a_missing_file(world: World) -> None:
    assert refusal(world, command("/no/such")).message == "cannot start `/no/such`: no such file"


def test_a_file_that_is_not_executable(world: World, tmp_path: Path) -> None:
    path = file(tmp_path / "tool", "#!/bin/sh\n", 0o600)

    error = refusal(world, command(path))

    assert error.message == f"cannot start `{path}`: it is not an executable file"
    assert error.hint == "make it executable: chmod +x"


def test_a_script_without_a_first_line(world: World, tmp_path: Path) -> None:
    path = file(tmp_path / "tool", "echo hello\n", 0o700)

    error = refusal(world, command(path))

    assert error.message == f"cannot start `{path}`: it is not a program"
    assert "#!" in error.hint


def test_a_script_whose_interpreter_is_missing(world: World, tmp_path: Path) -> None:
    path = file(tmp_path / "tool", "#!/no/such/interpreter\n", 0o700)

    error = refusal(world, command(path))

    assert error.message.endswith("its first line, /no/such/interpreter, does not exist")
    assert error.hint


def test_a_script_with_the_line_ends_of_windows(world: World, tmp_path: Path) -> None:
    path = file(tmp_path / "tool", "#!/bin/sh\r\necho hello\r\n", 0o700)

    error = refusal(world, command(path))

    assert "its first line ends in a carriage return" in error.message
    assert "sed" in error.hint


@pytest.fixture(params=["namespaces", "landlock"])
def confined(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    (tmp_path / "seen").mkdir()
    (tmp_path / "unseen").mkdir()
    made = World(request.param, permissions=Permissions(read=(str(tmp_path / "seen"),)))
    yield made
    made.close()


def test_a_program_that_a_confined_tool_cannot_see(confined: World, tmp_path: Path) -> None:
    path = file(tmp_path / "unseen" / "tool", "#!/bin/sh\n", 0o700)

    error = refusal(confined, command(path))

    assert error.message == f"cannot start `{path}`: it may not read {path}"
    assert error.details == {"unread": [path]}


def test_a_program_on_the_path_that_a_confined_tool_cannot_see(
    confined: World, tmp_path: Path
) -> None:
    path = file(tmp_path / "unseen" / "tool", "#!/bin/sh\n", 0o700)
    environment = {"PATH": f"/usr/bin:{tmp_path}/seen:{tmp_path}/unseen"}

    error = refusal(confined, command("tool", environment=environment))

    assert error.message == f"cannot start `tool`: it may not read {path}"


def test_a_link_to_a_program_needs_its_folder_and_what_it_leads_to(
    confined: World, tmp_path: Path
) -> None:
    path = file(tmp_path / "tool", "#!/bin/sh\n", 0o700)
    (tmp_path / "unseen" / "link").symlink_to(path)

    error = refusal(confined, command(f"{tmp_path}/unseen/link"))

    assert error.details == {"unread": [f"{tmp_path}/unseen", path]}


@pytest.mark.parametrize("space", ["", " "])
def test_an_interpreter_that_a_confined_tool_cannot_see(
    confined: World, tmp_path: Path, space: str
) -> None:
    interpreter = file(tmp_path / "unseen" / "interpreter", "#!/bin/sh\n", 0o700)
    path = file(tmp_path / "seen" / "tool", f"#!{space}{interpreter} -x\n", 0o700)

    assert refusal(confined, command(path)).details == {"unread": [interpreter]}


@pytest.mark.parametrize("line", ["#!/no/such/interpreter", "#!", "#! "])
def test_an_interpreter_that_nobody_can_see(confined: World, tmp_path: Path, line: str) -> None:
    path = file(tmp_path / "seen" / "tool", f"{line}\n", 0o700)

    error = refusal(confined, command(path))

    assert "unread" not in error.details
    assert "may not read" not in error.message


def test_a_program_that_is_not_there_for_a_confined_tool(confined: World, tmp_path: Path) -> None:
    missing = f"{tmp_path}/unseen/tool"

    assert refusal(confined, command(missing)).message == f"cannot start `{missing}`: no such file"
    assert refusal(confined, command("no-such")).message.endswith("not found on PATH")


def test_arguments_longer_than_the_kernel_takes(world: World) -> None:
    error = refusal(world, command("true", "x" * 3_000_000))

    assert error.message == "cannot start `true`: its arguments and environment are too long"
    assert "stdin" in error.hint


def test_a_missing_working_directory(world: World, tmp_path: Path) -> None:
    error = refusal(world, command("true", cwd=str(tmp_path / "none")))

    assert f"working directory `{tmp_path}/none`" in error.message


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (command("true", "a\0b"), "cannot start `true`: an argument contains a NUL character"),
        (command(), "cannot start ``: the command is empty"),
        (command(""), "cannot start ``: the command is empty"),
        (
            command("true", environment={"A=B": ""}),
            "cannot start `true`: environment variable 'A=B' is not valid",
        ),
        (
            command("true", environment={"A": "\0"}),
            "cannot start `true`: environment variable 'A' is not valid",
        ),
    ],
)
def test_what_no_process_can_be_given(world: World, wanted: Command, message: str) -> None:
    assert refusal(world, wanted).message == message


def test_a_step_of_confinement_that_fails_refuses_the_call() -> None:
    error = start_failure(command("true"), b"privileges", 1)

    assert error.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert "privileges" in error.message


def test_an_error_without_words_of_ours_uses_the_system_s() -> None:
    error = start_failure(command("true"), b"start", 5)

    assert error.message == f"cannot start `true`: {os.strerror(5)}"


def test_tongs_itself_may_have_been_started_without_standard_descriptors(tmp_path: Path) -> None:
    program = """
import os, sys
from tests.unit.sandbox.running import World, bash
for number in range(3): os.close(number)
completed = World.of(sys.argv[1]).run(bash("cat; echo err >&2", stdin=b"in"))
with open(sys.argv[2], "wb") as file: file.write(completed.stdout + completed.stderr)
"""
    for mode in MODES:
        subprocess.run([sys.executable, "-c", program, mode, str(tmp_path / mode)], check=True)

        assert (tmp_path / mode).read_bytes() == b"inerr\n"
