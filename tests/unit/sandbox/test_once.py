"""Whatever of a call dies, and whenever: its command is run once, or never."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, bash, command, dies_within

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.sandbox import tree
from tongs.sandbox.waiting import BlockingWaiter


@pytest.fixture(
    params=[
        (mode, key) for mode in ("server", "native") for key in ("limits", "landlock", "namespaces")
    ],
    ids="-".join,
)
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World.of(*request.param, permissions=Permissions(write=(str(tmp_path),)))
    yield made
    made.close()


class Interfering(BlockingWaiter):
    """Does something when a call first waits, which is when its request has been sent."""

    def __init__(self, interfere: Callable[[], None]) -> None:
        super().__init__()
        self._pending = [interfere]

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        if not self._pending:
            return await super().ready(watched, timeout)
        self._pending.pop()()
        return []


def waiting(world: World) -> list[tuple[int, int]]:
    """Supervisors that wait for a call, each with its payload."""
    children = tree.children_reader()
    found: list[tuple[int, int]] = []
    while len(found) < 2:
        supervisors = children(world.fork_server._pid)
        found = [(pid, inner) for pid in supervisors for inner in children(pid)]
    return found


def test_request_that_a_dead_payload_left_unread_runs_once(world: World, tmp_path: Path) -> None:
    world.run(command("true"))
    pairs = waiting(world)
    for supervisor, payload in pairs:
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(payload, signal.SIGKILL)

    def resume() -> None:
        for supervisor, _ in pairs:
            os.kill(supervisor, signal.SIGCONT)

    session = world.session(waiter=Interfering(resume))
    completed = world.step(session, bash('echo run >> "$1/runs"; echo said', str(tmp_path)))
    session.close()

    assert (completed.stdout, completed.exit_code) == (b"said\n", 0)
    assert all(dies_within(supervisor, 10) for supervisor, _ in pairs)
    assert (tmp_path / "runs").read_text() == "run\n"


def test_command_whose_supervisor_dies_unheard_is_not_run_again(
    world: World, tmp_path: Path
) -> None:
    """Its last words are still unread when the time is up."""
    world.run(command("true"))
    pairs = waiting(world)
    runs = tmp_path / "runs"

    def kill_and_let_the_time_pass() -> None:
        until = time.monotonic() + 0.2
        while not (runs.exists() and runs.read_text()):
            pass
        for supervisor, _ in pairs:
            os.kill(supervisor, signal.SIGKILL)
            assert dies_within(supervisor, 10)
        while time.monotonic() < until:
            pass

    session = world.session(waiter=Interfering(kill_and_let_the_time_pass))
    with pytest.raises(ToolError) as raised:
        world.step(session, bash('echo run >> "$1"; sleep 300', str(runs), timeout=0.2))
    session.close()

    assert raised.value.code is ErrorCode.EXECUTION_ERROR
    assert runs.read_text() == "run\n"
