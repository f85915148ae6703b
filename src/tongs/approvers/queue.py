"""Keeps the question where it outlives this process, and waits for the first answer to it.

Whoever answers does so in the queue: the terminal, a program, a server, another terminal. The
answer that counts is the one the queue took first.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Sequence

from tongs.approvers.first_answer import FirstAnswer
from tongs.core.approval import (
    ApprovalQueue,
    ApprovalRequest,
    ApprovalResponse,
    Question,
    Voice,
)
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Waiter

# Seconds between two looks at the queue: another process has no other way to call us.
_PAUSE = 0.2


class QueueApprover:
    """`wait` is in seconds; with 0 the call ends at once, and the same call finds the answer."""

    def __init__(
        self,
        queue: ApprovalQueue,
        waiter: Waiter,
        wait: float,
        voices: Sequence[Voice] = (),
        announce: Callable[[Question], None] = lambda question: None,
    ) -> None:
        self._queue = queue
        self._waiter = waiter
        self._wait = wait
        self._voices = voices
        self._announce = announce

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None:
        question = self._queue.ask(request, self._wait, awaited=self._wait > 0)
        if question.is_open:
            if self._wait <= 0:
                raise _pending(question)
            self._announce(question)
            await self._answered(question, request)
        response = self._queue.take(question.id)
        if response is None:
            raise _gone(request)
        return response

    async def _answered(self, question: Question, request: ApprovalRequest) -> None:
        """Until the queue has an answer, whoever gave it. Raises ToolError if the time is over."""
        until = time.monotonic() + self._wait

        def told(response: ApprovalResponse) -> None:
            self._queue.answer(question.id, response)

        with FirstAnswer(self._voices, request, told) as asking:
            try:
                while self._queue.is_open(question.id):
                    left = until - time.monotonic()
                    if left <= 0 and self._queue.withdraw(question.id):
                        raise _nobody(request, self._wait)
                    watched = [(asking.bell, select.POLLIN)] if asking.bell >= 0 else []
                    if await self._waiter.ready(watched, min(max(left, 0), _PAUSE)):
                        asking.heard()
                # Ends within a moment, which nobody else need wait for.
                await self._waiter.blocking(asking.end)
            except BaseException:
                # Nobody waits any more: an answer now would lie around for a later call.
                self._queue.withdraw(question.id)
                raise


def _nobody(request: ApprovalRequest, seconds: float) -> ToolError:
    return ToolError(
        ErrorCode.APPROVAL_DENIED,
        f"{request.tool} was not run: {request.reason}, and nobody answered within"
        f" {in_words(seconds)}",
        details={"rule": request.rule},
        blocked_by=BlockedBy.APPROVAL,
        hint="make the call again, and answer it: tongs approvals pending",
    )


def _gone(request: ApprovalRequest) -> ToolError:
    return ToolError(
        ErrorCode.APPROVAL_DENIED,
        f"{request.tool} was not run: its approval was used by another call",
        details={"rule": request.rule},
        blocked_by=BlockedBy.APPROVAL,
        hint="make the call again to be asked again",
    )


def _pending(question: Question) -> ToolError:
    request = question.request
    return ToolError(
        ErrorCode.APPROVAL_PENDING,
        f"{request.tool} was not run yet: {request.reason}, and it waits for an approval"
        f" ({question.id})",
        details={"approval": question.id, "rule": request.rule},
        blocked_by=BlockedBy.APPROVAL,
        hint=f"a person can allow it: tongs approvals approve {question.id};"
        " then make the same call again",
    )


def in_words(seconds: float) -> str:
    """`10m`, as it is written."""
    for size, unit in ((3600, "h"), (60, "m")):
        if seconds >= size and seconds % size == 0:
            return f"{seconds / size:g}{unit}"
    return f"{seconds:g}s"
