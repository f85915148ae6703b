"""What would come of a call: found, validated and decided, but nothing started and nobody asked."""

from __future__ import annotations

from tongs.core.call import ToolCall
from tongs.core.decision import Decision
from tongs.core.errors import ToolError
from tongs.core.execution import World
from tongs.core.parts import Allowance, Parts
from tongs.core.permissions import Limits, Permissions
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.pipeline import at_stake


def foretold(call: ToolCall, parts: Parts, scope: Scope, *, preview: bool) -> ToolResult:
    """`value` holds the final arguments, `metadata` the decision.

    With `preview` the output is what would run.
    """
    try:
        tool = parts.find(call, scope)
        call = replace(call, arguments=parts.validate(tool, call.arguments))
        verdict = parts.decide(call, tool)
        if tool.origin.scope is Scope.BUILTIN and verdict.decision is not Decision.DENY:
            call = at_stake(call, tool, parts.allow(call, tool), parts)
            verdict = parts.decide(call, tool)
        output = _preview(call, tool, parts) if preview else ""
    except ToolError as error:
        return ToolResult(tool_call_id=call.id, error=error)
    except Exception as error:  # noqa: BLE001 - as in the pipeline: a surface gets a result
        return ToolResult(tool_call_id=call.id, error=parts.unexpected(error, str))
    decision = {
        "decision": verdict.decision.name.lower(),
        "rule": verdict.rule,
        "reason": verdict.reason,
    }
    return ToolResult(call.id, output, value=dict(call.arguments), metadata=decision)


def bare_world(tool: Tool, parts: Parts) -> World:
    """The world of a tool that is only looked at: it shows no secret and needs none."""
    return parts.world(tool, Allowance(Permissions(), Limits(), None, {}, {}))


def _preview(call: ToolCall, tool: Tool, parts: Parts) -> str:
    return parts.executors[tool.executor].preview(tool, call.arguments, bare_world(tool, parts))
