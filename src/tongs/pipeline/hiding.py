"""What of a call must not be seen or kept: its secrets."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tongs.core.call import ToolCall
from tongs.core.parts import Door, Parts
from tongs.core.record import replace
from tongs.core.tool import Tool


def hiding(door: Door, values: Iterable[str]) -> Door:
    """The door where these are hidden, and what the calls around this one were given."""
    values = tuple(values)
    if not values:
        return door
    if door.redactor is not None:
        return replace(door, redactor=door.redactor.also(values))
    from tongs.redaction import Redactor  # noqa: PLC0415 - a call without secrets pays nothing

    return replace(door, redactor=Redactor(values))


def hiding_known(door: Door, tool: Tool | None, parts: Parts) -> Door:
    """For a call that never ran. It was given no secret, but its arguments may hold one."""
    return door if tool is None else hiding(door, parts.known(tool))


def redact(door: Door) -> Callable[[str], str]:
    """Takes the secrets of the call out of a text."""
    return str if door.redactor is None else door.redactor.text


def recorded(call: ToolCall, door: Door) -> ToolCall:
    """The call as it may be written down: a secret in its arguments is none of the record's."""
    if door.redactor is None:
        return call
    return replace(call, arguments=door.redactor.mapping(call.arguments))
