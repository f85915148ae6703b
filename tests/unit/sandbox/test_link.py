"""A program that stays: its streams, its end, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import select
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import (
    DAEMON,
    MODES,
    World,
    bash,
    command,
    dies_within,
    driven,
    pid_in,
)

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Link
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import KEYS


@pytest.fixture(params=[(key, mode) for key in KEYS for mode in MODES], ids="-".join)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    key, mode = request.param
    made = World.of(mode, key, permissions=Permissions(write=(str(tmp_path),)))
    made.session()
    # As with the gateway, which has a thread: nothing may be forked from this process any more.
    made._sandbox.expect_threads()
    yield made
    made.close()


def started(world: World, script: str, *words: str, limits: Limits | None = None) -> Link:
    session = world.session(limits)
    work = session.start(bash(script, *words))
    return asyncio.run(work) if world.loop else driven(work)


def read(descriptor: int, amount: int = 65536) -> bytes:
    assert select.select([descriptor], [], [], 20)[0], "it says nothing"
    return os.read(descriptor, amount)


def end_of(link: Link) -> ToolError:
    while (why := link.ended()) is None:
        assert select.select([link.control], [], [], 20)[0], "it does not end"
    return why


def test_it_is_talked_to_as_often_as_one_likes(world: World) -> None:
    link = started(world, 'while read -r line; do echo "got $line"; echo "heard" >&2; done')

    for word in (b"one", b"two"):
        os.write(link.stdin, word + b"\n")
        assert read(link.stdout) == b"got " + word + b"\n"
        assert read(link.stderr) == b"heard\n"
    assert link.ended() is None

    link.close_stdin()
    assert "ended with exit code 0" in end_of(link).message
    link.close()


def test_when_it_is_killed_its_daemons_are_gone_before_it_is_said(
    world: World, tmp_path: Path
) -> None:
    left = tmp_path / "pid"
    link = started(world, DAEMON + "sleep 300", str(left))
    assert read(link.stdout) == b"ready\n"

    link.kill()

    assert "signal 9" in end_of(link).message
    if world.key != "namespaces":  # there its number is one of another world
        assert dies_within(pid_in(left), 0)
    link.close()


def test_it_ends_with_its_session(world: World, tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    script = 'echo . > "$1"; echo ready; while true; do echo . >> "$1"; sleep 0.01; done'
    session = world.session()
    link = driven(session.start(bash(script, str(beat))))
    assert read(link.stdout) == b"ready\n"

    link.close()
    session.close()

    assert _stops(beat)


def test_a_program_that_is_not_there_is_named(world: World) -> None:
    session = world.session()
    link = driven(session.start(command("no-such-program")))

    why = end_of(link)

    assert why.code is ErrorCode.EXECUTION_ERROR
    assert "no-such-program" in why.message
    link.close()


def test_its_exit_code_is_told(world: World) -> None:
    link = started(world, "exit 7")

    assert "ended with exit code 7" in end_of(link).message
    link.close()


def test_the_memory_of_its_whole_tree_is_bounded(world: World) -> None:
    script = "python3 -c 'import time; kept = bytearray(200 << 20); time.sleep(60)'"
    link = started(world, script, limits=Limits(memory=100 << 20))

    assert end_of(link) is not None
    link.close()


def test_no_supervisor_is_forked_from_a_process_with_threads(world: World) -> None:
    started(world, "sleep 300").close()

    assert type(world.fork_server).__name__ == "ForkServer"


def _stops(beat: Path) -> bool:
    """Whether a file that grew all the time does not any more, soon."""
    for _ in range(200):
        before = beat.stat().st_size
        select.select([], [], [], 0.1)
        if beat.stat().st_size == before:
            return True
    return False
