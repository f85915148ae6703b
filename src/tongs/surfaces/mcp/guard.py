"""Who may speak to the HTTP server at all: checked before anything of a request is read.

A web page in the person's browser can send requests to this machine, also under a name of its own
that it lets point here (DNS rebinding). So a request has to name a known host, and one that a page
has sent has to come from a known page. Then comes the token.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, Iterable, Mapping
from urllib.parse import urlsplit

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass

Scope: TypeAlias = Mapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[dict[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Any, Any, Any], Awaitable[None]]

PATH = "/mcp"
HEALTH = "/health"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
_LISTEN = "subscriptions/listen"
_METHODS = "GET, POST, DELETE, OPTIONS"
_HEADERS = "authorization, content-type, last-event-id, mcp-method, mcp-name"
_HEADERS += ", mcp-protocol-version, mcp-session-id"


@dataclass(frozen=True, slots=True)
class Refusal:
    status: int
    text: str
    headers: tuple[tuple[str, str], ...] = ()


class Guard:
    """Passes a request on to `inner`, or answers it itself.

    `hosts` are names, with a port where only that one counts; `origins` are as a browser sends
    them. Those of loopback are always known, but only a page of `origins` may read an answer.
    """

    def __init__(
        self,
        inner: Application,
        *,
        token: str | None = None,
        hosts: Iterable[str] = (),
        origins: Iterable[str] = (),
        stateless: bool = True,
    ) -> None:
        self._inner = inner
        self._token = None if token is None else token.encode("utf-8", "surrogateescape")
        self._hosts = {host.lower() for host in hosts}
        self._origins = {origin.lower().rstrip("/") for origin in origins}
        self._stateless = stateless
        # Requests that are being answered, but for those that listen until somebody ends.
        self.busy = 0
        # Nothing new is begun.
        self.closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        headers = _single(scope["headers"])
        if self.closing:
            await _answer(send, Refusal(503, "it is ending\n", (("Connection", "close"),)))
            return
        if scope["path"] == HEALTH:
            # For a balancer, which knows no name and no token; it tells nothing.
            await _answer(send, Refusal(200, "ok\n"))
            return
        shared = self._shared(headers.get("origin", ""))
        if (refusal := self.refusal(scope["method"], scope["path"], headers)) is not None:
            await _answer(send, refusal, shared)
        elif scope["method"] == "OPTIONS":
            await _answer(send, Refusal(204, ""), shared)
        else:
            await self._pass(scope, receive, _adding(shared, send), headers)

    async def _pass(
        self, scope: Scope, receive: Receive, send: Send, headers: Mapping[str, str]
    ) -> None:
        counts = scope["method"] == "POST" and headers.get("mcp-method") != _LISTEN
        self.busy += counts
        try:
            await self._inner(scope, receive, send)
        finally:
            self.busy -= counts

    def refusal(self, method: str, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is not passed on; None where it is."""
        if not self._knows_host(headers.get("host", "")):
            return Refusal(421, "this host name is not known here; hint: --allow-host NAME\n")
        origin = headers.get("origin")
        if origin is not None and not self._knows_origin(origin):
            return Refusal(403, "this origin is not allowed; hint: --allow-origin URL\n")
        if method == "OPTIONS":
            # A browser asks without the token whether it may ask with it.
            return None
        if not self._knows_token(headers.get("authorization", "")):
            challenge = ("WWW-Authenticate", 'Bearer realm="tongs"')
            return Refusal(401, "a bearer token is needed\n", (challenge,))
        if path != PATH:
            return Refusal(404, f"MCP is spoken at {PATH}\n")
        if self._stateless and method != "POST":
            return Refusal(
                405, "there are no sessions here; hint: --sessions\n", (("Allow", "POST"),)
            )
        return None

    def _knows_host(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        return name is not None and (
            name in LOOPBACK or {name, host.lower()} & self._hosts != set()
        )

    def _knows_origin(self, origin: str) -> bool:
        if origin.lower() in self._origins:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and parts.hostname in LOOPBACK

    def _knows_token(self, authorization: str) -> bool:
        if self._token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        # In constant time, so that nobody finds it out letter by letter.
        same = hmac.compare_digest(given.strip().encode("latin-1", "replace"), self._token)
        return same and scheme.lower() == "bearer"

    def _shared(self, origin: str) -> tuple[tuple[str, str], ...]:
        """The headers by which a browser lets a page read the answer."""
        if origin.lower() not in self._origins:
            return ()
        return (
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Allow-Methods", _METHODS),
            ("Access-Control-Allow-Headers", _HEADERS),
            ("Access-Control-Expose-Headers", "mcp-session-id, www-authenticate"),
            ("Vary", "Origin"),
        )


def _single(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """Headers by name. One that is there twice is none: two readers would pick different ones."""
    found: dict[str, str] = {}
    for raw, value in headers:
        name = raw.decode("latin-1").lower()
        found[name] = "\0" if name in found else value.decode("latin-1")
    return found


def _adding(headers: tuple[tuple[str, str], ...], send: Send) -> Send:
    if not headers:
        return send

    async def add(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", ()), *_raw(headers)]}
        await send(message)

    return add


async def _answer(send: Send, answer: Refusal, more: tuple[tuple[str, str], ...] = ()) -> None:
    body = answer.text.encode()
    headers = [("Content-Type", "text/plain; charset=utf-8"), ("Content-Length", str(len(body)))]
    start = {"type": "http.response.start", "status": answer.status}
    await send({**start, "headers": _raw((*headers, *answer.headers, *more))})
    await send({"type": "http.response.body", "body": body})


def _raw(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
