"""The path of one call: find, validate, decide, approve, execute, normalise, record.

This file is the program; what it knows of questions, walls and secrets stands beside it. Every
surface, every nested call and every test goes through `run`, which never raises: whatever stops a
call, the answer is a `ToolResult` and there is an audit record.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import count

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalResponse
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Context, Invoke, NoProcesses
from tongs.core.parts import Allowance, Door, Parts, Steps
from tongs.core.permissions import stricter
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.output import kept
from tongs.pipeline.hiding import hiding, hiding_known, recorded, redact
from tongs.pipeline.question import asker, how_to_approve, request_of, restored, told_of_edit
from tongs.pipeline.walls import STRICT, own_walls, policy_of, with_reason, with_walls

# A helper of a helper of a helper … : deeper than this is a mistake or an attack.
DEEPEST_NESTING = 8


async def run(call: ToolCall, parts: Parts, door: Door) -> ToolResult:
    """Carry out one call from the first check to the audit record."""
    begun = time.monotonic()
    tool: Tool | None = None
    started = False
    step = parts.watch(call)
    try:
        step("find")
        tool = find(call, parts, door)
        step("validate")
        call = _with_arguments(call, parts.validate(tool, call.arguments))
        allowance = parts.allow(call, tool)
        step("decide")
        call, verdict = judge(call, tool, allowance, parts)
        if tool.requires or allowance.permissions.secrets:
            allowance, door = await prepare(tool, allowance, parts, door)
        asked, response = call, None
        if verdict.decision is Decision.ASK:
            step("approve")
            call, response = await approve(call, tool, verdict, allowance, parts, door)
            parts.confirm(tool)
        step("execute")
        parts.audit.began(recorded(call, door), tool, verdict, allowance, response)
        if response is not None:
            # After the record, before anything runs: a crash loses no approval up to here, and
            # from here on it can never be used again.
            parts.spend(response)
        started = True
        result = await execute(call, tool, allowance, parts, door)
        if call is not asked:
            result = told_of_edit(result, call, response)
    except ToolError as error:
        result = ToolResult(error=error)
    except KeyboardInterrupt:
        result = ToolResult(error=_cancelled(call))
    except Exception as error:  # the one place that may: a call never raises at its caller
        door = door if started else hiding_known(door, tool, parts)
        result = ToolResult(error=parts.unexpected(error, redact(door)))
    except BaseException:
        cancelled = ToolResult(error=_cancelled(call))
        conclude(cancelled, call, tool, parts, door, step, begun=begun, started=started)
        raise  # an event loop must see its own cancellation
    return conclude(result, call, tool, parts, door, step, begun=begun, started=started)


def conclude(
    result: ToolResult,
    call: ToolCall,
    tool: Tool | None,
    parts: Parts,
    door: Door,
    step: Steps,
    *,
    begun: float,
    started: bool,
) -> ToolResult:
    """Steps 6 and 7, which no call leaves out."""
    if not started:
        door = hiding_known(door, tool, parts)
    step("normalise")
    result = _finished(normalise(result, tool, door), call, begun)
    step("record")
    trouble = record(recorded(call, door), tool, result, parts, started=started)
    step.end(tool, result)
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


def judge(
    call: ToolCall, tool: Tool, allowance: Allowance, parts: Parts
) -> tuple[ToolCall, Verdict]:
    """Step 3. Where a built-in tool would replace or remove something, the rules, the person and
    the tool see one state of it, so that nothing can be put there between decision and act.

    The rules speak before anything is looked at: to look at a file tells something about it.
    """
    verdict = decide(call, tool, parts)
    if tool.origin.scope is not Scope.BUILTIN:
        return call, verdict
    call = at_stake(call, tool, allowance, parts)
    return call, decide(call, tool, parts) if call.at_stake else verdict


def at_stake(call: ToolCall, tool: Tool, allowance: Allowance, parts: Parts) -> ToolCall:
    """The call with what it would replace or remove, as that is now."""
    look = getattr(parts.executors[tool.executor], "at_stake", None)
    if look is None:
        return call
    world = parts.world(tool, allowance)
    return replace(call, at_stake=look(call, tool, world, allowance.permissions))


def decide(call: ToolCall, tool: Tool, parts: Parts) -> Verdict:
    """A denial ends the call here, before anything was started."""
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


async def prepare(
    tool: Tool, allowance: Allowance, parts: Parts, door: Door
) -> tuple[Allowance, Door]:
    """Before anybody is asked: there is no point in allowing what cannot run here, and the
    question must not show a secret. After the rules: what may not run has no secrets."""
    if tool.requires:
        await parts.require(tool, door.waiter)
    if allowance.permissions.secrets:
        allowance = await parts.reveal(tool, allowance, door.waiter)
        door = hiding(door, allowance.secrets.values())
    return allowance, door


async def approve(
    call: ToolCall, tool: Tool, verdict: Verdict, allowance: Allowance, parts: Parts, door: Door
) -> tuple[ToolCall, ApprovalResponse]:
    """Step 4. Edited arguments go back through steps 2 and 3, once; no answer is a denial."""
    request = request_of(call, tool, verdict, allowance, parts, door)
    response = parts.memory.recall(request)
    if response is None:
        parts.audit.asked(recorded(call, door), tool, request)
        response = None if door.approver is None else await door.approver(request)
    if response is None:
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"{tool.name} was not run: {verdict.reason}, and nobody could be asked",
            details={"rule": verdict.rule},
            blocked_by=BlockedBy.APPROVAL,
            hint=how_to_approve(call, tool),
        )
    if response.approved and response.modified_args is not None:
        edited: Mapping[str, Any] = response.modified_args
        if door.redactor is not None:
            edited = restored(edited, request.args, call.arguments)
        call = replace(call, arguments=parts.validate(tool, edited), at_stake="")
        call, _ = judge(call, tool, allowance, parts)
    parts.audit.answered(recorded(call, door), tool, response)
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
    watched = None if door.redactor is None else door.redactor.watching(door.observe)
    door = door if watched is None else replace(door, observe=watched)
    walls = own_walls(tool, parts)
    if walls is None:
        policy = policy_of(call, tool, allowance, world, parts)
        if door.redactor is not None:
            policy = replace(policy, redactor=door.redactor)
        session = parts.sandbox.open(policy, door.waiter)
    else:
        session = NoProcesses(*walls)
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
            redactor=door.redactor,
            keep=lambda data: kept(data, allowance.limits.output, parts.spool, call.id),
            limit=allowance.limits.output,
            put_aside=lambda data: kept(data, 0, parts.spool, call.id).handle,
            search=parts.search,
            jobs=parts.jobs,
            servers=parts.servers,
            ask=asker(call, tool, parts, door),
        )
        try:
            result = await parts.executors[tool.executor].execute(call.arguments, context)
        except ToolError as error:
            if error.code is not ErrorCode.EXECUTION_ERROR:
                raise
            result = ToolResult(error=error)  # a program that could not be started
        wanted = STRICT
        if walls is None:
            wanted = stricter(parts.enforcement, allowance.bound.enforcement)
        result = with_walls(result, session, wanted)
        return with_reason(result, context, allowance)
    finally:
        if watched is not None:
            watched.end()
        session.close()


def normalise(result: ToolResult, tool: Tool | None, door: Door) -> ToolResult:
    """Step 6. What the output promised is checked; no secret leaves in any part of the result."""
    if tool is not None and tool.output_schema is not None and result.ok:
        result = _checked_output(result, tool.output_schema)
    return result if door.redactor is None else door.redactor.result(result)


def record(
    call: ToolCall, tool: Tool | None, result: ToolResult, parts: Parts, *, started: bool
) -> Sequence[str]:
    """Step 7. Also for a call that steps 1 to 4 stopped."""
    return parts.audit.ended(call, tool, result, started=started)


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


def _deadline(allowance: Allowance, door: Door) -> float | None:
    timeout = door.timeout if door.timeout is not None else allowance.timeout
    if timeout is None:
        return door.deadline
    own = time.monotonic() + timeout
    return own if door.deadline is None else min(own, door.deadline)


def _cancelled(call: ToolCall) -> ToolError:
    return ToolError(ErrorCode.CANCELLED, f"{call.name} was cancelled")


def _finished(result: ToolResult, call: ToolCall, begun: float) -> ToolResult:
    """What `replace` does, in half the time: on the path of every call."""
    duration = round((time.monotonic() - begun) * 1000, 3)
    timed = {"durationMs": duration, **result.metadata}
    return ToolResult(
        *(call.id, result.output, result.value, result.error, result.success, result.warnings),
        *(timed, result.attachments),
    )


def _with_arguments(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    """As above. What is at stake is looked up for these arguments."""
    return ToolCall(
        call.id, call.name, arguments, call.caller, call.input, call.parent, call.background
    )
