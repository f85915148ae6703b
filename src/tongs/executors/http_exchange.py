"""Sends the request of a call and follows where it leads: redirects, retries, limits."""

from __future__ import annotations

import email.utils
import ssl
import time
from collections.abc import Callable

import httpcore2
import httpx2

from tongs.core import hosts
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.executors.http_connection import (
    CheckedNetwork,
    CheckedTransport,
    Clock,
    causes,
)
from tongs.executors.http_redirect import REDIRECTS, redirected
from tongs.executors.http_request import Request
from tongs.executors.http_sender import Terms
from tongs.policy import grants
from tongs.policy.reach import Reach, read_hosts
from tongs.template.url import Address

# Answers that may be another one soon.
FOR_THE_MOMENT = frozenset({429, 502, 503, 504})

_ENCODINGS = frozenset({"", "identity", "gzip", "x-gzip", "deflate"})
_FIRST_PAUSE = 0.5


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back at the end, and how long the way to it was."""

    status: int
    reason: str
    headers: httpx2.Headers
    body: bytes
    request: Request
    redirects: int = 0
    retries: int = 0

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300


class Exchange:
    """One call. `run` blocks; `give_up` may be called by another thread meanwhile."""

    def __init__(
        self, terms: Terms, context: Context, secured: Callable[[], ssl.SSLContext]
    ) -> None:
        self._terms = terms
        self._context = context
        self._secured = secured
        self._clock = Clock(context.deadline)
        self._reach = Reach(context.private_hosts, context.world.place)
        self._network: CheckedNetwork | None = None
        self._retries = 0
        # Where it is, for whoever has to say what went wrong.
        self.request: Request | None = None

    def run(self, request: Request) -> Answer:
        """Raises ToolError, TimeoutError, OSError, or an error of httpcore2 or httpx2."""
        redirects = 0
        while True:
            self.request = request
            self._check_permission(request.address)
            status, reason, headers, body = self._attempted(request)
            location = headers.get("location")
            if status not in REDIRECTS or location is None or not self._terms.redirects:
                return Answer(status, reason, headers, body, request, redirects, self._retries)
            if redirects == self._terms.redirects:
                raise ToolError(
                    ErrorCode.HTTP_ERROR,
                    f"{self._context.tool.name} was redirected more than {redirects} times",
                    details={"status": status},
                    hint=self._advice("raise `redirects` in {} if that is the way to the answer"),
                )
            request = redirected(request, status, location)
            self._terms.follow(request.address)
            redirects += 1

    def give_up(self) -> None:
        self._clock.end()
        if self._network is not None:
            self._network.hang_up()

    def _advice(self, text: str) -> str:
        return text.format(self._terms.written_in) if self._terms.written_in else ""

    def _check_permission(self, address: Address) -> None:
        """The list of hosts holds for every place a redirect leads to, too."""
        allowed = self._context.permissions.network
        if allowed is True:
            return
        entries = read_hosts("permissions.network", allowed or (), hosts.parse)
        if hosts.allowed(entries, address.host, address.port):
            return
        raise grants.refused(
            ErrorCode.PERMISSION_DENIED,
            f"may not reach {address.entry}",
            Permissions(network=(address.entry,)),
            allowed or (),
            self._context,
        )

    def _attempted(self, request: Request) -> tuple[int, str, httpx2.Headers, bytes]:
        """Once; or as often as the manifest wants, where the trouble is one of the moment."""
        while True:
            trouble: Exception | None = None
            answer = None
            try:
                answer = self._sent(request)
            except (httpcore2.ConnectError, OSError) as error:
                # Neither the clock nor a certificate is another one a moment later.
                if any(isinstance(each, TimeoutError | ssl.SSLError) for each in causes(error)):
                    raise
                trouble = error
            pause = self._pause(answer)
            if answer is not None and (answer[0] not in FOR_THE_MOMENT or pause is None):
                return answer
            if trouble is not None and pause is None:
                raise trouble
            self._retries += 1
            self._clock.pause(pause or 0)

    def _pause(self, answer: tuple[int, str, httpx2.Headers, bytes] | None) -> float | None:
        """Seconds until the next attempt; None where there is to be none."""
        if self._retries >= self._terms.retries:
            return None
        wished = None if answer is None else _retry_after(answer[2].get("retry-after", ""))
        pause = _FIRST_PAUSE * 2**self._retries if wished is None else wished
        left = self._clock.left()
        return pause if left is None or pause < left else None

    def _sent(self, request: Request) -> tuple[int, str, httpx2.Headers, bytes]:
        self._network = CheckedNetwork(self._reach, self._clock)
        secured = self._secured() if request.address.scheme == "https" else None
        # A transport per request, and no client: no cookie, no connection and no setting of the
        # machine goes along, and nobody looks at a redirect before we do.
        with CheckedTransport(self._network, secured) as transport:
            response = transport.handle_request(_message(request))
            try:
                return (
                    response.status_code,
                    response.reason_phrase,
                    response.headers,
                    self._body(response),
                )
            finally:
                response.close()

    def _body(self, response: httpx2.Response) -> bytes:
        encoding = response.headers.get("content-encoding", "").strip().lower()
        if encoding not in _ENCODINGS:
            # Several at once are how little data becomes any amount of work.
            raise ToolError(
                ErrorCode.HTTP_ERROR,
                f"the answer is encoded as {encoding[:40]!r}; only gzip and deflate are read",
                details={"status": response.status_code},
            )
        good = response.is_success
        terms = self._terms
        most = terms.max_bytes if good else min(terms.error_bytes, terms.max_bytes)
        found = bytearray()
        for piece in response.iter_bytes():
            self._clock.left()
            found += piece
            if len(found) > most:
                if not good:
                    return bytes(found[:most])
                raise ToolError(
                    ErrorCode.HTTP_ERROR,
                    f"the answer is larger than {most} bytes, and was not read to its end",
                    details={"status": response.status_code},
                    hint=self._advice("raise `max_bytes` in {}, or ask for less"),
                )
        return bytes(found)


def _message(request: Request) -> httpx2.Request:
    address = request.address
    return httpx2.Request(
        request.method,
        httpx2.URL(scheme=address.scheme, host=address.host, port=address.port),
        headers=[
            (header.name.encode(), header.value.encode("utf-8", "replace"))
            for header in request.headers
        ],
        content=request.body or None,
        # The client would tidy the path up, and change what was checked.
        extensions={"target": request.target.encode()},
    )


def _retry_after(written: str) -> float | None:
    """Seconds, or a date."""
    if written.isascii() and written.isdigit():
        return float(written[:9])
    try:
        moment = email.utils.parsedate_to_datetime(written)
    except ValueError:
        return None
    return max(0.0, moment.timestamp() - time.time())
