"""Calls a function of the program itself (seeds 001 and 002). Nothing confines it."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, Executor, NoProcesses, World
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.keeping import held
from tongs.library.answers import error_of, result_of
from tongs.library.calling import function_of
from tongs.output import visible

_MORE_TIME = "give it more time with `timeout`, in seconds; None for no limit"


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
        # What runs in the thread of its caller cannot be ended from outside.
        stoppable = tool.blocking and context.waiter.leaves_work
        try:
            if tool.blocking:
                answer = await _blocking(function, arguments, context)
            else:
                answer = function(arguments)
            if hasattr(answer, "__await__"):
                stoppable = True
                answer = await _awaited(answer, context)
        except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a tool may raise anything
            result = ToolResult(error=error_of(error, tool.name))
        else:
            result = held(result_of(answer), context)
        return result if stoppable else _unstopped(result, context)


async def _blocking(function: Any, arguments: Mapping[str, Any], context: Context) -> Any:
    try:
        return await context.waiter.blocking(lambda: function(arguments), _left(context))
    except TimeoutError as error:
        raise _late(
            error, context, "did not end", "its thread cannot be ended and goes on"
        ) from error


async def _awaited(answer: Any, context: Context) -> Any:
    try:
        return await context.waiter.awaited(answer, _left(context))
    except TimeoutError as error:
        raise _late(error, context, "was stopped") from error


def _left(context: Context) -> float | None:
    """Seconds until the call has to be over."""
    return None if context.deadline is None else max(0.0, context.deadline - time.monotonic())


def _late(error: TimeoutError, context: Context, what: str, rest: str = "") -> Exception:
    if context.deadline is None or time.monotonic() < context.deadline:
        return error  # the tool's own
    name, limit = context.tool.name, context.tool.timeout
    took = f" after {limit:g} s" if limit is not None else " in time"
    return ToolError(
        ErrorCode.TIMEOUT, f"{name} {what}{took}{f': {rest}' if rest else ''}", hint=_MORE_TIME
    )


def _unstopped(result: ToolResult, context: Context) -> ToolResult:
    """Nothing held a plain function to its timeout, and the result says so."""
    if context.deadline is None:
        return result
    assert isinstance(context.session, NoProcesses)
    context.session.lacks("timeout")
    late = time.monotonic() - context.deadline
    if late <= 0:
        return result
    warning = (
        f"{context.tool.name} took {late:.1f} s longer than its timeout: a plain function runs to"
        " its end; an async one can be stopped, and on an event loop one with blocking=True"
    )
    return replace(result, warnings=(*result.warnings, warning))
