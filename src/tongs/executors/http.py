"""Sends the request of a manifest (seed 004, `exec.http`). Tongs itself does, not a process."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, Executor, World
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.http_request import Request, built, shown, without_secrets
from tongs.output import decoded
from tongs.template.manifest import HttpPlan
from tongs.template.values import ValueRefused, Values, utf8

if TYPE_CHECKING:
    import ssl


def create(executors: Mapping[str, Executor]) -> HttpExecutor:
    return HttpExecutor()


class HttpExecutor:
    # No code of the tool runs: it touches no file, and the only host it reaches is checked here.
    walls = ("network", "fs.read", "fs.write")

    def __init__(self) -> None:
        self._secured: ssl.SSLContext | None = None

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: HttpPlan = tool.plan
        try:
            return shown(plan, arguments)
        except ValueRefused as refused:
            raise _refused(tool, plan, refused) from None

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool = context.tool
        plan: HttpPlan = tool.plan
        values = plan.names.values(arguments, context.world.environment)
        try:
            request = built(plan, values)
        except ValueRefused as refused:
            raise _refused(tool, plan, refused) from None
        return await self._sent(request, values, context)

    async def _sent(self, request: Request, values: Values, context: Context) -> ToolResult:
        # Only a call needs them, and the library below is slow to load.
        from tongs.executors.http_exchange import Exchange  # noqa: PLC0415 - see above
        from tongs.executors.http_response import failure, result_of  # noqa: PLC0415 - as above

        tool = context.tool
        plan: HttpPlan = tool.plan
        exchange = Exchange(plan, context, self._context)

        def url() -> str:
            return without_secrets((exchange.request or request).url, plan.names, values)

        try:
            answer = await context.waiter.blocking(lambda: exchange.run(request))
        except ToolError as error:
            error.details.setdefault("url", url())
            return ToolResult(error=error)
        except _troubles() as error:
            host = (exchange.request or request).address.authority
            return ToolResult(error=failure(error, tool.name, url(), host))
        except BaseException:
            # The thread that waits must not outlive a call that was cancelled.
            exchange.give_up()
            raise
        redact = str if context.redactor is None else context.redactor.text
        return _held(result_of(answer, plan, tool.name, url(), redact), context, redact)

    def _context(self) -> ssl.SSLContext:
        """Made once: reading the certificates of the machine takes longer than most requests."""
        if self._secured is None:
            import httpx2  # noqa: PLC0415 - https only

            self._secured = httpx2.create_ssl_context(trust_env=False)
        return self._secured


def _held(result: ToolResult, context: Context, redact: Callable[[str], str]) -> ToolResult:
    """The text of an answer is held to limits.output, as that of a process; its value is not."""
    text = utf8(redact(result.output))
    kept = context.keep(text)
    if len(kept.data) == len(text):
        return result
    from tongs.executors.step import cut  # noqa: PLC0415 - large answers only

    notice = cut(len(kept.data), len(text), kept.handle, kept.lost)
    facts: dict[str, Any] = {"outputSize": len(text)}
    if kept.handle is not None:
        facts = {"outputHandle": kept.handle, **facts}
    return replace(
        result,
        output=decoded(kept.data),
        warnings=[*result.warnings, notice],
        metadata={**result.metadata, **facts},
    )


def _troubles() -> tuple[type[Exception], ...]:
    """What a network, and whoever answers on it, can do to a call."""
    import httpcore2  # noqa: PLC0415 - only a call needs them
    import httpx2  # noqa: PLC0415 - as above

    core = (httpcore2.NetworkError, httpcore2.TimeoutException, httpcore2.ProtocolError)
    return (OSError, *core, httpx2.DecodingError)


def _refused(tool: Tool, plan: HttpPlan, refused: ValueRefused) -> ToolError:
    what = f"the secret {refused.name}" if refused.name in plan.names.secrets else refused.name
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} was not run: {what} {refused.reason}",
        details={"parameter": refused.name},
    )
