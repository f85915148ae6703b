"""A model's calls, carried out.

Whatever a model sends, there is an answer for each of its calls, in their order. Neighbours whose
permissions do not conflict run side by side; any other call waits for what came before it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ToolError
from tongs.core.execution import Observer
from tongs.core.parts import Door
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field, replace
from tongs.core.result import ToolResult
from tongs.core.tool import Level, Tool
from tongs.runtime.call_shapes import MOST_SHOWN, Answered, Asked
from tongs.schema.strict import without_nulls

if TYPE_CHECKING:
    from tongs.runtime import Runtime

AGENT = Caller(CallerKind.AGENT, "model")
# Calls that run side by side: a model may make any number in one turn, and each is a process.
MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class _Claim:
    """What a call may touch; None where nobody knows. `reads`: it says that it changes nothing."""

    permissions: Permissions | None
    reads: bool = False

    def conflicts(self, other: _Claim) -> bool:
        if self.reads and other.reads:
            return False
        if self.permissions is None or other.permissions is None:
            return True
        return self.permissions.conflicts(other.permissions)


class Watch(Protocol):
    """Told of each call as it begins and ends, and of what it writes meanwhile."""

    def began(self, call: Asked) -> None: ...

    def observer(self, call: Asked) -> Observer: ...

    def ended(self, call: Asked, result: ToolResult) -> None: ...


class _Unwatched:
    def began(self, call: Asked) -> None:
        """Nobody looks."""

    def observer(self, call: Asked) -> Observer:
        return lambda event: None

    def ended(self, call: Asked, result: ToolResult) -> None:
        """Nobody looks."""


@dataclass(frozen=True, slots=True)
class ModelCalls:
    """`find` gives the tool that a model means by a name; raises ToolError."""

    runtime: Runtime
    find: Callable[[str], Tool]
    caller: Caller
    approver: Approver | None
    watch: Watch = field(default_factory=_Unwatched)

    async def run(self, asked: Sequence[Asked]) -> list[Answered]:
        """Every call with its result, in the order in which they were made."""
        results: list[ToolResult] = []
        for together in self._groups(asked):
            if len(together) == 1:
                results.append(await self._one(*together[0], self.approver))
                continue
            one_at_a_time = _queued(self.runtime.who_answers(self.approver))
            results += await _all([self._one(*pair, one_at_a_time) for pair in together])
        return [Answered(call, result) for call, result in zip(asked, results, strict=True)]

    def run_sync(self, asked: Sequence[Asked]) -> list[Answered]:
        """One after the other, without an event loop."""
        found = []
        for call in asked:
            tool = self._meant(call)
            if isinstance(tool, ToolError):
                result = self._refused(call, tool)
            else:
                result = self.runtime.call_sync(
                    self._name(tool),
                    _arguments(call, tool),
                    caller=self.caller,
                    approver=self.approver,
                )
            found.append(Answered(call, self._readable(result)))
        return found

    async def _one(
        self, call: Asked, tool: Tool | ToolError, approver: Approver | None
    ) -> ToolResult:
        self.watch.began(call)
        if isinstance(tool, ToolError):
            result = self._refused(call, tool)
        else:
            from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - needs asyncio

            waiter = LoopWaiter()
            door = Door(
                waiter, self.runtime.who_answers(approver, waiter), self.watch.observer(call)
            )
            result = await self.runtime.run(self._request(call, tool), door)
        result = self._readable(result)
        self.watch.ended(call, result)
        return result

    def _request(self, call: Asked, tool: Tool) -> ToolCall:
        own_id = call.own_id or os.urandom(6).hex()
        return ToolCall(own_id, self._name(tool), _arguments(call, tool), self.caller)

    def _readable(self, result: ToolResult) -> ToolResult:
        """With a handle, where the model is not shown all: output_read gives it the rest."""
        if len(result.output) <= MOST_SHOWN or "outputHandle" in result.metadata:
            return result
        handle = self.runtime.kept(result)
        if handle is None:
            return result
        return replace(result, metadata={**result.metadata, "outputHandle": handle})

    def _groups(self, asked: Sequence[Asked]) -> Iterator[list[tuple[Asked, Tool | ToolError]]]:
        """Neighbours that may run at once."""
        if len(asked) == 1:
            yield [(asked[0], self._meant(asked[0]))]
            return
        together: list[tuple[Asked, Tool | ToolError]] = []
        claims: list[_Claim] = []
        for call in asked:
            tool = self._meant(call)
            claim = self._claim(call, tool)
            if any(claim.conflicts(other) for other in claims):
                yield together
                together, claims = [], []
            together.append((call, tool))
            claims.append(claim)
        if together:
            yield together

    def _claim(self, call: Asked, tool: Tool | ToolError) -> _Claim:
        if isinstance(tool, ToolError):
            return _Claim(Permissions())  # nothing will run
        # What a function of the program touches nobody knows.
        known = None if tool.is_own else self.runtime.permitted(self._request(call, tool), tool)
        return _Claim(known, reads=tool.level is Level.READ)

    def _meant(self, call: Asked) -> Tool | ToolError:
        if call.error is not None:
            return call.error
        try:
            return self.find(call.name)
        except ToolError as error:
            return error

    def _name(self, tool: Tool) -> str:
        """By which this very tool is called, and no other that has its short name."""
        try:
            answers = self.runtime.find(tool.name).origin == tool.origin
        except ToolError:
            answers = False
        return tool.name if answers else tool.qualified_name

    def _refused(self, call: Asked, error: ToolError) -> ToolResult:
        # The id of its own: the model's may be any text, and is for the answer only.
        own_id = call.own_id or os.urandom(6).hex()
        attempt = ToolCall(own_id, call.name, call.arguments, self.caller)
        return self.runtime.refuse(attempt, error)


def _arguments(call: Asked, tool: Tool) -> dict[str, Any]:
    made: dict[str, Any] = without_nulls(tool.input_schema, dict(call.arguments))
    return made


async def _all(works: Sequence[Coroutine[Any, Any, ToolResult]]) -> list[ToolResult]:
    """Side by side, a few at once. Where one raises, the others have ended before this does."""
    import asyncio  # noqa: PLC0415 - only where calls run side by side

    places = asyncio.Semaphore(MOST_AT_ONCE)

    async def in_turn(work: Coroutine[Any, Any, ToolResult]) -> ToolResult:
        async with places:
            return await work

    tasks = [asyncio.ensure_future(in_turn(work)) for work in works]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for work in works:
            work.close()  # one that never got a place has not begun


def _queued(approver: Approver | None) -> Approver | None:
    """A person answers one question at a time."""
    if approver is None:
        return None
    from asyncio import Lock  # noqa: PLC0415 - as above

    lock = Lock()

    async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
        async with lock:
            return await approver(request)

    return ask
