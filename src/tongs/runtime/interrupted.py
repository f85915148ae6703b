"""What is known of a call whose answer was lost with the process that had made it."""

from __future__ import annotations

import os
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.conversation import CallAnswered, CallMade

if TYPE_CHECKING:
    from tongs.runtime import Runtime

_LOST = "interrupted: the program ended before this call was answered; "


def interrupted(runtime: Runtime) -> Callable[[str, CallMade], CallAnswered]:
    """For a conversation that is resumed: the record of calls says how far each had come."""

    def answer(own_id: str, call: CallMade) -> CallAnswered:
        return CallAnswered(call.id, call.name, _LOST + _known(runtime, own_id), ok=False)

    return answer


def _known(runtime: Runtime, own_id: str) -> str:
    records = {record["event"]: record for record in _records(runtime, own_id)}
    if ended := records.get("TOOL_EXECUTED"):
        how = "well" if ended.get("status") == "success" else "with an error"
        return f"it ran and ended {how}, but what it put out is lost"
    if "TOOL_STARTED" in records:
        return "it had begun; how much of its work is done is not known: look before you repeat it"
    if question := _question(runtime, own_id):
        return (
            f"it was not run: it waits for a person's approval ({question});"
            " make the same call again once it is there"
        )
    return "it was denied and not run" if "TOOL_DENIED" in records else "it was not run"


def _question(runtime: Runtime, own_id: str) -> str:
    """The id of the question that it asked and that waits for an answer."""
    for question in runtime.approvals.pending():
        if question.request.step_id == own_id:
            return question.id
    return ""


def _records(runtime: Runtime, own_id: str) -> list[dict[str, Any]]:
    from tongs.audit.index import Index  # noqa: PLC0415 - where something broke off

    folder = os.path.join(runtime.places.state, "audit")
    if not os.path.isdir(folder):
        return []
    with Index(folder) as index:
        return [record for record in index.of_call(own_id) if record.get("call") == own_id]
