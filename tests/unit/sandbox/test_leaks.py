"""Many calls in one process leave nothing behind."""

from __future__ import annotations

import asyncio

import pytest
from tests.thorough import THOROUGH
from tests.unit.sandbox.running import (
    World,
    bash,
    children,
    command,
    ignore,
    open_descriptors,
    resident,
)

from tongs.core.errors import ToolError
from tongs.sandbox.waiting import LoopWaiter


def test_many_commands_leak_no_descriptor_process_or_memory(world: World) -> None:
    session_commands = [
        bash("echo out; echo err >&2; exit 1"),
        command("cat", stdin=b"x" * 100_000),
        bash("(sleep 300 &); exit 0"),
    ]

    def several() -> None:
        for number in range(20 if THOROUGH else 6):
            world.run(session_commands[number % 3])
            with pytest.raises(ToolError):
                world.run(command("no-such-program"))

    several()
    descriptors, processes, memory = open_descriptors(), children(), resident()
    for _ in range(3):
        several()

    assert len(open_descriptors()) == len(descriptors)
    assert children() == processes
    assert resident() - memory < 2 * 1024**2


def test_commands_cancelled_on_a_loop_leak_no_descriptor_or_process(world: World) -> None:
    async def cancel_one() -> None:
        session = world.session(waiter=LoopWaiter())
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await session.run(bash("sleep 300", stdin=b"x" * 1_000_000), ignore)
        session.close()

    asyncio.run(cancel_one())
    descriptors, processes = open_descriptors(), children()
    for _ in range(20):
        asyncio.run(cancel_one())

    assert len(open_descriptors()) == len(descriptors)
    assert children() == processes
