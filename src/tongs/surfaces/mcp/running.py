"""Calls in progress. One may outlive the request that made it, where the later protocol lets a
client be asked only by an answer: a call inside of it waits for a person, and what ran before that
must not run again. It goes on with the request that brings the person's answer."""

from __future__ import annotations

import asyncio

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode
from tongs.core.execution import Event
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.surfaces.mcp.progress import Progress

# Calls that wait for the next request of their client; further ones leave it to the queue.
_MOST = 32


@dataclass(slots=True)
class Pending:
    """What the client has to be asked; empty: nothing."""

    question: str = ""
    request: ApprovalRequest | None = None
    # By a call inside of the call, which waits for it.
    nested: bool = False

    def asks(self, result: ToolResult) -> bool:
        """Whether that is why the call did not run."""
        error = result.error
        return (
            self.request is not None
            and error is not None
            and error.code is ErrorCode.APPROVAL_PENDING
            and error.details.get("approval") == self.question
        )


class Running:
    """One call. `progress` belongs to the request that is there for it now."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.pending = Pending()
        self.progress: Progress | None = None
        self.task: asyncio.Future[ToolResult] | None = None
        self._asked: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    @property
    def over(self) -> bool:
        return self.task is not None and self.task.done()

    def observe(self, event: Event) -> None:
        if self.progress is not None:
            self.progress.observe(event)

    def waits(self) -> None:
        if self.progress is not None:
            self.progress.waits()

    def ask(self, question: str, request: ApprovalRequest) -> None:
        """A call inside of it waits for an answer."""
        self.pending = Pending(question, request, nested=True)
        if not self._asked.done():
            self._asked.set_result(None)

    def answered(self) -> None:
        """It goes on."""
        self.pending = Pending()
        self._asked = asyncio.get_running_loop().create_future()

    async def until_asked(self) -> ToolResult | None:
        """The result; None where the client has to be asked first.

        If nobody wants it any more it is cancelled once, and then waited for: it has processes to
        end and a record to write, which a second cancellation would cut short.
        """
        assert self.task is not None
        awaited: set[asyncio.Future[Any]] = {self.task, self._asked}
        try:
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.end()
            raise
        return self.task.result() if self.over else None

    async def end(self) -> None:
        from anyio import CancelScope  # noqa: PLC0415 - only where something is cancelled

        if self.task is None or self.over:
            return
        self.task.cancel()
        with CancelScope(shield=True):
            await asyncio.wait({self.task})


class Parked:
    """Calls that wait for the next request of their client, by the question they wait for."""

    def __init__(self) -> None:
        self._calls: dict[str, Running] = {}

    @property
    def full(self) -> bool:
        return sum(not running.over for running in self._calls.values()) >= _MOST

    def __contains__(self, question: str) -> bool:
        return question in self._calls

    def keep(self, running: Running) -> None:
        """Until it is taken. Its question waits for a limited time; its result, for room."""
        over = [number for number, known in self._calls.items() if known.over]
        for number in over[: max(0, len(self._calls) - _MOST + 1)]:
            del self._calls[number]
        self._calls[running.pending.question] = running

    def take(self, question: str) -> Running:
        running = self._calls.pop(question)
        running.answered()
        return running

    async def close(self) -> None:
        for running in list(self._calls.values()):
            await running.end()
