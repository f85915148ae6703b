"""Several steps one after the other, and steps that call another tool."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import (
    CommandLine,
    Completed,
    Context,
    Executor,
    StepEnded,
    StepStarted,
    World,
)
from tongs.core.record import dataclass, field, replace
from tongs.core.result import Attachment, ToolResult
from tongs.core.tool import Tool
from tongs.executors.step import (
    UNKNOWN_OUTPUT,
    StepExecutor,
    ending,
    failure,
    losses,
    refused_values_named,
    result_of,
    structured,
)
from tongs.output import decoded, visible
from tongs.template.plan import STEP_PROPERTIES, Nested, Plan, Process, Step
from tongs.template.values import Values


def create(executors: Mapping[str, Executor]) -> StepsExecutor:
    return StepsExecutor(executors)


@dataclass(frozen=True, slots=True)
class StepsExecutor:
    executors: Mapping[str, Executor]

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: Plan = tool.plan
        values = plan.values(arguments)
        # What a step will give is not known before it ran; its name stands for it.
        for step in plan.steps:
            values.update({f"{step.name}.{p}": f"<{step.name}.{p}>" for p in STEP_PROPERTIES})
        shown = []
        for number, step in enumerate(plan.steps, 1):
            title = f"# step {number} of {len(plan.steps)}: {step.name} ({_kind(step)})\n"
            shown.append((title if plan.several else "") + self._preview_step(step, values, world))
        return "\n\n".join(shown)

    def commands(
        self, tool: Tool, arguments: Mapping[str, Any], world: World
    ) -> Sequence[CommandLine]:
        """Every step's; a step that calls a tool is ruled when it does."""
        plan: Plan = tool.plan
        values = plan.values(arguments)
        for step in plan.steps:
            values.update({f"{step.name}.{p}": UNKNOWN_OUTPUT for p in STEP_PROPERTIES})
        return [
            line
            for step in plan.steps
            if not isinstance(step.action, Nested)
            for line in self._of(step).step_commands(step, values, tool, world)
        ]

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: Plan = context.tool.plan
        if not plan.several:
            step = plan.steps[0]
            completed, inner = await self._run(step, plan.values(arguments), context)
            return inner or result_of(completed, context.tool)
        return await self._sequence(plan, arguments, context)

    async def _sequence(
        self, plan: Plan, arguments: Mapping[str, Any], context: Context
    ) -> ToolResult:
        """Step after step, until one fails that may not. The result is the last step's."""
        progress = Progress(plan.values(arguments), len(plan.steps))
        for number, step in enumerate(plan.steps, 1):
            context.observe(StepStarted(step.name, number, progress.total))
            here = replace(
                context,
                whole_outputs=progress.whole,
                # Only the first step reads what the caller sent.
                call=context.call if number == 1 else replace(context.call, input=b""),
            )
            completed, inner = await self._run(step, progress.values, here)
            duration = completed.duration
            context.observe(
                StepEnded(step.name, number, progress.total, completed.exit_code, duration)
            )
            progress.took(step, completed, inner, context.tool)
            if progress.error is not None and not step.continue_on_error:
                break
        return progress.result(context.tool)

    async def _run(
        self, step: Step, values: Values, context: Context
    ) -> tuple[Completed, ToolResult | None]:
        """The step's process ending; for a nested call its result beside it."""
        if isinstance(step.action, Nested):
            result, duration = await _call(step, values, context)
            return _as_completed(result, duration), result
        return await self._of(step).run_step(step, values, context), None

    def _preview_step(self, step: Step, values: Values, world: World) -> str:
        if isinstance(step.action, Nested):
            given = step.arguments.render(values) if step.arguments else {}
            return visible(f"{step.action.called} {_json(given)}")
        return self._of(step).preview_step(step, values, world)

    def _of(self, step: Step) -> StepExecutor:
        executor = self.executors["process" if isinstance(step.action, Process) else "script"]
        assert isinstance(executor, StepExecutor)
        return executor


@dataclass(slots=True)
class Progress:
    """What a sequence knows after the steps so far."""

    values: dict[str, Any]
    total: int
    # Outputs with their final newline, for `input:`.
    whole: dict[str, str] = field(default_factory=dict)
    reports: list[dict[str, Any]] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: ToolError | None = None
    last: Completed | None = None
    value: Any = None
    attachments: tuple[Attachment, ...] = ()

    def took(self, step: Step, completed: Completed, inner: ToolResult | None, tool: Tool) -> None:
        if self.error is not None:
            # The step before was allowed to fail; its failure stays visible.
            self.warnings.append(f"{self.error.message} (continue-on-error)")
        self.last = completed
        self.value = None if inner is None else inner.value
        self.attachments = () if inner is None else inner.attachments
        self.error = _error(step, completed, inner, tool)
        self.reports.append(_report(step, completed))
        self.warnings += [f"{step.name}: {loss}" for loss in losses(completed)]
        _remember(step, completed, self.values, self.whole)

    def result(self, tool: Tool) -> ToolResult:
        assert self.last is not None, "the schema asks for at least one step"
        value: Any = self.value
        warnings: list[str] = []
        if value is None and self.error is None:
            value, warnings = structured(self.last, tool)
        return ToolResult(
            output=decoded(self.last.stdout),
            value=value,
            error=self.error,
            warnings=[*self.warnings, *warnings],
            metadata={
                "exitCode": self.last.exit_code,
                **ending(self.last),
                "steps": self.reports,
            },
            attachments=self.attachments,
        )


async def _call(step: Step, values: Values, context: Context) -> tuple[ToolResult, float]:
    assert isinstance(step.action, Nested)
    started = time.monotonic()
    with refused_values_named(step):
        arguments = step.arguments.render(values) if step.arguments else {}
        given = step.input.render({**values, **context.whole_outputs}) if step.input else None
    if not isinstance(arguments, dict):
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"step {step.name} calls {step.action.called} and must name its arguments",
            hint="write `arguments:` as a mapping of parameter names",
        )
    stdin = given.encode("utf-8", "surrogateescape") if isinstance(given, str) else b""
    result = await context.invoke(step.action.called, arguments, stdin)
    return result, time.monotonic() - started


def _as_completed(result: ToolResult, duration: float) -> Completed:
    """A nested result in the words of a process, so that later steps can refer to it."""
    code = result.metadata.get("exitCode")
    stdout = result.output.encode("utf-8", "surrogateescape")
    stderr = str(result.metadata.get("stderr", "")).encode("utf-8", "surrogateescape")
    return Completed(
        exit_code=code if isinstance(code, int) else 0 if result.ok else 1,
        signal=None,
        timed_out=False,
        duration=duration,
        stdout=stdout,
        stderr=stderr,
        output=stdout + stderr,
        stdout_size=len(stdout),
        stderr_size=len(stderr),
    )


def _remember(
    step: Step, completed: Completed, values: dict[str, Any], whole: dict[str, str]
) -> None:
    """Set `{step.output}` and its siblings; a reference loses one final newline."""
    for kind in ("output", "stdout", "stderr"):
        data: bytes = getattr(completed, kind)
        text = data.decode("utf-8", "surrogateescape")
        whole[f"{step.name}.{kind}"] = text
        values[f"{step.name}.{kind}"] = text.removesuffix("\n")
    code = completed.exit_code
    values[f"{step.name}.exit-code"] = -(completed.signal or 0) if code is None else code


def _error(
    step: Step, completed: Completed, inner: ToolResult | None, tool: Tool
) -> ToolError | None:
    if inner is None:
        error = failure(completed, f"step {step.name} of {tool.name}")
    elif inner.error is None:
        error = None
    else:
        error = ToolError(
            inner.error.code,
            f"step {step.name} of {tool.name}: {inner.error.message}",
            details=inner.error.details,
            blocked_by=inner.error.blocked_by,
        )
    if error is not None:
        error.details["step"] = step.name
    return error


def _report(step: Step, completed: Completed) -> dict[str, Any]:
    return {
        "name": step.name,
        "exitCode": completed.exit_code,
        "durationMs": round(completed.duration * 1000, 3),
        "stdout": decoded(completed.stdout),
        **ending(completed),
    }


def _kind(step: Step) -> str:
    action = step.action
    if isinstance(action, Nested):
        return "mcp" if action.server else "tool"
    return "run" if isinstance(action, Process) else action.shell


def _json(data: Any) -> str:
    import json  # noqa: PLC0415 - only a preview of a nested call

    return json.dumps(data, ensure_ascii=False)
