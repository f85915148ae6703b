"""The path of one call: find, validate, decide, approve, execute, normalise, record.

This file is the program. Every surface, every nested call and every test goes through `run`, which
never raises: whatever stops a call, the answer is a `ToolResult` and there is an audit record.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import count

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, FileChange, bound_to, described
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Context, Invoke, NoProcesses, Policy, Redacting, Session, World
from tongs.core.parts import Allowance, Door, Parts, Steps
from tongs.core.permissions import stricter
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.output import kept

# A helper of a helper of a helper … : deeper than this is a mistake or an attack.
DEEPEST_NESTING = 8
STRICT = "strict"


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
        parts.audit.began(_recorded(call, door), tool, verdict, allowance, response)
        if response is not None:
            # After the record, before anything runs: a crash loses no approval up to here, and
            # from here on it can never be used again.
            parts.spend(response)
        started = True
        result = await execute(call, tool, allowance, parts, door)
        if call is not asked:
            result = _told_of_edit(result, call, response)
    except ToolError as error:
        result = ToolResult(error=error)
    except KeyboardInterrupt:
        result = ToolResult(error=_cancelled(call))
    except Exception as error:  # the one place that may: a call never raises at its caller
        result = ToolResult(error=parts.unexpected(error, _redact(door)))
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
    step("normalise")
    result = _finished(normalise(result, tool, door), call, begun)
    step("record")
    trouble = record(_recorded(call, door), tool, result, parts, started=started)
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
        door = replace(door, redactor=_redactor(door, allowance))
    return allowance, door


async def approve(
    call: ToolCall, tool: Tool, verdict: Verdict, allowance: Allowance, parts: Parts, door: Door
) -> tuple[ToolCall, ApprovalResponse]:
    """Step 4. Edited arguments go back through steps 2 and 3, once; no answer is a denial."""
    request = _request(call, tool, verdict, allowance, parts, door)
    response = parts.memory.recall(request)
    if response is None:
        parts.audit.asked(_recorded(call, door), tool, request)
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
        edited: Mapping[str, Any] = response.modified_args
        if door.redactor is not None:
            edited = _restored(edited, request.args, call.arguments)
        call = replace(call, arguments=parts.validate(tool, edited), at_stake="")
        call, _ = judge(call, tool, allowance, parts)
    parts.audit.answered(_recorded(call, door), tool, response)
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
    walls = _own_walls(tool, parts)
    if walls is None:
        policy = _policy(call, tool, allowance, world, parts)
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
            search=parts.search,
            jobs=parts.jobs,
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
        result = _with_walls(result, session, wanted)
        return _with_reason(result, context, allowance)
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


def _redactor(door: Door, allowance: Allowance) -> Redacting | None:
    """For what the call was given now and what the calls around it were; None for nothing."""
    values = tuple(allowance.secrets.values())
    if not values:
        return door.redactor
    if door.redactor is not None:
        return door.redactor.also(values)
    from tongs.redaction import Redactor  # noqa: PLC0415 - a call without secrets pays nothing

    return Redactor(values)


def _redact(door: Door) -> Callable[[str], str]:
    return str if door.redactor is None else door.redactor.text


def _recorded(call: ToolCall, door: Door) -> ToolCall:
    """The call as it may be written down: a secret in its arguments is none of the record's."""
    if door.redactor is None:
        return call
    return replace(call, arguments=door.redactor.mapping(call.arguments))


def _restored(edited: Any, shown: Any, given: Any) -> Any:
    """Edited arguments with the value that was given wherever its redacted form was left alone."""
    if isinstance(edited, str):
        return given if edited == shown else edited
    if isinstance(edited, Mapping) and isinstance(shown, Mapping):
        return {
            key: _restored(value, shown[key], given[key])
            if key in shown and key in given
            else value
            for key, value in edited.items()
        }
    if isinstance(edited, list) and isinstance(shown, list | tuple) and len(edited) == len(shown):
        return [_restored(*three) for three in zip(edited, shown, given, strict=True)]
    return edited


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
    shown = _recorded(call, door).arguments
    return ApprovalRequest(
        step_id=call.id,
        tool=tool.name,
        args=shown,
        # It may quote the arguments.
        reason=_redact(door)(verdict.reason),
        rule=verdict.rule,
        also=verdict.also,
        preview=_redact(door)(preview),
        caller=call.caller,
        permissions=allowance.permissions,
        not_enforced=tuple(walls[1])
        if (walls := _own_walls(tool, parts)) is not None
        else tuple(parts.sandbox.cannot_enforce(_policy(call, tool, allowance, world, parts))),
        raw_parameters=tool.raw_parameters,
        input_schema=tool.input_schema,
        digest=bound_to(tool, call, allowance.permissions),
        definition=tool.origin.digest,
        tags=tool.tags,
        project=tool.origin.project or world.place.root,
        changes=_changes(tool, call.arguments, world, parts, _redact(door)),
        stdin=described(call.input, _redact(door)) if call.input else "",
        whole=not call.input and shown == call.arguments,
    )


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


def _own_walls(tool: Tool, parts: Parts) -> tuple[Sequence[str], Sequence[str]] | None:
    """What an executor that starts no process holds, and what nobody does; None where a sandbox
    has to hold the walls."""
    executor = parts.executors[tool.executor]
    walls = getattr(executor, "walls", None)
    return None if walls is None else (walls, getattr(executor, "lacks", ()))


def _policy(call: ToolCall, tool: Tool, allowance: Allowance, world: World, parts: Parts) -> Policy:
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


def _told_of_edit(
    result: ToolResult, call: ToolCall, response: ApprovalResponse | None
) -> ToolResult:
    """Whoever made the call must know that another one ran: a model reads warnings as text."""
    who = response.approver if response is not None and response.approver else "the person"
    ran = json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    warning = f"{who} changed the arguments before allowing it; it ran with {ran}"
    said = {**result.metadata, "modifiedArguments": dict(call.arguments)}
    return replace(result, warnings=(*result.warnings, warning), metadata=said)


def _with_walls(result: ToolResult, session: Session, enforcement: str) -> ToolResult:
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
    return _changed(result, result.tool_call_id, warnings, metadata)


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
        return "run it on a terminal, or add --yes or --wait"
    if call.caller.kind is CallerKind.PROGRAM:
        return f'pass approver=… to the call, or auto_approve=["{tool.name}"] to Runtime.open'
    return (
        f"a person can allow it with --auto-approve {tool.name} or security.auto_approve,"
        " or be asked: tongs help approvals"
    )


def _deadline(allowance: Allowance, door: Door) -> float | None:
    timeout = door.timeout if door.timeout is not None else allowance.timeout
    if timeout is None:
        return door.deadline
    own = time.monotonic() + timeout
    return own if door.deadline is None else min(own, door.deadline)


def _cancelled(call: ToolCall) -> ToolError:
    return ToolError(ErrorCode.CANCELLED, f"{call.name} was cancelled")


def _finished(result: ToolResult, call: ToolCall, begun: float) -> ToolResult:
    duration = round((time.monotonic() - begun) * 1000, 3)
    timed = {"durationMs": duration, **result.metadata}
    return _changed(result, call.id, result.warnings, timed)


def _with_arguments(call: ToolCall, arguments: Mapping[str, Any]) -> ToolCall:
    """What `replace` does, in half the time: on the path of every call."""
    return ToolCall(call.id, call.name, arguments, call.caller, call.input, call.parent)


def _changed(
    result: ToolResult, call_id: str, warnings: Sequence[str], metadata: Mapping[str, Any]
) -> ToolResult:
    """As above."""
    return ToolResult(
        call_id, result.output, result.value, result.error, result.success, warnings, metadata
    )
