"""Calls a function of the program itself (seeds 001 and 002). Nothing confines it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, Executor, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.library.answers import error_of, result_of
from tongs.library.calling import function_of
from tongs.output import visible


def create(executors: Mapping[str, Executor]) -> FunctionExecutor:
    return FunctionExecutor()


class FunctionExecutor:
    """The function has the rights of the program, and shares its memory: no wall is possible."""

    walls = ()
    lacks = ("network", "fs.read", "fs.write", "environment", "limits")

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        words = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return f"{visible(f'{tool.name}({words})')}\n# in the program itself, not confined"

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool = context.tool
        function = function_of(tool)
        try:
            if tool.blocking:
                answer = await context.waiter.blocking(lambda: function(arguments))
            else:
                answer = function(arguments)
            if hasattr(answer, "__await__"):
                answer = await _awaited(answer, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a tool may raise anything
            return ToolResult(error=error_of(error, tool.name))
        return result_of(answer)


async def _awaited(answer: Any, context: Context) -> Any:
    if context.deadline is None:
        return await context.waiter.awaited(answer, None)
    left = max(0.0, context.deadline - time.monotonic())
    try:
        return await context.waiter.awaited(answer, left)
    except TimeoutError as error:
        if time.monotonic() < context.deadline:
            raise  # the tool's own
        name, limit = context.tool.name, context.tool.timeout
        took = f" after {limit:g} s" if limit is not None else ""
        raise ToolError(ErrorCode.TIMEOUT, f"{name} was stopped{took}") from error
