"""The path of one call: find, validate, decide, approve, execute, normalise, record.

This file is the program. Every surface, every nested call and every test goes through `run`, which
never raises: whatever stops a call, the answer is a `ToolResult` and there is an audit record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, bound_to
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Context, Invoke, OwnWalls, Policy, Sandbox, Session, World
from tongs.core.parts import Allowance, Door, Parts
from tongs.core.permissions import stricter
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.output import redacted_data, redacted_result

# A helper of a helper of a helper … : deeper than this is a mistake or an attack.
DEEPEST_NESTING = 8
STRICT = "strict"


async def run(call: ToolCall, parts: Parts, door: Door) -> ToolResult:
    """Carry out one call from the first check to the audit record."""
    begun = time.monotonic()
    tool: Tool | None = None
    allowance: Allowance | None = None
    started = False
    try:
        tool = find(call, parts, door)
        call = replace(call, arguments=parts.validate(tool, call.arguments))
        allowance = parts.allow(call, tool)
        call = at_stake(call, tool, allowance, parts)
        verdict = decide(call, tool, parts)
        if tool.requires:
            # Before anybody is asked: there is no point in allowing what cannot run here.
            await parts.require(tool, door.waiter)
        asked, response = call, None
        if verdict.decision is Decision.ASK:
            call, response = await approve(call, tool, verdict, allowance, parts, door)
            parts.confirm(tool)
        parts.audit.began(_recorded(call, allowance), tool, verdict, allowance, response)
        started = True
        result = await execute(call, tool, allowance, parts, door)
        if call is not asked:
            said = {**result.metadata, "modifiedArguments": dict(call.arguments)}
            result = replace(result, metadata=said)
    except ToolError as error:
        result = ToolResult(error=error)
    except KeyboardInterrupt:
        result = ToolResult(error=_cancelled(call))
    except Exception as error:  # the one place that may: a call never raises at its caller
        result = ToolResult(error=parts.unexpected(error))
    except BaseException:
        record(call, tool, ToolResult(error=_cancelled(call)), allowance, parts, started=started)
        raise  # an event loop must see its own cancellation
    result = normalise(result, tool, allowance)
    result = _finished(result, call, begun)
    trouble = record(call, tool, result, allowance, parts, started=started)
    return replace(result, warnings=(*result.warnings, *trouble)) if trouble else result


def find(call: ToolCall, parts: Parts, door: Door) -> Tool:
    """Step 1. Tools that call each other too deeply end here, too."""
    tool = parts.find(call, door.scope)
    if len(call.caller.chain) >= DEEPEST_NESTING:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"{' > '.join(call.caller.chain)} > {tool.name} is nested too deeply",
            hint=f"a tool may call tools up to {DEEPEST_NESTING} deep",
        )
    return tool


def at_stake(call: ToolCall, tool: Tool, allowance: Allowance, parts: Parts) -> ToolCall:
    """What a built-in tool would replace or remove: the rules, the person and the tool see one
    state of it, so that nothing can be put there between the decision and the act."""
    look = None
    if tool.origin.scope is Scope.BUILTIN:
        look = getattr(parts.executors[tool.executor], "at_stake", None)
    if look is None:
        return call
    world = parts.world(tool, allowance)
    return replace(call, at_stake=look(call, tool, world, allowance.permissions))


def decide(call: ToolCall, tool: Tool, parts: Parts) -> Verdict:
    """Step 3. A denial ends the call here, before anything was started."""
    verdict = parts.decide(call, tool)
    if verdict.decision is Decision.DENY:
        raise ToolError(
            verdict.code,
            f"{tool.name} was not run: {verdict.reason}",
            details={"rule": verdict.rule},
            blocked_by=verdict.blocked_by,
            hint=verdict.hint,
        )
    return verdict


async def approve(
    call: ToolCall, tool: Tool, verdict: Verdict, allowance: Allowance, parts: Parts, door: Door
) -> tuple[ToolCall, ApprovalResponse]:
    """Step 4. Edited arguments go back through steps 2 and 3, once; no answer is a denial."""
    request = _request(call, tool, verdict, allowance, parts)
    response = parts.memory.recall(request)
    if response is None:
        parts.audit.asked(_recorded(call, allowance), tool, request)
        response = None if door.approver is None else await door.approver(request)
    if response is None:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"{tool.name} was not run: {verdict.reason}, and nobody could be asked",
            details={"rule": verdict.rule},
            blocked_by=BlockedBy.APPROVAL,
            hint=_how_to_approve(call, tool),
        )
    if response.approved and response.modified_args is not None:
        call = replace(call, arguments=parts.validate(tool, response.modified_args))
        call = at_stake(call, tool, allowance, parts)
        decide(call, tool, parts)
    parts.audit.answered(_recorded(call, allowance), tool, response)
    if response.remember is not None:
        parts.memory.remember(request, response)
    if not response.approved:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"{tool.name} was not run: {response.approver or 'the person'} denied it"
            + (f" ({response.reason})" if response.reason else ""),
            details={"rule": verdict.rule, "reason": response.reason},
            blocked_by=BlockedBy.APPROVAL,
        )
    return call, response


async def execute(
    call: ToolCall, tool: Tool, allowance: Allowance, parts: Parts, door: Door
) -> ToolResult:
    """Step 5. One session holds every process of the call, and ends with it."""
    deadline = _deadline(allowance, door)
    world = parts.world(tool, allowance)
    sandbox = _sandbox(tool, parts)
    session = sandbox.open(_policy(call, tool, allowance, world), door.waiter)
    try:
        context = Context(
            call=call,
            tool=tool,
            world=world,
            session=session,
            deadline=deadline,
            observe=door.observe,
            invoke=_nested(call, tool, allowance, parts, door, deadline),
            waiter=door.waiter,
            permissions=allowance.permissions,
            private_hosts=allowance.private_hosts,
        )
        try:
            result = await parts.executors[tool.executor].execute(call.arguments, context)
        except ToolError as error:
            if error.code is not ErrorCode.EXECUTION_ERROR:
                raise
            result = ToolResult(error=error)  # a program that could not be started
        wanted = stricter(parts.enforcement, allowance.bound.enforcement)
        result = _with_walls(result, session, wanted if sandbox is parts.sandbox else STRICT)
        return _with_reason(result, context, allowance)
    finally:
        session.close()


def normalise(result: ToolResult, tool: Tool | None, allowance: Allowance | None) -> ToolResult:
    """Step 6. What the output promised is checked; no secret leaves in any part of the result."""
    if tool is not None and tool.output_schema is not None and result.ok:
        result = _checked_output(result, tool.output_schema)
    secrets = () if allowance is None else tuple(allowance.secrets.values())
    return redacted_result(result, secrets) if secrets else result


def record(
    call: ToolCall,
    tool: Tool | None,
    result: ToolResult,
    allowance: Allowance | None,
    parts: Parts,
    *,
    started: bool,
) -> Sequence[str]:
    """Step 7. Also for a call that steps 1 to 4 stopped."""
    return parts.audit.ended(_recorded(call, allowance), tool, result, started=started)


def _recorded(call: ToolCall, allowance: Allowance | None) -> ToolCall:
    """The call as it may be written down: a secret in its arguments is none of the record's."""
    secrets = () if allowance is None else tuple(allowance.secrets.values())
    if not secrets:
        return call
    arguments = {str(k): redacted_data(v, secrets) for k, v in call.arguments.items()}
    return replace(call, arguments=arguments)


def _checked_output(result: ToolResult, schema: Mapping[str, Any]) -> ToolResult:
    """A mismatch is a warning: the work is done, and its output may still be of use."""
    from tongs.schema.check import violations  # noqa: PLC0415 - few tools promise a structure

    found = [f"the output does not fit its schema: {v}" for v in violations(schema, result.value)]
    return replace(result, warnings=(*result.warnings, *found)) if found else result


def _nested(
    call: ToolCall,
    tool: Tool,
    allowance: Allowance,
    parts: Parts,
    door: Door,
    deadline: float | None,
) -> Invoke:
    """The one way a tool calls another: the same pipeline, under the outer call's permissions."""

    numbers = count(1)

    async def invoke(name: str, arguments: Mapping[str, Any], stdin: bytes) -> ToolResult:
        caller = Caller(
            kind=CallerKind.TOOL,
            name=tool.name,
            chain=(*call.caller.chain, tool.name),
            ceiling=allowance.permissions,
            level=tool.level.value,
            bound=replace(allowance.bound, timeout=None),
            agreed=call.caller.agreed,
        )
        inner = ToolCall(f"{call.id}.{next(numbers)}", name, arguments, caller, stdin, call.id)
        helper = tool.helpers.get(name)
        finder = parts if helper is None else replace(parts, find=lambda _call, _scope: helper)
        within = replace(door, timeout=None, scope=Scope.ANY, deadline=deadline)
        return await run(inner, finder, within)

    return invoke


def _request(
    call: ToolCall, tool: Tool, verdict: Verdict, allowance: Allowance, parts: Parts
) -> ApprovalRequest:
    world = parts.world(tool, allowance)
    return ApprovalRequest(
        step_id=call.id,
        tool=tool.name,
        args=call.arguments,
        reason=verdict.reason,
        rule=verdict.rule,
        preview=parts.executors[tool.executor].preview(tool, call.arguments, world),
        caller=call.caller,
        permissions=allowance.permissions,
        not_enforced=tuple(
            _sandbox(tool, parts).cannot_enforce(_policy(call, tool, allowance, world))
        ),
        raw_parameters=tool.raw_parameters,
        input_schema=tool.input_schema,
        digest=bound_to(tool, call.arguments, allowance.permissions, call.at_stake),
        definition=tool.origin.digest,
        tags=tool.tags,
        project=tool.origin.project or world.place.root,
    )


def _sandbox(tool: Tool, parts: Parts) -> Sandbox:
    walls = getattr(parts.executors[tool.executor], "walls", None)
    return parts.sandbox if walls is None else OwnWalls(walls)


def _policy(call: ToolCall, tool: Tool, allowance: Allowance, world: World) -> Policy:
    return Policy(
        permissions=allowance.permissions,
        limits=allowance.limits,
        project=tool.origin.project or world.place.root,
        call_id=call.id,
        cwd=world.place.start,
        private_hosts=allowance.private_hosts,
        enforcement=allowance.bound.enforcement,
        programs=tool.programs,
    )


def _with_walls(result: ToolResult, session: Session, enforcement: str) -> ToolResult:
    """Every result says what was enforced, and whether that was all that could be."""
    walls: dict[str, Any] = {
        "enforced": list(session.enforced),
        "notEnforced": list(session.not_enforced),
    }
    warnings = (*result.warnings, *session.warnings)
    if enforcement != STRICT:
        walls["enforcement"] = enforcement
        warnings += (f"security.enforcement is {enforcement}: the walls may not stand",)
    return replace(result, warnings=warnings, metadata={**result.metadata, **walls})


def _with_reason(result: ToolResult, context: Context, allowance: Allowance) -> ToolResult:
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


def _how_to_approve(call: ToolCall, tool: Tool) -> str:
    if call.caller.kind is CallerKind.PERSON:
        return "run it on a terminal, or add --yes"
    if call.caller.kind is CallerKind.PROGRAM:
        return f'pass approver=… to the call, or auto_approve=["{tool.name}"] to Runtime.open'
    return f"a person can allow it with --auto-approve {tool.name} or security.auto_approve"


def _deadline(allowance: Allowance, door: Door) -> float | None:
    timeout = door.timeout if door.timeout is not None else allowance.timeout
    own = None if timeout is None else time.monotonic() + timeout
    ends = [moment for moment in (own, door.deadline) if moment is not None]
    return min(ends, default=None)


def _cancelled(call: ToolCall) -> ToolError:
    return ToolError(ErrorCode.CANCELLED, f"{call.name} was cancelled")


def _finished(result: ToolResult, call: ToolCall, begun: float) -> ToolResult:
    duration = round((time.monotonic() - begun) * 1000, 3)
    timed = {"durationMs": duration, **result.metadata}
    return replace(result, tool_call_id=call.id, metadata=timed)
