"""What every sandbox back end keeps to, in both ways of forking and both ways of waiting."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import (
    LOCKING_DAEMON,
    MODES,
    PATH,
    World,
    bash,
    command,
    is_locked,
    without_duration,
)

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Completed, Event
from tongs.core.permissions import Permissions
from tongs.sandbox import KEYS, create

# Where a file that may not be read cannot be hidden, what would stop at it is told not to look.
ADDED = {
    "namespaces": [],
    "landlock": [
        "GIT_CONFIG_NOSYSTEM=1",
        "GIT_CONFIG_GLOBAL=/dev/null",
        "OPENSSL_CONF=/dev/null",
    ],
    "limits": [],
}
# Back ends whose calls have their temporary folder on the disk, where it can be looked at.
ON_DISK = ("landlock", "limits")


@pytest.fixture(
    params=[
        pytest.param((key, mode, loop), id=f"{key}-{mode}-{name}")
        for key in KEYS
        for mode in MODES
        for loop, name in ((False, "blocking"), (True, "loop"))
    ]
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    key, mode, loop = request.param
    for name in ("temp", "work"):
        (tmp_path / name).mkdir()
    made = World.of(
        mode,
        key,
        loop=loop,
        temp_root=str(tmp_path / "temp"),
        permissions=Permissions(write=(str(tmp_path / "work"),)),
    )
    yield made
    made.close()


@pytest.fixture
def work(world: World) -> Path:
    """The one folder that a command of this world may change."""
    return Path(world.permissions.write[0])


def test_a_command_is_given_exactly_what_it_names(world: World, work: Path) -> None:
    script = 'cat; pwd; env | grep -v -E "^(_|PWD|SHLVL)="; echo warn >&2; exit 3'

    completed = world.run(
        bash(script, environment={"PATH": PATH, "NAME": "a b"}, cwd=str(work), stdin=b"in\n")
    )

    out = f"in\n{work}\nNAME=a b\nPATH={PATH}\n".splitlines()
    assert sorted(completed.stdout.decode().splitlines()) == sorted(out + ADDED[world.key])
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


def test_a_daemon_dies_with_the_command_that_left_it(world: World, work: Path) -> None:
    lock = work / "lock"
    held = []

    def look(event: Event) -> None:
        held.append(is_locked(lock))
        (work / "lock.seen").touch()

    completed = world.run(bash(LOCKING_DAEMON, str(lock), timeout=20), observe=look)

    assert (completed.exit_code, completed.stdout, held) == (0, b"ready\n", [True])
    assert not is_locked(lock)


def test_scratch_lasts_through_the_call_is_its_own_and_goes_with_it(world: World) -> None:
    session, other = world.session(), world.session()
    written = bash('echo kept > "$1/file"; stat -c %a "$1"', session.scratch)
    read = bash('cat "$1/file"', session.scratch)

    mode = world.step(session, written).stdout
    again = world.step(session, read)
    elsewhere = world.step(other, bash('ls -d "$1"; cat "$1/file"', other.scratch))

    assert again.stdout == b"kept\n"
    assert (elsewhere.stdout, elsewhere.exit_code) == (f"{other.scratch}\n".encode(), 1)
    if world.key in ON_DISK:
        kept = Path(session.scratch)
        assert (mode, (kept / "file").read_text()) == (b"700\n", "kept\n")
        session.close()
        assert not kept.parent.exists()
    else:
        # Nobody but the call's own processes can see this one, so it looks like any /tmp.
        assert (session.scratch, mode) == ("/tmp", b"1777\n")
        assert os.listdir(world.temp_root) == []
        assert not os.path.exists("/tmp/file")


def test_scratch_is_made_when_it_is_asked_for(world: World) -> None:
    session = world.session()
    assert os.listdir(world.temp_root) == []

    scratch = session.scratch

    assert session.scratch == scratch
    assert scratch.startswith(world.temp_root) == (world.key in ON_DISK)
    assert bool(os.listdir(world.temp_root)) == (world.key in ON_DISK)


def test_a_written_file_can_be_read_and_run_by_the_command_and_nobody_else(world: World) -> None:
    session = world.session()

    path = session.write("script", b"#!/bin/sh\necho from script\n")

    assert not path.startswith(session.scratch)
    assert world.step(session, command(path)).stdout == b"from script\n"
    mode = world.step(session, bash('stat -c %a "$1"', path)).stdout.decode().strip()
    assert mode in ("500", "700")
    if world.key in ON_DISK:
        assert oct(stat.S_IMODE(os.stat(path).st_mode)) == f"0o{mode}"
    else:
        assert not os.path.exists(path)


def test_a_file_is_there_for_later_commands_and_may_be_written_anew(world: World) -> None:
    session = world.session()
    first = session.write("a", b"1")
    world.step(session, command("true"))
    second = session.write("b", b"2")
    assert session.write("a", b"3") == first

    assert world.step(session, command("cat", first, second)).stdout == b"32"


def test_a_written_file_cannot_be_changed_by_a_confined_command(world: World) -> None:
    session = world.session()
    path = session.write("script", b"as it was")
    change = bash('echo x > "$1"; rm -f "$1"; echo x > "${1}2"; cat "$1"', path)

    kept = world.step(session, change).stdout == b"as it was"

    assert kept == ("fs.write" in session.enforced)


def test_only_what_is_granted_can_be_changed(world: World, work: Path, tmp_path: Path) -> None:
    session = world.session()
    outside = tmp_path / "outside"

    world.step(session, bash('echo x > "$1/in"; echo x > "$2"', str(work), str(outside)))

    assert (work / "in").read_text() == "x\n"
    assert outside.exists() != ("fs.write" in session.enforced)


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
