"""The jobs of a runtime. What runs them is loaded when there is a first one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.call import ToolCall
from tongs.core.jobs import Job, unknown
from tongs.core.parts import Door, Parts
from tongs.core.result import ToolResult

if TYPE_CHECKING:
    from tongs.runtime.jobs import BackgroundJobs


class SessionJobs:
    """`threads` says whether this process may have more than one: without a loop, a job has one."""

    def __init__(self, *, threads: bool) -> None:
        self._threads = threads
        self._started: BackgroundJobs | None = None
        self.closed = False

    def all(self) -> Sequence[Job]:
        return () if self._started is None else self._started.all()

    def get(self, handle: str) -> Job:
        if self._started is None:
            raise unknown(handle)
        return self._started.get(handle)

    async def run(self, call: ToolCall, parts: Parts, door: Door) -> ToolResult:
        """A call that may want to go on in the background."""
        from tongs.runtime.jobs import BackgroundJobs, lifted  # noqa: PLC0415 - needs threading

        if "background" in call.arguments:
            call = lifted(call, lambda: parts.find(call, door.scope))
        if not call.background:
            from tongs.pipeline import run  # noqa: PLC0415 - a listing makes no call

            return await run(call, parts, door)
        if self._started is None:
            self._started = BackgroundJobs(threads=self._threads)
        return await self._started.run(call, parts, door)

    def close(self, then: Callable[[], None]) -> None:
        self.closed = True
        if self._started is None:
            then()
        else:
            self._started.close(then)

    async def aclose(self) -> None:
        if self._started is not None:
            await self._started.aclose()
