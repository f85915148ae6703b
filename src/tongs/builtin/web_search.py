"""`web_search` (seed 002), by the provider that the person's config names."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping, Sequence

from tongs.config.settings import Search, Settings
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions, Secret
from tongs.core.record import dataclass, field
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.template import url
from tongs.template.url import Address
from tongs.template.web import WebAnswer, WebHeader, WebRequest

# What every provider gives at most at once.
_MOST = 20
_USUAL = 5
_MESSAGE_TEXT = 300
_TAG = re.compile(r"<[^<>]{0,200}>")

_RESULT = {"title": {"type": "string"}, "url": {"type": "string"}, "snippet": {"type": "string"}}
_OUTPUT = {
    "type": "object",
    "properties": {
        "results": {
            "type": "array",
            "items": {"type": "object", "properties": _RESULT, "required": [*_RESULT]},
        }
    },
    "required": ["results"],
}


@dataclass(frozen=True, slots=True)
class Provider:
    """How one service is asked, and where its answers have what."""

    # The usual address; empty where each person has their own.
    base: str
    path: str
    # From a query, a count and a key.
    request: Callable[[str, int, str], tuple[str, str, tuple[WebHeader, ...], bytes]]
    # The keys that lead to the list of results, and the key of a snippet.
    results: tuple[str, ...]
    snippet: str
    needs_key: bool = True
    hints: Mapping[int, str] = field(default_factory=dict)


def _brave(query: str, count: int, key: str) -> tuple[str, str, tuple[WebHeader, ...], bytes]:
    accept = WebHeader("Accept", "application/json")
    found = url.form([("q", query), ("count", count)])
    return "GET", f"?{found}", (accept, WebHeader("X-Subscription-Token", key)), b""


def _searxng(query: str, count: int, key: str) -> tuple[str, str, tuple[WebHeader, ...], bytes]:
    found = url.form([("q", query), ("format", "json")])
    sent = (WebHeader("Authorization", f"Bearer {key}"),) if key else ()
    return "GET", f"?{found}", sent, b""


def _tavily(query: str, count: int, key: str) -> tuple[str, str, tuple[WebHeader, ...], bytes]:
    body = json.dumps({"query": query, "max_results": count}, ensure_ascii=False)
    sent = (
        WebHeader("Authorization", f"Bearer {key}"),
        WebHeader("Content-Type", "application/json"),
    )
    return "POST", "", sent, body.encode("utf-8", "replace")


_KEY_HINT = "look at the key in web.search.key"
PROVIDERS: Mapping[str, Provider] = {
    "brave": Provider(
        base="https://api.search.brave.com",
        path="/res/v1/web/search",
        request=_brave,
        results=("web", "results"),
        snippet="description",
        hints={401: _KEY_HINT, 403: _KEY_HINT, 422: _KEY_HINT},
    ),
    "searxng": Provider(
        base="",
        path="/search",
        request=_searxng,
        results=("results",),
        snippet="content",
        needs_key=False,
        hints={
            403: "let that SearXNG answer JSON: `search: {formats: [html, json]}`, settings.yml"
        },
    ),
    "tavily": Provider(
        base="https://api.tavily.com",
        path="/search",
        request=_tavily,
        results=("results",),
        snippet="content",
        hints={401: _KEY_HINT, 403: _KEY_HINT},
    ),
}


def tool(name: str, settings: Settings) -> Tool:
    search = settings.web.search
    plan, refusal = None, None
    try:
        plan = _plan(search)
    except ValueError as error:
        refusal = ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"web_search was not run: {error}",
            hint="write in config.yml: web: {search: {provider: brave, key: BRAVE_API_KEY}}",
        )
    secrets = (Secret(search.key),) if search.key else ()
    reach = () if plan is None else (plan.address.entry,)
    return Tool(
        name="web_search",
        description="Search the web. Returns titles, addresses and snippets.",
        input_schema={
            "type": "object",
            "properties": {
                "query": {"type": "string", "description": "What to look for"},
                "numResults": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": _MOST,
                    "default": _USUAL,
                    "description": "Most results",
                },
            },
            "required": ["query"],
            "additionalProperties": False,
        },
        output_schema=_OUTPUT,
        executor="web",
        plan=plan,
        tags=("read", "web"),
        permissions=Permissions(network=reach, secrets=secrets),
        timeout=30.0,
        automatic=True,
        refusal=refusal,
    )


def _plan(search: Search) -> Searching:
    """Raises ValueError with what is missing in the config."""
    if not search.provider:
        raise ValueError("no search provider is configured")
    provider = PROVIDERS[search.provider]
    base = search.url or provider.base
    if not base:
        raise ValueError(f"web.search.url must say where your {search.provider} is")
    if provider.needs_key and not search.key:
        raise ValueError(f"web.search.key must name the secret with the key of {search.provider}")
    try:
        address, rest = url.divided(base)
    except ValueError as error:
        raise ValueError(f"web.search.url is no address: {error}") from None
    return Searching(search.provider, search.key, address, rest.rstrip("/") + provider.path)


@dataclass(frozen=True, slots=True)
class Searching:
    """The plan of `web_search`. The address is the person's, never the caller's."""

    provider: str
    key: str
    address: Address
    path: str
    timeout: float = 30
    error_bytes: int = 64 * 1024
    follows: None = None

    def request(self, arguments: Mapping[str, Any], environment: Mapping[str, str]) -> WebRequest:
        return self._asked(arguments, environment.get(self.key, ""))

    def shown(self, arguments: Mapping[str, Any]) -> WebRequest:
        return self._asked(arguments, f"<{self.key}>" if self.key else "")

    def _asked(self, arguments: Mapping[str, Any], key: str) -> WebRequest:
        provider = PROVIDERS[self.provider]
        count = arguments.get("numResults", _USUAL)
        method, rest, headers, body = provider.request(arguments["query"], count, key)
        return WebRequest(method, self.address, self.path + rest, headers, body)

    def result(self, answer: WebAnswer, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        provider = PROVIDERS[self.provider]
        if not answer.ok:
            return ToolResult(error=self._failed(answer, name, provider))
        try:
            found = _listed(json.loads(answer.text), provider.results)
        except (ValueError, RecursionError):
            raise ToolError(
                ErrorCode.HTTP_ERROR,
                f"{name} failed: the answer of {self.provider} is not what its API promises",
                details={"status": answer.status, "body": visible(answer.text[:2000])},
                hint="look at web.search.provider and web.search.url",
            ) from None
        # SearXNG takes no count.
        return _results(found[: arguments.get("numResults", _USUAL)], provider.snippet)

    def _failed(self, answer: WebAnswer, name: str, provider: Provider) -> ToolError:
        short = " ".join(visible(answer.text).split())[:_MESSAGE_TEXT]
        return ToolError(
            ErrorCode.HTTP_ERROR,
            f"{name} failed: {self.provider} answered {answer.status}"
            + (f": {short}" if short else ""),
            details={"status": answer.status, "url": answer.url},
            hint=provider.hints.get(answer.status, ""),
        )


def _listed(data: Any, keys: Sequence[str]) -> list[Any]:
    """Raises ValueError for data of another shape."""
    for key in keys:
        if not isinstance(data, dict):
            raise ValueError("no object")
        # Brave leaves `web` out where it has found nothing.
        data = data.get(key, {} if key != keys[-1] else [])
    if not isinstance(data, list):
        raise ValueError("no list")
    return data


def _results(found: Sequence[Any], snippet: str) -> ToolResult:
    results = [
        {
            "title": _plain(item.get("title")),
            "url": str(item.get("url") or ""),
            "snippet": _plain(item.get(snippet)),
        }
        for item in found
        if isinstance(item, dict)
    ]
    lines = [
        f"{number}. {each['title']}\n   {each['url']}\n   {each['snippet']}\n"
        for number, each in enumerate(results, 1)
    ]
    return ToolResult(output="\n".join(lines) or "no results\n", value={"results": results})


def _plain(text: Any) -> str:
    """Snippets mark the words that were found, as HTML."""
    return " ".join(html.unescape(_TAG.sub("", str(text or ""))).split())
