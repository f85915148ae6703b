"""Which walls a call gets, and what its result says about them."""

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode
from tongs.core.execution import Context, Policy, Session, World
from tongs.core.parts import Allowance, Parts
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

STRICT = "strict"


def own_walls(tool: Tool, parts: Parts) -> tuple[Sequence[str], Sequence[str]] | None:
    """What an executor that starts no process holds, and what nobody does; None where a sandbox
    has to hold the walls."""
    executor = parts.executors[tool.executor]
    if (of_tool := getattr(executor, "walls_of", None)) is not None:
        held: tuple[Sequence[str], Sequence[str]] | None = of_tool(tool)
        return held
    walls = getattr(executor, "walls", None)
    return None if walls is None else (walls, getattr(executor, "lacks", ()))


def policy_of(
    call: ToolCall, tool: Tool, allowance: Allowance, world: World, parts: Parts
) -> Policy:
    """What the sandbox has to hold for a call."""
    return Policy(
        permissions=allowance.permissions,
        limits=allowance.limits,
        project=tool.origin.project or world.place.root,
        call_id=call.id,
        cwd=world.place.start,
        private_hosts=allowance.private_hosts,
        enforcement=allowance.bound.enforcement,
        programs=tool.programs,
        held=parts.held() if allowance.permissions.write else (),
        again=not call.background,
    )


def with_walls(result: ToolResult, session: Session, enforcement: str) -> ToolResult:
    """Every result says what was enforced, and whether that was all that could be."""
    metadata = {
        **result.metadata,
        "enforced": list(session.enforced),
        "notEnforced": list(session.not_enforced),
    }
    warnings = (*result.warnings, *session.warnings)
    if enforcement != STRICT:
        metadata["enforcement"] = enforcement
        warnings += (f"security.enforcement is {enforcement}: the walls may not stand",)
    return ToolResult(
        result.tool_call_id,
        result.output,
        result.value,
        result.error,
        result.success,
        warnings,
        metadata,
        result.attachments,
    )


def with_reason(result: ToolResult, context: Context, allowance: Allowance) -> ToolResult:
    """A confined tool that failed: what was off, and which line would grant it."""
    if (error := result.error) is None or error.code is not ErrorCode.EXECUTION_ERROR:
        return result
    from tongs.policy.confined import explain_failure  # noqa: PLC0415 - failures only
    from tongs.policy.symptoms import Ending  # noqa: PLC0415 - as above

    confined = explain_failure(
        context.tool,
        allowance.permissions,
        context.session.enforced,
        Ending.of(result.metadata, error.details, context.session),
        place=context.world.place,
        limits=allowance.limits,
        caller=context.call.caller,
    )
    if confined is not None:
        error.details["confined"] = confined.sentence
        if confined.grants:
            error.details["grants"] = list(confined.grants)
        if confined.hint and ("exceeded" in error.details or not error.hint):
            error.details["hint"] = confined.hint  # the executor's has no line
    return result
