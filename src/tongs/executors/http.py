"""Sends the request of a manifest (seed 004, `exec.http`). Tongs itself does, not a process."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.execution import Context, Executor, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.http_request import Request, built, shown, without_secrets
from tongs.executors.http_sender import Sender, Terms
from tongs.executors.keeping import held
from tongs.executors.manifest import refused
from tongs.template.manifest import HttpPlan
from tongs.template.values import ValueRefused, Values


def create(executors: Mapping[str, Executor]) -> HttpExecutor:
    return HttpExecutor()


class HttpExecutor:
    # No code of the tool runs: it touches no file, and the only host it reaches is checked here.
    walls = ("network", "fs.read", "fs.write")

    def __init__(self) -> None:
        self._sender = Sender()

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: HttpPlan = tool.plan
        try:
            return shown(plan, arguments)
        except ValueRefused as refusal:
            raise refused(tool, plan.names, refusal) from None

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool = context.tool
        plan: HttpPlan = tool.plan
        values = plan.names.values(arguments, context.world.environment)
        try:
            request = built(plan, values)
        except ValueRefused as refusal:
            raise refused(tool, plan.names, refusal) from None
        return await self._sent(request, values, context)

    async def _sent(self, request: Request, values: Values, context: Context) -> ToolResult:
        plan: HttpPlan = context.tool.plan
        terms = Terms(plan.retries, plan.redirects, plan.max_bytes)

        def shown(url: str) -> str:
            return without_secrets(url, plan.names, values)

        try:
            answer = await self._sender.send(request, terms, context, shown)
        except ToolError as error:
            return ToolResult(error=error)
        from tongs.executors.http_response import result_of  # noqa: PLC0415 - slow to load

        redact = str if context.redactor is None else context.redactor.text
        url = shown(answer.request.url)
        return held(result_of(answer, plan, context.tool.name, url, redact), context)
