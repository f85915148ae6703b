"""What of a call must not be seen or kept: its secrets."""

from __future__ import annotations

from collections.abc import Callable

from tongs.core.call import ToolCall
from tongs.core.execution import Redacting
from tongs.core.parts import Allowance, Door
from tongs.core.record import replace


def redactor_of(door: Door, allowance: Allowance) -> Redacting | None:
    """For what the call was given now and what the calls around it were; None for nothing."""
    values = tuple(allowance.secrets.values())
    if not values:
        return door.redactor
    if door.redactor is not None:
        return door.redactor.also(values)
    from tongs.redaction import Redactor  # noqa: PLC0415 - a call without secrets pays nothing

    return Redactor(values)


def redact(door: Door) -> Callable[[str], str]:
    """Takes the secrets of the call out of a text."""
    return str if door.redactor is None else door.redactor.text


def recorded(call: ToolCall, door: Door) -> ToolCall:
    """The call as it may be written down: a secret in its arguments is none of the record's."""
    if door.redactor is None:
        return call
    return replace(call, arguments=door.redactor.mapping(call.arguments))
