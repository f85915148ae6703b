"""Tells a client that wants to know how far its call is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from tongs.core.annotations import Any
from tongs.core.execution import Event, OutputArrived, Progressed, StepEnded, StepStarted
from tongs.output import decoded, visible

# Seconds: between two words at least, and at most, so that no client takes us for dead.
_APART, _HEARTBEAT = 0.1, 5.0
_LONGEST_LINE = 200


class Progress:
    """Notes the last thing that happened; one task says it."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._loop = asyncio.get_running_loop()
        self._begun = self._loop.time()
        self._news = asyncio.Event()
        self._line = ""
        self._said = ""

    def observe(self, event: Event) -> None:
        """Of a call, in whichever thread it runs."""
        match event:
            case StepStarted(name, number, total):
                self._note(f"step {number} of {total}: {name}")
            case StepEnded(name, number, total):
                self._note(f"step {number} of {total}: {name} has ended")
            case Progressed(done, total, message):
                self._note(message or (f"{done:g}" if total is None else f"{done:g} of {total:g}"))
            case OutputArrived(_, data):
                lines = decoded(data[-4 * _LONGEST_LINE :]).split("\n")
                if line := next((each for each in reversed(lines) if each.strip()), ""):
                    self._note(line.strip())

    def waits(self) -> None:
        self._note("waiting for a person's approval")

    def _note(self, text: str) -> None:
        self._line = text
        if not self._news.is_set():
            self._loop.call_soon_threadsafe(self._news.set)

    async def tell(self) -> None:
        count = 0
        while True:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), _HEARTBEAT)
            self._news.clear()
            count += 1
            await self._context.session.report_progress(count, None, self._message())
            await asyncio.sleep(_APART)

    def _message(self) -> str:
        line = visible(self._line)[:_LONGEST_LINE]
        if line != self._said:
            self._said = line
            return line
        seconds = f"{self._loop.time() - self._begun:.0f} s"
        return f"{line} ({seconds})" if line else f"running ({seconds})"


@asynccontextmanager
async def telling(context: Any) -> AsyncIterator[Progress | None]:
    """None where the client has not asked for it."""
    meta = context.meta or {}
    if meta.get("progress_token") is None and meta.get("progressToken") is None:
        yield None
        return
    progress = Progress(context)
    task = asyncio.ensure_future(progress.tell())
    try:
        yield progress
    finally:
        task.cancel()
