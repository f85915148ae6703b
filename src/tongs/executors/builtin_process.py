"""Runs the tools that come with Tongs and start a process: it starts in the call's session."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.execution import Builtin, Context, Executor, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool


def create(executors: Mapping[str, Executor]) -> BuiltinProcessExecutor:
    return BuiltinProcessExecutor()


class BuiltinProcessExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: Builtin = tool.plan
        return plan.preview(arguments, world)

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: Builtin = context.tool.plan
        return await plan.run(arguments, context)
