"""Runs the tools that come with Tongs and start no process: they are functions of Tongs itself."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.execution import Builtin, Context, Executor, World
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool


def create(executors: Mapping[str, Executor]) -> BuiltinExecutor:
    return BuiltinExecutor()


class BuiltinExecutor:
    # No code of a stranger runs: files are opened beneath the workspace by descriptor, hosts are
    # checked on the address that is connected to.
    walls = ("network", "fs.read", "fs.write")

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: Builtin = tool.plan
        return plan.preview(arguments, world)

    def at_stake(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> str:
        look = getattr(tool.plan, "at_stake", None)
        return "" if look is None else str(look(call, tool, world, permissions))

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: Builtin = context.tool.plan
        return await plan.run(arguments, context)
