"""`web_fetch` (seed 002; `fetch` of seed 001) and `http_request`: a URL that the caller chooses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping

from tongs.builtin import web_text
from tongs.config.settings import Settings
from tongs.core import hosts
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.template import headers, url
from tongs.template.web import WebAnswer, WebHeader, WebRequest

_LONGEST = 600
# What says nothing about who asks may be sent on to where a redirect leads.
_HARMLESS = frozenset({"accept", "accept-language", "user-agent"})
# They make a proxy or a server send back what it was sent, or hand over the connection.
_NO_METHODS = frozenset({"CONNECT", "TRACE", "TRACK"})
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
# So much of an answer stands in the message of an error.
_MESSAGE_TEXT = 300

_OUTPUT = {
    "type": "object",
    "properties": {
        "status": {"type": "integer"},
        "headers": {"type": "object", "additionalProperties": {"type": "string"}},
        "body": {"type": "string"},
    },
    "required": ["status", "headers", "body"],
}


def tool(name: str, settings: Settings) -> Tool:
    make = _web_fetch if name == "web_fetch" else _http_request
    try:
        return make(settings.web.allow)
    except ValueError as error:
        refusal = ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"{name} was not run: web.allow: {error}",
            hint="mend that entry in config.yml: a host, as in example.org or *.example.org",
        )
        return replace(make(()), refusal=refusal)


def _web_fetch(allow: tuple[str, ...]) -> Tool:
    return Tool(
        name="web_fetch",
        description=(
            "Fetch content from a URL. HTML comes as Markdown, other text as it is, of anything"
            " else type and size; 5 MB at most."
        ),
        input_schema=_schema(
            {
                "method": {
                    "type": "string",
                    "enum": ["GET", "POST"],
                    "description": "GET by default",
                },
                "body": {"type": "string", "description": "Body of a POST"},
            }
        ),
        output_schema=_OUTPUT,
        executor="web",
        plan=Fetch(allow),
        # What is sent leaves the machine, so it is more than reading.
        tags=("write", "web"),
        permissions=Permissions(network=True),
        timeout=None,
        automatic=_on_list(allow, ("GET", "POST")),
        approval_reason="its host is not in web.allow",
    )


def _http_request(allow: tuple[str, ...]) -> Tool:
    return Tool(
        name="http_request",
        description=(
            "Send an HTTP request with any method, and get the answer as it came, whatever its"
            " status."
        ),
        input_schema=_schema(
            {
                "method": {
                    "type": "string",
                    "pattern": "^[A-Za-z]{1,20}$",
                    "description": "GET by default",
                },
                "body": {"type": "string", "description": "Body as text"},
                "json": {
                    "type": ["object", "array", "string", "number", "boolean", "null"],
                    "description": "Body as JSON",
                },
            }
        ),
        output_schema=_OUTPUT,
        executor="web",
        plan=AnyRequest(allow),
        tags=("run", "web"),
        permissions=Permissions(network=True),
        timeout=None,
        automatic=_on_list(allow, _READING),
        approval_reason="its host is not in web.allow, or it changes something there",
    )


@dataclass(frozen=True, slots=True)
class Fetch:
    """The plan of `web_fetch`: an answer that is no success is an error."""

    follows: tuple[str, ...]
    timeout: float = 30
    error_bytes: int = 64 * 1024

    def request(self, arguments: Mapping[str, Any], environment: Mapping[str, str]) -> WebRequest:
        return request_of(arguments)

    def shown(self, arguments: Mapping[str, Any]) -> WebRequest:
        return request_of(arguments)

    def result(self, answer: WebAnswer, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        body = web_text.size_of(answer)
        if web_text.is_text(answer):
            body = web_text.page(answer) if answer.type in web_text.HTML else answer.text
        error = None if answer.ok else _failed(answer, name, body)
        return _found(answer, body, error)


@dataclass(frozen=True, slots=True)
class AnyRequest:
    """The plan of `http_request`: every answer is a result."""

    follows: tuple[str, ...]
    timeout: float = 30
    error_bytes: int = 5 * 1024 * 1024

    def request(self, arguments: Mapping[str, Any], environment: Mapping[str, str]) -> WebRequest:
        return request_of(arguments)

    def shown(self, arguments: Mapping[str, Any]) -> WebRequest:
        return request_of(arguments)

    def result(self, answer: WebAnswer, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        text = web_text.is_text(answer)
        return _found(answer, answer.text if text else web_text.size_of(answer))


def request_of(arguments: Mapping[str, Any]) -> WebRequest:
    """Raises ToolError for what is no URL, no header or no method that can be sent."""
    try:
        address, rest = url.divided(arguments["url"])
    except ValueError as error:
        raise _refused("url", f"{visible(arguments['url'][:200])!r} is no URL: {error}") from None
    method = str(arguments.get("method") or "GET").upper()
    if method in _NO_METHODS:
        raise _refused("method", f"{method} is not sent")
    given = [
        WebHeader(name, _value(name, value), name.lower() not in _HARMLESS)
        for name, value in (arguments.get("headers") or {}).items()
    ]
    names = {header.name.lower() for header in given}
    if len(names) < len(given):
        raise _refused("headers", "one header is given twice")
    body, kind = _body(arguments)
    if kind and "content-type" not in names:
        given.append(WebHeader("Content-Type", kind, private=False))
    return WebRequest(method, address, rest, tuple(given), body)


def _value(name: str, value: str) -> str:
    if not headers.is_name(name):
        raise _refused("headers", f"{visible(name[:80])!r} is no name of a header")
    if headers.is_set_by_tongs(name):
        raise _refused("headers", f"{name} is set by Tongs")
    if headers.has_control(value):
        raise _refused("headers", f"{name} has a line break or another control character")
    return value.strip(" \t")


def _body(arguments: Mapping[str, Any]) -> tuple[bytes, str]:
    """The bytes, and the type they have unless a header says another."""
    if "json" in arguments:
        if "body" in arguments:
            raise _refused("json", "`body` and `json` exclude each other")
        text = json.dumps(arguments["json"], ensure_ascii=False)
        return text.encode("utf-8", "replace"), "application/json"
    if "body" not in arguments:
        return b"", ""
    return str(arguments["body"]).encode("utf-8", "replace"), "text/plain; charset=utf-8"


def _found(answer: WebAnswer, body: str, error: ToolError | None = None) -> ToolResult:
    value = {"status": answer.status, "headers": dict(answer.headers), "body": body}
    return ToolResult(output=body, value=value, error=error)


def _failed(answer: WebAnswer, name: str, body: str) -> ToolError:
    short = " ".join(visible(body).split())[:_MESSAGE_TEXT]
    reason = f" {answer.reason}" if answer.reason else ""
    return ToolError(
        ErrorCode.HTTP_ERROR,
        f"{name} failed: {answer.url} answered {answer.status}{reason}"
        + (f": {short}" if short else ""),
        details={"status": answer.status, "url": answer.url},
    )


def _on_list(allow: Iterable[str], methods: Iterable[str]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a call is one that the person's list of hosts allows without asking.

    Raises ValueError for an entry that is no host.
    """
    entries = [hosts.parse(entry) for entry in allow]
    automatic = frozenset(methods)

    def check(arguments: Mapping[str, Any]) -> bool:
        try:
            request = request_of(arguments)
        except ToolError:
            return True  # refused anyway, and nobody needs to be asked for that
        at = request.address
        return request.method in automatic and hosts.allowed(entries, at.host, at.port)

    return check


def _refused(parameter: str, why: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"nothing was sent: {why}",
        details={"parameter": parameter},
    )


def _schema(own: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            "url": {"type": "string", "description": "URL to fetch (HTTP or HTTPS)"},
            **own,
            "headers": {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "Request headers",
            },
            "timeout": {
                "type": "number",
                "exclusiveMinimum": 0,
                "maximum": _LONGEST,
                "description": "Seconds, 30 by default",
            },
        },
        "required": ["url"],
        "additionalProperties": False,
    }
