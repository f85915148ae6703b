"""What is asked about a call, and what the answer makes of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from tongs.core.annotations import Any
from tongs.core.approval import (
    ApprovalRequest,
    ApprovalResponse,
    Approver,
    FileChange,
    bound_to,
    described,
)
from tongs.core.call import CallerKind, ToolCall
from tongs.core.decision import Verdict
from tongs.core.execution import World
from tongs.core.parts import Allowance, Door, Parts
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.pipeline.hiding import recorded, redact
from tongs.pipeline.walls import own_walls, policy_of

# What the warning of an edited call says.
CHANGED = "changed the arguments before allowing it"


def request_of(
    call: ToolCall,
    tool: Tool,
    verdict: Verdict,
    allowance: Allowance,
    parts: Parts,
    door: Door,
) -> ApprovalRequest:
    """What is asked. It is bound to the very arguments, and shows them without secrets."""
    world = parts.world(tool, allowance)
    preview = parts.executors[tool.executor].preview(tool, call.arguments, world)
    shown = recorded(call, door).arguments
    return ApprovalRequest(
        step_id=call.id,
        tool=tool.name,
        args=shown,
        # It may quote the arguments.
        reason=redact(door)(verdict.reason),
        rule=verdict.rule,
        also=verdict.also,
        preview=redact(door)(preview),
        caller=call.caller,
        permissions=allowance.permissions,
        not_enforced=tuple(walls[1])
        if (walls := own_walls(tool, parts)) is not None
        else tuple(parts.sandbox.cannot_enforce(policy_of(call, tool, allowance, world, parts))),
        raw_parameters=tool.raw_parameters,
        input_schema=tool.input_schema,
        digest=bound_to(tool, call, allowance.permissions),
        definition=tool.origin.digest,
        tags=tool.tags,
        project=tool.origin.project or world.place.root,
        changes=_changes(tool, call.arguments, world, parts, redact(door)),
        stdin=described(call.input, redact(door)) if call.input else "",
        whole=not call.input and shown == call.arguments,
    )


def asker(call: ToolCall, tool: Tool, parts: Parts, door: Door) -> Approver:
    """Asks the person in the midst of a call, on the record: what is asked, and whether they said
    yes. What they wrote is for whoever asked, and stands nowhere."""

    async def ask(request: ApprovalRequest) -> ApprovalResponse | None:
        if door.approver is None:
            return None
        parts.audit.asked(recorded(call, door), tool, request)
        response = await door.approver(request)
        if response is not None:
            if response.approved:
                parts.spend(response)
            parts.audit.answered(
                recorded(call, door), tool, replace(response, modified_args=None, remember=None)
            )
        return response

    return ask


def _changes(
    tool: Tool,
    arguments: Mapping[str, Any],
    world: World,
    parts: Parts,
    redact: Callable[[str], str],
) -> tuple[FileChange, ...]:
    """What the call would make of files, from an executor that can tell beforehand."""
    tell = getattr(parts.executors[tool.executor], "changes", None)
    return tuple(
        FileChange(
            redact(change.path),
            None if change.before is None else redact(change.before),
            None if change.after is None else redact(change.after),
        )
        for change in (() if tell is None else tell(tool, arguments, world))
    )


def restored(edited: Any, shown: Any, given: Any) -> Any:
    """Edited arguments with the value that was given wherever its redacted form was left alone."""
    if isinstance(edited, str):
        return given if edited == shown else edited
    if isinstance(edited, Mapping) and isinstance(shown, Mapping):
        return {
            key: restored(value, shown[key], given[key]) if key in shown and key in given else value
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list | tuple) and len(edited) == len(shown):
        return [restored(*three) for three in zip(edited, shown, given, strict=True)]
    return edited


def how_to_approve(call: ToolCall, tool: Tool) -> str:
    """What to do where nobody could be asked."""
    if call.caller.kind is CallerKind.PERSON:
        return "run it on a terminal, or add --yes or --wait"
    if call.caller.kind is CallerKind.PROGRAM:
        return f'pass approver=… to the call, or auto_approve=["{tool.name}"] to Runtime.open'
    return (
        f"a person can allow it with --auto-approve {tool.name} or security.auto_approve,"
        " or be asked: tongs help approvals"
    )


def told_of_edit(
    result: ToolResult, call: ToolCall, response: ApprovalResponse | None
) -> ToolResult:
    """Whoever made the call must know that another one ran: a model reads warnings as text."""
    who = response.approver if response is not None and response.approver else "the person"
    ran = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    warning = f"{who} {CHANGED}; it ran with {ran}"
    said = {**result.metadata, "modifiedArguments": dict(call.arguments)}
    return replace(result, warnings=(*result.warnings, warning), metadata=said)
