"""A model's calls in the shapes of its API: read from what it sent, and written as answers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping

from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.output import visible

# Characters of one answer that a model sees (SEMANTICS 25).
MOST_SHOWN = 100_000
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


def _of(thing: Any, name: str) -> Any:
    """A part of a plain dict or of an SDK's object."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
