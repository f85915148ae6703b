"""A payload that dies while it waits for a request: what it left unread is run once, or never."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, bash, command, dies_within

from tongs.core.permissions import Permissions
from tongs.sandbox import tree
from tongs.sandbox.waiting import BlockingWaiter


@pytest.fixture(params=["limits", "landlock", "namespaces"])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[World]:
    made = World(request.param, direct=False, permissions=Permissions(write=(str(tmp_path),)))
    yield made
    made.close()


@dataclass
class Resuming(BlockingWaiter):
    """Lets stopped processes go on when a call first waits: its request is sent by then."""

    stopped: list[int]

    def __post_init__(self) -> None:
        super().__init__()

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        while self.stopped:
            os.kill(self.stopped.pop(), signal.SIGCONT)
        return await super().ready(watched, timeout)


def test_request_that_a_dead_payload_left_unread_runs_once(world: World, tmp_path: Path) -> None:
    world.run(command("true"))
    children = tree.children_reader()
    waiting: list[tuple[int, int]] = []
    while len(waiting) < 2:
        supervisors = children(world.fork_server._pid)
        waiting = [(pid, inner) for pid in supervisors for inner in children(pid)]
    for supervisor, payload in waiting:
        os.kill(supervisor, signal.SIGSTOP)
        os.kill(payload, signal.SIGKILL)
    session = world.session(waiter=Resuming([supervisor for supervisor, _ in waiting]))

    completed = world.step(session, bash('echo run >> "$1/runs"; echo said', str(tmp_path)))
    session.close()

    assert (completed.stdout, completed.exit_code) == (b"said\n", 0)
    assert all(dies_within(supervisor, 10) for supervisor, _ in waiting)
    assert (tmp_path / "runs").read_text() == "run\n"
