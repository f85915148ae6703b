"""Requests and answers as JSON, for whoever decides outside of this process (seed 002's names)."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, FileChange, Remember, Span
from tongs.core.call import Caller, CallerKind
from tongs.core.permissions import Permissions
from tongs.core.record import replace

# An answer is a few words and some arguments; whatever is larger is not one.
LARGEST_ANSWER = 4 * 1024 * 1024
_LONGEST_REASON = 2000
_KEYS = {"approved", "modifiedArgs", "reason", "pending"}


class WrongAnswer(ValueError):
    """What was said is no answer; the text says why."""


def request_wire(request: ApprovalRequest) -> dict[str, Any]:
    return {
        "stepId": request.step_id,
        "tool": request.tool,
        "args": dict(request.args),
        "reason": request.reason,
        "rule": request.rule,
        "also": list(request.also),
        "stdin": request.stdin,
        "whole": request.whole,
        "preview": request.preview,
        "caller": {"kind": str(request.caller.kind), "name": request.caller.name},
        "permissions": request.permissions.to_wire(),
        "notEnforced": list(request.not_enforced),
        "rawParameters": list(request.raw_parameters),
        "inputSchema": dict(request.input_schema),
        "digest": request.digest,
        "definition": request.definition,
        "tags": list(request.tags),
        "project": request.project,
        "changes": [
            {"path": change.path, "before": change.before, "after": change.after}
            for change in request.changes
        ],
    }


def request_of(wire: Mapping[str, Any]) -> ApprovalRequest:
    """What `request_wire` made, read back."""
    permissions = wire["permissions"]
    files = permissions["fs"]
    secrets = dict.fromkeys(permissions["secrets"])
    granted = Permissions.from_data({**permissions, "secrets": secrets})
    return ApprovalRequest(
        step_id=wire["stepId"],
        tool=wire["tool"],
        args=wire["args"],
        reason=wire["reason"],
        rule=wire["rule"],
        preview=wire["preview"],
        caller=Caller(CallerKind(wire["caller"]["kind"]), wire["caller"]["name"]),
        permissions=replace(granted, scratch=tuple(files.get("scratch", ()))),
        not_enforced=tuple(wire["notEnforced"]),
        raw_parameters=tuple(wire["rawParameters"]),
        input_schema=wire["inputSchema"],
        digest=wire["digest"],
        definition=wire["definition"],
        tags=tuple(wire["tags"]),
        project=wire["project"],
        changes=tuple(
            FileChange(change["path"], change["before"], change["after"])
            for change in wire["changes"]
        ),
        # One that an earlier version wrote has none of these.
        also=tuple(wire.get("also", ())),
        stdin=wire.get("stdin", ""),
        whole=wire.get("whole", False),
    )


def response_wire(response: ApprovalResponse) -> dict[str, Any]:
    kept = response.remember
    return {
        "approved": response.approved,
        "modifiedArgs": None if response.modified_args is None else dict(response.modified_args),
        "approver": response.approver,
        "reason": response.reason,
        "remember": None
        if kept is None
        else {"when": dict(kept.when), "span": str(kept.span), "until": kept.until},
    }


def response_of(wire: Mapping[str, Any], question: str) -> ApprovalResponse:
    """What `response_wire` made, read back, under the id of its question."""
    kept = wire["remember"]
    return ApprovalResponse(
        approved=wire["approved"],
        modified_args=wire["modifiedArgs"],
        approver=wire["approver"],
        reason=wire["reason"],
        remember=None
        if kept is None
        else Remember(kept["when"], Span(kept["span"]), kept["until"]),
        id=question,
    )


def strangers_answer(data: bytes, approver: str) -> ApprovalResponse | None:
    """What a program or a server answered; None where it says that the answer comes otherwise.

    Raises WrongAnswer for anything that is not exactly an answer: who cannot spell a key might have
    meant another one.
    """
    if len(data) > LARGEST_ANSWER:
        raise WrongAnswer(f"the answer is larger than {LARGEST_ANSWER} bytes")
    try:
        said = json.loads(data.decode(), object_pairs_hook=_once, parse_constant=_refused)
    except RecursionError:
        raise WrongAnswer("the answer is nested too deeply") from None
    except ValueError as error:
        raise WrongAnswer(f"the answer is no JSON: {error}") from None
    if not isinstance(said, dict):
        raise WrongAnswer("the answer is no JSON object")
    if unknown := sorted(said.keys() - _KEYS):
        raise WrongAnswer(f"the answer has the unknown key {unknown[0][:40]!r}")
    if said.get("pending") is True and "approved" not in said:
        return None
    arguments, reason = said.get("modifiedArgs"), said.get("reason", "")
    if not isinstance(said.get("approved"), bool) or "pending" in said:
        raise WrongAnswer('the answer needs `"approved": true` or `"approved": false`')
    if arguments is not None and not isinstance(arguments, dict):
        raise WrongAnswer("`modifiedArgs` of the answer is no object")
    if not isinstance(reason, str):
        raise WrongAnswer("`reason` of the answer is no text")
    return ApprovalResponse(said["approved"], arguments, approver, reason[:_LONGEST_REASON])


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands there twice")
    return made


def _refused(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")
