"""The request that a redirect asks for, as far as it may be sent."""

from __future__ import annotations

from urllib.parse import urljoin

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import replace
from tongs.executors.http_request import Request
from tongs.output import visible
from tongs.template import url

REDIRECTS = frozenset({301, 302, 303, 307, 308})

_OF_A_BODY = frozenset({"content-type", "content-encoding", "content-language"})


def redirected(request: Request, status: int, location: str) -> Request:
    """Raises ToolError where the target is no address, or would get what is not meant for it."""
    try:
        address, rest = url.divided(urljoin(request.url, location.strip()))
    except ValueError as error:
        raise ToolError(
            ErrorCode.HTTP_ERROR,
            f"{request.address.origin} redirects to {visible(location[:200])!r},"
            f" which cannot be followed: {error}",
            details={"status": status},
        ) from None
    target = url.authors(rest)
    follows = replace(
        request, address=address, target=target if target.startswith("/") else f"/{target}"
    )
    if status == 303 or (status in (301, 302) and request.method == "POST"):
        follows = _without_body(follows)
        if request.method not in ("GET", "HEAD"):
            follows = replace(follows, method="GET")
    same = address.keeps_secrets_of(request.address)
    if follows.body and not (same and status in (307, 308)):
        raise ToolError(
            ErrorCode.HTTP_ERROR,
            f"{request.address.origin} redirects the {request.method} to {address.origin}"
            f" ({status}); a body is sent again only to the same host, and for 307 or 308",
            details={"status": status},
            hint=f"if that is its new address, ask there: {follows.url}",
        )
    if same:
        return follows
    public = tuple(header for header in follows.headers if not header.private)
    return replace(follows, headers=public)


def _without_body(request: Request) -> Request:
    kept = tuple(h for h in request.headers if h.name.lower() not in _OF_A_BODY)
    return replace(request, headers=kept, body=b"")
