"""Runs an executable with its arguments as JSON on stdin (seed 003)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Completed, Context, Executor, World
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.json_output import read_with_gaps
from tongs.executors.step import ending, failure, last_words, losses
from tongs.output import decoded, visible

RUN = "run"


def create(executors: Mapping[str, Executor]) -> ExecutableExecutor:
    return ExecutableExecutor()


@dataclass(frozen=True, slots=True)
class ExecutableExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        given = json.dumps(dict(arguments), ensure_ascii=False)
        return f"{visible(tool.plan.path)} {RUN}\n# stdin: {visible(given)}"

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool = context.tool
        path = tool.plan.path
        if tool.plan.data is not None:
            # The very bytes that were accepted, whatever has become of the file meanwhile.
            path = context.session.write(tool.name, tool.plan.data)
        left = None
        if context.deadline is not None:
            left = max(0.0, context.deadline - time.monotonic())
        command = Command(
            argv=(path, RUN),
            environment={**context.world.environment, "TMPDIR": context.session.scratch},
            cwd=context.world.place.start,
            stdin=json.dumps(dict(arguments), ensure_ascii=False).encode("utf-8", "replace"),
            timeout=left,
        )
        completed = await context.session.run(command, context.observe)
        return _result(completed, tool)


def _result(completed: Completed, tool: Tool) -> ToolResult:
    output = decoded(completed.stdout)
    value = _parsed(output)
    error = failure(completed, tool.name, time='its `config`, which may print {"timeout": "5m"}')
    told = _told(value) or (_told(_parsed(decoded(completed.stderr))) if error else None)
    if told is not None and not completed.timed_out and not completed.exceeded:
        error = _as_error(told, completed, tool)
    return ToolResult(
        output=output,
        value=value,
        error=error,
        warnings=losses(completed),
        metadata={
            "exitCode": completed.exit_code,
            "executionTime": round(completed.duration * 1000, 3),
            **ending(completed),
        },
    )


def _parsed(text: str) -> Any:
    """The text as JSON, where it is an object or a list; other text means itself."""
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[")):
        return None
    try:
        return read_with_gaps(text)
    except ValueError:
        return None


def _told(value: Any) -> Mapping[str, Any] | None:
    """A structured error: an object with a text under `error`."""
    if isinstance(value, dict) and isinstance(value.get("error"), str):
        return value
    return None


def _as_error(told: Mapping[str, Any], completed: Completed, tool: Tool) -> ToolError:
    details: dict[str, Any] = {"exitCode": completed.exit_code}
    if stderr := last_words(completed):
        details["stderr"] = stderr
    if "details" in told:
        details["details"] = told["details"]
    return ToolError(
        ErrorCode.EXECUTION_ERROR, f"{tool.name} failed: {told['error']}", details=details
    )
