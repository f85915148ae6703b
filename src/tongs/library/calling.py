"""Calling a tool of the program itself, alone or from the pipeline."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.library.answers import error_of, result_of


async def called(tool: Tool, call: ToolCall) -> ToolResult:
    """Validate and run, without a pipeline around it; never raises."""
    from tongs.schema.check import validated  # noqa: PLC0415 - for this, not for a definition

    try:
        arguments = validated(tool.input_schema, dict(call.arguments))
        answer = function_of(tool)(arguments)
        if hasattr(answer, "__await__"):
            answer = await answer
        result = result_of(answer)
    except Exception as error:  # noqa: BLE001 - the code of a tool may raise anything
        result = ToolResult(error=error_of(error, tool.name))
    return replace(result, tool_call_id=call.id)


def function_of(tool: Tool) -> Any:
    if tool.execute is None:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"{tool.name} cannot be run: it has no function",
            hint="Tool(…, execute=FUNCTION), or @tool on a function",
        )
    return tool.execute


def permissions_of(given: Permissions | Mapping[str, Any] | None) -> Permissions | None:
    """As an object, or as they stand in a file."""
    if given is None or isinstance(given, Permissions):
        return given
    return Permissions.given(given)
