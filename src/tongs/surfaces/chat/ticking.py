"""A clock for whoever shows what happens: called once a second while something is under way."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

_PAUSE = 1.0


@asynccontextmanager
async def ticking(tick: Callable[[], None]) -> AsyncIterator[None]:
    async def work() -> None:
        while True:
            await asyncio.sleep(_PAUSE)
            tick()

    task = asyncio.ensure_future(work())
    try:
        yield
    finally:
        task.cancel()
        # A tick may have found that nothing more can be written: whoever waits finds that, too.
        await asyncio.gather(task, return_exceptions=True)
