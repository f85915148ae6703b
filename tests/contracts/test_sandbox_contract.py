"""What every sandbox back end keeps to, in both ways of forking and both ways of waiting."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import (
    DAEMON,
    PATH,
    World,
    bash,
    command,
    is_alive,
    pid_in,
    without_duration,
)

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Completed
from tongs.sandbox import KEYS, create


@pytest.fixture(
    params=[
        pytest.param((key, direct, loop), id=f"{key}-{(direct and 'direct') or 'server'}-{name}")
        for key in KEYS
        for direct in (True, False)
        for loop, name in ((False, "blocking"), (True, "loop"))
    ]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    key, direct, loop = request.param
    made = World(key, direct=direct, loop=loop, temp_root=str(tmp_path))
    yield made
    made.close()


def test_a_command_is_given_exactly_what_it_names(world: World, tmp_path: Path) -> None:
    script = 'cat; pwd; env | grep -v -E "^(_|PWD|SHLVL)="; echo warn >&2; exit 3'

    completed = world.run(
        bash(script, environment={"PATH": PATH, "NAME": "a b"}, cwd=str(tmp_path), stdin=b"in\n")
    )

    out = f"in\n{tmp_path}\nNAME=a b\nPATH={PATH}\n".encode()
    assert sorted(completed.stdout.splitlines()) == sorted(out.splitlines())
    assert (completed.exit_code, completed.signal, completed.stderr) == (3, None, b"warn\n")


def test_a_completed_command_tells_everything(world: World) -> None:
    completed = world.run(bash("echo out"))

    assert without_duration(completed) == Completed(
        exit_code=0,
        signal=None,
        timed_out=False,
        duration=0.0,
        stdout=b"out\n",
        stderr=b"",
        output=b"out\n",
        stdout_size=4,
        stderr_size=0,
    )
    assert 0 < completed.duration < 30


def test_a_signal_is_not_an_exit_code(world: World) -> None:
    completed = world.run(bash("echo before; kill -TERM $$"))

    assert (completed.exit_code, completed.signal, completed.stdout) == (None, 15, b"before\n")


def test_a_command_out_of_time_is_dead_and_its_output_kept(world: World) -> None:
    completed = world.run(bash("echo before; sleep 300", timeout=0.3))

    assert (completed.timed_out, completed.exit_code, completed.signal) == (True, None, 9)
    assert completed.stdout == b"before\n"
    assert completed.duration < 30


def test_a_program_that_does_not_exist_is_an_execution_error(world: World) -> None:
    with pytest.raises(ToolError) as caught:
        world.run(command("no-such-program"))

    assert caught.value.code == ErrorCode.EXECUTION_ERROR
    assert caught.value.message == "cannot start `no-such-program`: not found on PATH"
    assert PATH in caught.value.hint


def test_a_daemon_dies_with_the_command_that_left_it(world: World, tmp_path: Path) -> None:
    left = tmp_path / "pid"

    completed = world.run(bash(DAEMON, str(left)))

    assert completed.stdout == b"ready\n"
    assert not is_alive(pid_in(left))


def test_scratch_is_private_lasts_through_the_call_and_goes_with_it(world: World) -> None:
    session = world.session()
    assert os.listdir(world.temp_root) == []

    scratch = session.scratch

    assert stat.S_IMODE(os.stat(scratch).st_mode) == 0o700
    assert session.scratch == scratch
    session.close()
    assert not os.path.exists(os.path.dirname(scratch))


def test_a_written_file_can_be_read_and_run_by_the_command_and_nobody_else(world: World) -> None:
    session = world.session()

    path = session.write("script", b"#!/bin/sh\necho from script\n")

    assert stat.S_IMODE(os.stat(path).st_mode) == 0o700
    assert not path.startswith(session.scratch)
    assert world.run(command(path)).stdout == b"from script\n"


@pytest.mark.parametrize("name", ["", ".", "..", "../up", "/etc/x", "a/b", "a\0b"])
def test_a_written_file_has_a_plain_name(world: World, name: str) -> None:
    with pytest.raises(ValueError, match="not a plain file name"):
        world.session().write(name, b"")


def test_what_is_enforced_and_what_is_not_have_nothing_in_common(world: World) -> None:
    session = world.session()

    assert session.enforced
    assert not set(session.enforced) & set(session.not_enforced)


@pytest.mark.parametrize("key", KEYS)
def test_another_operating_system_is_refused_in_words(
    key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")

    with pytest.raises(ToolError) as caught:
        World(key).session()

    assert caught.value.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert "darwin" in caught.value.message


def test_an_unknown_back_end_is_no_back_end() -> None:
    with pytest.raises(KeyError):
        create("supervisor", direct=True)
