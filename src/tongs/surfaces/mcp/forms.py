"""The question as a form of MCP, and its answer.

A form has flat fields only. Arguments that are few and plain are fields of their own; else all of
them are one text of JSON. `allow` runs the call as it is shown, `edit` as the fields say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.approvers.terminal_question import as_json, description
from tongs.core.annotations import Any
from tongs.core.approval import ELICITATION, ApprovalRequest, ApprovalResponse
from tongs.core.errors import ToolError
from tongs.output import visible
from tongs.schema.check import validated

ALLOW, EDIT, DENY = "allow", "edit", "deny"
DECISION, REASON, ARGUMENTS = "decision", "reason", "arguments"
_OURS = frozenset({DECISION, REASON, ARGUMENTS})
_FEW = 5
_PLAIN = frozenset({"string", "number", "integer", "boolean"})
# More is no longer read in a form.
_LONGEST_MESSAGE = 16_000
_LONGEST_REASON = 2000
_LONGEST_FIELD = 1000

_RUNS = f"{ALLOW}: once, as shown; {EDIT}: with the arguments as you change them here; {DENY}"
_SENDS = f"{ALLOW}: send the fields to the server as you fill them in here; {DENY}: send nothing"


class Mistaken(ValueError):
    """The form was filled in a way that decides nothing; the text says how."""


def message(request: ApprovalRequest, trouble: str = "", question: str = "") -> str:
    """What the person has to know. Whatever a stranger wrote is shown with nothing hidden."""
    text = description(request, whole=True)
    if len(text) > _LONGEST_MESSAGE:
        where = f"tongs approvals pending {question}".rstrip()
        text = description(request, more=f"{where} shows everything")
    note = f"Not understood: {' '.join(trouble.split())}\n\n" if trouble else ""
    return visible(f"{note}{text}")


def schema(request: ApprovalRequest) -> dict[str, Any]:
    """The fields of the form."""
    properties: dict[str, Any] = {
        DECISION: {
            "type": "string",
            "title": "Decision",
            "description": _SENDS if request.rule == ELICITATION else _RUNS,
            "enum": [ALLOW, EDIT, DENY],
        },
        REASON: {
            "type": "string",
            "title": "Reason",
            "description": "Why it is denied; it goes back to the agent (optional)",
        },
    }
    flat = fields(request)
    if flat is None:
        flat = {
            ARGUMENTS: {
                "type": "string",
                "title": "Arguments",
                "description": "As one JSON object",
                "default": as_json(dict(request.args)),
            }
        }
    return {"type": "object", "properties": {**properties, **flat}, "required": [DECISION]}


def fields(request: ApprovalRequest) -> dict[str, Any] | None:
    """A field for each argument; None where they are too many, or not plain."""
    declared = request.input_schema.get("properties") or {}
    names = list(declared)
    if not names or len(names) > _FEW or _OURS & set(names) or not set(request.args) <= set(names):
        return None
    made = {}
    for name in names:
        entry = declared[name]
        kind = entry.get("type") if isinstance(entry, Mapping) else None
        if not isinstance(kind, str) or kind not in _PLAIN or visible(name) != name:
            return None
        field: dict[str, Any] = {"type": kind, "title": name}
        if isinstance(about := entry.get("description"), str) and about:
            field["description"] = visible(about)[:_LONGEST_FIELD]
        if name in request.args:
            value = request.args[name]
            if not _is_plain(value, kind):
                return None
            field["default"] = value
        options = entry.get("enum")
        if kind == "string" and isinstance(options, list | tuple):
            if not all(isinstance(each, str) and visible(each) == each for each in options):
                return None
            field["enum"] = list(options)
        made[name] = field
    return made


def _is_plain(value: Any, kind: str) -> bool:
    """Whether a form shows the value as it is, and gives it back."""
    if kind == "string":
        return isinstance(value, str) and len(value) <= _LONGEST_FIELD and visible(value) == value
    if kind == "boolean":
        return isinstance(value, bool)
    return isinstance(value, int | float) and not isinstance(value, bool)


def answer(request: ApprovalRequest, action: str, content: Any, client: str) -> ApprovalResponse:
    """What the filled form decides. Raises Mistaken; nothing unclear is ever an approval."""
    who = f"{client} (by MCP)"
    if action != "accept":
        said = "declined" if action == "decline" else "dismissed"
        return ApprovalResponse(False, None, who, f"the question was {said} in the client")
    if not isinstance(content, Mapping):
        raise Mistaken(f"the field `{DECISION}` is missing")
    decision = content.get(DECISION)
    reason = content.get(REASON)
    reason = reason[:_LONGEST_REASON] if isinstance(reason, str) else ""
    if decision == DENY:
        return ApprovalResponse(False, None, who, reason)
    if decision not in (ALLOW, EDIT):
        raise Mistaken(f"`{DECISION}` is {ALLOW}, {EDIT} or {DENY}")
    edited = _edited(request, content)
    if decision == ALLOW and request.rule != ELICITATION:
        if edited != dict(request.args):
            raise Mistaken(f"the arguments were changed: choose {EDIT} to run it with the new ones")
        return ApprovalResponse(True, None, who, reason)
    try:
        checked = validated(request.input_schema, edited)
    except ToolError as error:
        raise Mistaken(error.message) from None
    return ApprovalResponse(True, checked, who, reason)


def _edited(request: ApprovalRequest, content: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments as the fields say; a field that did not come back is as it was."""
    flat = fields(request)
    if flat is None:
        return _from_json(request, content.get(ARGUMENTS))
    made = dict(request.args)
    for name, field in flat.items():
        value = content.get(name)
        # An empty field of something that was not given is still not given.
        if value is None or (value == "" and "default" not in field):
            continue
        if field["type"] == "integer" and isinstance(value, float) and value.is_integer():
            value = int(value)
        made[name] = value
    return made


def _from_json(request: ApprovalRequest, text: Any) -> dict[str, Any]:
    if text is None:
        return dict(request.args)
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise Mistaken(f"`{ARGUMENTS}` is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise Mistaken(f"`{ARGUMENTS}` is no JSON object")
    return value
