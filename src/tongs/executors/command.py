"""Starts the program of a manifest (seed 004, `exec.command`)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, CommandLine, Completed, Context, Executor, World
from tongs.core.permissions import absolute
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.json_output import promised
from tongs.executors.manifest import TIME, directory, left, refuse_nul, refused
from tongs.executors.step import ending, failure, last_words, losses
from tongs.output import decoded, visible
from tongs.template import dollar
from tongs.template.manifest import CommandPlan
from tongs.template.values import ABSENT, ValueRefused, Values, plain_text, utf8


def create(executors: Mapping[str, Executor]) -> CommandExecutor:
    return CommandExecutor()


@dataclass(frozen=True, slots=True)
class CommandExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: CommandPlan = tool.plan
        values = plan.names.shown(arguments)
        text = visible(shlex.join((plan.entrypoint, *dollar.words(plan.args, values))))
        if (stdin := _stdin(plan, values)) is not None:
            text += f"\n# stdin: {visible(decoded(stdin))!r}"
        return text

    def commands(
        self, tool: Tool, arguments: Mapping[str, Any], world: World
    ) -> Sequence[CommandLine]:
        plan: CommandPlan = tool.plan
        values = plan.names.shown(arguments)
        place = world.place
        given = ABSENT if plan.cwd is None else plan.cwd.value(values)
        cwd = place.start
        if isinstance(given, str) and given and "\0" not in given:
            cwd = absolute(given, tool.origin.project or place.root, place.home)
        stdin = _stdin(plan, values) or b""
        argv = (plan.entrypoint, *dollar.words(plan.args, values))
        return (CommandLine(cwd, argv=argv, stdin=decoded(stdin)),)

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: CommandPlan = context.tool.plan
        values = plan.names.values(arguments, context.world.environment)
        try:
            if plan.line is not None:
                plan.line.refuse_options(values)
        except ValueRefused as refusal:
            raise refused(context.tool, plan.names, refusal) from None
        added = {name: text.value(values) for name, text in plan.env.items()}
        stdin = _stdin(plan, values)
        command = Command(
            argv=(plan.entrypoint, *dollar.words(plan.args, values)),
            environment={
                **context.world.environment,
                "TMPDIR": context.session.scratch,
                **{n: plain_text(v) for n, v in added.items() if v is not ABSENT},
            },
            cwd=directory(plan.cwd, values, context),
            stdin=context.call.input if stdin is None else stdin,
            timeout=left(context),
        )
        refuse_nul(command, context.tool)
        completed = await context.session.run(command, context.observe)
        return _result(completed, context.tool)


def _stdin(plan: CommandPlan, values: Values) -> bytes | None:
    if plan.stdin is None:
        return None
    given = dollar.filled(plan.stdin, values)
    if given is ABSENT:
        return b""
    return utf8(given if isinstance(given, str) else json.dumps(given, ensure_ascii=False))


def _result(completed: Completed, tool: Tool) -> ToolResult:
    plan: CommandPlan = tool.plan
    output = decoded(completed.stdout)
    error = None
    if completed.exit_code not in plan.exit_codes_ok:
        error = failure(completed, tool.name, time=TIME) or ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{tool.name} ended with exit code {completed.exit_code}, which its manifest does not"
            " count as success",
            details={"exitCode": completed.exit_code, "stderr": last_words(completed)},
        )
    value, warnings = promised(completed) if plan.json and error is None else (None, [])
    return ToolResult(
        output=output,
        value=value,
        error=error,
        warnings=(*losses(completed), *warnings),
        metadata={"exitCode": completed.exit_code, **ending(completed)},
    )
