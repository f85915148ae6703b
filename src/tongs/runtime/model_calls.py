"""A model's calls, in the shapes of its API: read, carried out, and answered.

Whatever a model sends, there is an answer for each of its calls, in their order. Neighbours whose
permissions do not conflict run side by side; any other call waits for what came before it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol, TypeAlias
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Observer
from tongs.core.parts import Door
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field, replace
from tongs.core.result import ToolResult
from tongs.core.tool import Level, Tool
from tongs.output import visible
from tongs.schema.strict import without_nulls

if TYPE_CHECKING:
    from tongs.runtime import Runtime

AGENT = Caller(CallerKind.AGENT, "model")
# Characters of one answer that a model sees (SEMANTICS 25).
MOST_SHOWN = 100_000
# Calls that run side by side: a model may make any number in one turn, and each is a process.
MOST_AT_ONCE = 8
# Types of items in OpenAI's APIs: calls of a function, and all calls that a program answers.
_FUNCTIONS = (None, "function", "function_call")
_CALLS = (*_FUNCTIONS, "custom", "custom_tool_call")

Message: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Asked:
    """One call as a model made it. `error` is what is wrong before any tool is looked for."""

    id: str
    name: str
    arguments: Mapping[str, Any]
    error: ToolError | None = None
    # What the answer is called in OpenAI's responses API; empty: the call is of another.
    item: str = ""
    # The id under which it is recorded; empty: any.
    own_id: str = ""


@dataclass(frozen=True, slots=True)
class Answered:
    asked: Asked
    result: ToolResult


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


def openai_calls(given: Any) -> list[Asked]:
    """From `tool_calls`, from a message, or from the whole answer of either API."""
    return [_openai_call(each) for each in _items(given)]


def anthropic_calls(given: Any) -> list[Asked]:
    """From the blocks of a message, or from the message; other blocks are left out."""
    blocks = _of(given, "content")
    if blocks is None:
        blocks = given
    if _of(blocks, "type") == "tool_use":  # one alone
        blocks = [blocks]
    found = []
    for block in blocks if isinstance(blocks, Iterable) and not isinstance(blocks, str) else ():
        if _of(block, "type") == "tool_use":
            arguments, error = _read(_of(block, "input"))
            found.append(
                Asked(str(_of(block, "id") or ""), str(_of(block, "name")), arguments, error)
            )
    return found


def openai_messages(answered: Iterable[Answered]) -> list[Message]:
    made: list[Message] = []
    for each in answered:
        text = told(each.result)
        if each.asked.item:
            made.append({"type": each.asked.item, "call_id": each.asked.id, "output": text})
        else:
            made.append({"role": "tool", "tool_call_id": each.asked.id, "content": text})
    return made


def anthropic_messages(answered: Iterable[Answered]) -> list[Message]:
    """One message with all results, as that API wants them."""
    blocks = []
    for each in answered:
        block: Message = {
            "type": "tool_result",
            "tool_use_id": each.asked.id,
            "content": told(each.result),
        }
        blocks.append(block if each.result.ok else {**block, "is_error": True})
    return [{"role": "user", "content": blocks}] if blocks else []


def told(result: ToolResult) -> str:
    """What a model reads of a result: what came of it, and what to know about it.

    That a person changed the arguments is one of its warnings.
    """
    lines = []
    if result.error is None:
        lines.append(_cut(result.output, result.metadata.get("outputHandle")))
    else:
        lines += _failure(result, result.error)
    lines += [f"warning: {warning}" for warning in result.warnings]
    return visible("\n".join(line for line in lines if line) or "(no output)")


def _failure(result: ToolResult, error: ToolError) -> Iterator[str]:
    yield _cut(f"error: {error.code}: {error.message}", None)
    if result.output:
        yield "output before it failed:"
        yield _cut(result.output, result.metadata.get("outputHandle"))
    if confined := error.details.get("confined"):
        yield f"confined: {confined}"
    # Wrong arguments are said in the message; their hint is a command for a person.
    if error.hint and error.code is not ErrorCode.INVALID_ARGUMENTS:
        yield f"hint: {error.hint}"


def _cut(text: str, handle: Any) -> str:
    if len(text) <= MOST_SHOWN:
        return text
    half = MOST_SHOWN // 2
    kept = f"; the whole is kept as {handle}" if handle else ""
    left = len(text) - 2 * half
    return f"{text[:half]}\n[… {left} characters are left out here{kept} …]\n{text[-half:]}"


def _openai_call(item: Any) -> Asked:
    kind = _of(item, "type")
    if kind not in _FUNCTIONS:
        return _other_call(item, kind)
    function = _of(item, "function")
    if function is None and _of(item, "name") is not None:  # an item of the responses API
        arguments, error = _read(_of(item, "arguments"))
        call_id = str(_of(item, "call_id") or _of(item, "id") or "")
        return Asked(call_id, str(_of(item, "name")), arguments, error, "function_call_output")
    call_id = str(_of(item, "id") or "")
    name = _of(function, "name")
    if not isinstance(name, str):
        return Asked(call_id, "", {}, _unreadable("this is no call of a function"))
    arguments, error = _read(_of(function, "arguments"))
    return Asked(call_id, name, arguments, error)


def _other_call(item: Any, kind: Any) -> Asked:
    """Not of a function. The API wants an answer even so, or refuses what comes next."""
    name = _of(item, "name") or _of(_of(item, "custom"), "name") or ""
    error = _unreadable(f"this is a call of type {str(kind)[:80]}; expected one of type function")
    if (call_id := _of(item, "call_id")) is not None:
        return Asked(str(call_id), str(name), {}, error, f"{kind}_output")
    return Asked(str(_of(item, "id") or ""), str(name), {}, error)


def _items(given: Any) -> list[Any]:
    """The calls in whatever they came in."""
    if given is None:
        return []
    choices = _of(given, "choices")
    if isinstance(choices, list | tuple) and choices:
        given = _of(choices[0], "message")
    if isinstance(calls := _of(given, "tool_calls"), list | tuple):
        return list(calls)
    if isinstance(output := _of(given, "output"), list | tuple):
        given = output
    if not isinstance(given, list | tuple):
        return [] if _of(given, "role") else [given]
    # What a model thinks or says stands among its calls in the responses API.
    return [each for each in given if _of(each, "type") in _CALLS]


def _read(given: Any) -> tuple[Mapping[str, Any], ToolError | None]:
    """The arguments, which are a text of JSON or data already."""
    if given is None or given == "":
        return {}, None
    if isinstance(given, Mapping):
        return dict(given), None
    try:
        data = json.loads(given)
    except (TypeError, ValueError, RecursionError) as error:
        return {}, _unreadable(f"the arguments are no JSON: {error}")
    if not isinstance(data, dict):
        return {}, _unreadable(f"the arguments must be a JSON object, got {json.dumps(data)[:80]}")
    return data, None


def _unreadable(reason: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS, f"nothing was run: {reason}", blocked_by=BlockedBy.SCHEMA
    )


def _arguments(call: Asked, tool: Tool) -> dict[str, Any]:
    made: dict[str, Any] = without_nulls(tool.input_schema, dict(call.arguments))
    return made


def _of(thing: Any, name: str) -> Any:
    """A part of a plain dict or of an SDK's object."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


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
