"""A supervisor that the system gives its turn at the worst of times."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, children, command, dies_within, driven, ignore

from tongs.sandbox.waiting import BlockingWaiter, poll


def children_of(pid: int) -> list[int]:
    return [*map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


class Sleeping(BlockingWaiter):
    """Lets the supervisor go on only when its payload has come to an end."""

    def __init__(self) -> None:
        super().__init__()
        self.supervisor = 0
        self.payload = 0

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        assert dies_within(self.payload, 10)
        os.kill(self.supervisor, signal.SIGCONT)
        return await super().ready(watched, timeout)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("key", ["limits", "landlock"])
def test_payload_that_ended_while_its_supervisor_slept_is_reported(key: str, native: bool) -> None:
    world, waiter = World(key, native=native), Sleeping()
    session = world.session(waiter=waiter)
    others = children()
    session.scratch  # noqa: B018 - this starts the supervisor
    assert poll(session._channel.fileno(), select.POLLIN, 10)  # type: ignore[attr-defined]
    (waiter.supervisor,) = {*children()} - {*others}
    if native:
        (waiter.supervisor,) = children_of(waiter.supervisor)
    (waiter.payload,) = children_of(waiter.supervisor)
    os.kill(waiter.supervisor, signal.SIGSTOP)

    completed = driven(session.run(command("echo", "quick", timeout=10), ignore))
    world.close()

    assert (completed.stdout, completed.exit_code) == (b"quick\n", 0)
    # Not by way of the timeout.
    assert completed.duration < 9
