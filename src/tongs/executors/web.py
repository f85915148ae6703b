"""Sends the requests of the built-in web tools. As with http tools, no process does."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tongs.core import hosts
from tongs.core.annotations import Any
from tongs.core.call import CallerKind
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Context, Executor, World
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.http_request import Header, Request, usual_headers
from tongs.executors.http_sender import Sender, Terms
from tongs.executors.keeping import held
from tongs.executors.timing import deadline
from tongs.output import decoded, visible
from tongs.template import url
from tongs.template.url import Address
from tongs.template.web import WebAnswer, WebPlan, WebRequest


def create(executors: Mapping[str, Executor]) -> WebExecutor:
    return WebExecutor()


class WebExecutor:
    # It touches no file, and every address is checked when it is connected to.
    walls = ("network", "fs.read", "fs.write")

    def __init__(self) -> None:
        self._sender = Sender()

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: WebPlan = tool.plan
        request = _sent(plan.shown(arguments))
        lines = [f"{request.method} {request.url}"]
        lines += [f"{header.name}: {header.value}" for header in request.headers]
        if request.body:
            lines += ["", decoded(request.body)]
        return visible("\n".join(lines))

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: WebPlan = context.tool.plan
        request = _sent(plan.request(arguments, context.world.environment))
        within = replace(context, deadline=deadline(arguments, context, plan.timeout))
        terms = Terms(
            error_bytes=plan.error_bytes,
            follow=_bounded(plan.follows, request.address, context),
            written_in="",
        )
        try:
            answer = await self._sender.send(request, terms, within, visible)
        except ToolError as error:
            if error.code is ErrorCode.TIMEOUT:
                error.details["hint"] = "give `timeout` more seconds"
            return ToolResult(error=error)
        from tongs.executors.http_response import text_of  # noqa: PLC0415 - slow to load

        told = WebAnswer(
            status=answer.status,
            reason=visible(answer.reason),
            url=visible(answer.request.url),
            headers={name.lower(): visible(value) for name, value in answer.headers.items()},
            body=answer.body,
            text=text_of(answer),
            redirects=answer.redirects,
        )
        # What is made of a page may take a while.
        name = context.tool.name
        result = await context.waiter.blocking(lambda: plan.result(told, name, arguments))
        said = {"status": told.status, "url": told.url, "bytes": len(told.body)}
        said |= {"contentType": told.type, "redirects": told.redirects}
        return held(replace(result, metadata={**said, **result.metadata}), context)


def _sent(request: WebRequest) -> Request:
    target = url.authors(request.rest)
    given = tuple(Header(each.name, each.value, each.private) for each in request.headers)
    return Request(
        request.method,
        request.address,
        target if target.startswith("/") else f"/{target}",
        (*given, *usual_headers(header.name for header in given)),
        request.body,
    )


def _bounded(
    follows: tuple[str, ...] | None, first: Address, context: Context
) -> Callable[[Address], None]:
    """Somebody allowed this host: where it leads to is another question, unless a person asked."""
    if follows is None or context.call.caller.kind is CallerKind.PERSON:
        return lambda address: None
    entries = [hosts.parse(entry) for entry in (first.entry, *follows)]

    def follow(address: Address) -> None:
        if not hosts.allowed(entries, address.host, address.port):
            raise ToolError(
                ErrorCode.PERMISSION_DENIED,
                f"{first.authority} redirects to {address.origin}, another host",
                details={"location": address.origin},
                blocked_by=BlockedBy.PERMISSION,
                hint="ask for that address itself, or name its host in web.allow",
            )

    return follow
