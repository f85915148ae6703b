"""The pipeline runs without an event loop."""

from __future__ import annotations

import asyncio

import pytest

from tongs.core.driving import drive


async def _answer() -> int:
    return 42


async def _nested() -> int:
    return await _answer() + 1


def test_coroutine_that_never_waits_is_run_to_its_end() -> None:
    assert drive(_nested()) == 43


def test_coroutine_that_needs_a_loop_is_refused() -> None:
    loop = asyncio.new_event_loop()

    async def suspends() -> None:
        await loop.create_future()

    with pytest.raises(RuntimeError, match="event loop"):
        drive(suspends())
    loop.close()
