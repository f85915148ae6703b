"""Connections of http tools: a name is resolved once, and the address that was checked is used.

Everything a request waits for ends with the deadline of its call, also where a host sends one byte
at a time. `httpcore2` does the talking; this is the part of it that opens sockets.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import httpcore2
import httpx2

from tongs.core import hosts
from tongs.core.annotations import Any
from tongs.policy.reach import Reach

# Of one name; more would only be tried in vain.
ADDRESSES = 8
# Seconds after which the next address of a name is tried.
_LATE = 3.0
# Most that is written before the clock is looked at.
_PIECE = 64 * 1024


class Clock:
    """The time a call has left, and whether somebody gave it up."""

    def __init__(self, deadline: float | None) -> None:
        self._deadline = deadline
        self._ended = threading.Event()

    def left(self) -> float | None:
        """Seconds; None where nothing bounds them. Raises TimeoutError when they are over."""
        if self._ended.is_set():
            raise TimeoutError
        if self._deadline is None:
            return None
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def end(self) -> None:
        self._ended.set()

    def pause(self, seconds: float) -> None:
        """Wait so long, unless the call ends before."""
        self._ended.wait(seconds)
        self.left()


def resolved(host: str, port: int, clock: Clock) -> list[str]:
    """The addresses of a host, as the system gives them. Raises OSError.

    The system's resolver takes no time limit, so it is left alone when the time is over.
    """
    if hosts.is_address(host):
        return [host]
    answer: list[Any] = []

    def ask() -> None:
        try:
            found = socket.getaddrinfo(host.encode(), port, 0, socket.SOCK_STREAM)
            answer.append([str(address[0]) for *_, address in found])
        except OSError as error:
            answer.append(error)

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    asking.join(clock.left())
    if not answer:
        raise TimeoutError
    if isinstance(answer[0], OSError):
        raise answer[0]
    return list(dict.fromkeys(answer[0]))


def causes(error: BaseException) -> Iterator[BaseException]:
    """From the outermost to the first; httpcore2 hides them, but keeps them."""
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


class _Stream(httpcore2.NetworkStream):
    """A connection whose every operation ends with the call."""

    def __init__(self, stream: httpcore2.NetworkStream, clock: Clock) -> None:
        self._stream = stream
        self._clock = clock

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, self._clock.left())

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        for start in range(0, len(buffer), _PIECE):
            self._stream.write(buffer[start : start + _PIECE], self._clock.left())

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> httpcore2.NetworkStream:
        # By the name of the URL, whatever address it has.
        made = self._stream.start_tls(ssl_context, server_hostname, self._clock.left())
        return _Stream(made, self._clock)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class CheckedNetwork(httpcore2.NetworkBackend):
    """Opens connections to checked addresses only."""

    def __init__(self, reach: Reach, clock: Clock) -> None:
        self._reach = reach
        self._clock = clock
        self._system = httpcore2.SyncBackend()
        self._open: list[httpcore2.NetworkStream] = []

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.NetworkStream:
        host = host.strip("[]")
        self._reach.check_name(host)
        addresses = resolved(host, port, self._clock)
        self._reach.check_addresses(host, addresses)
        stream = self._connected(addresses[:ADDRESSES], port)
        self._open.append(stream)
        return _Stream(stream, self._clock)

    def _connected(self, addresses: Sequence[str], port: int) -> httpcore2.NetworkStream:
        """To the first address that answers; each gets its share of the time."""
        failed: Exception = httpcore2.ConnectError("it has no address")
        for at, address in enumerate(addresses):
            left, others = self._clock.left(), len(addresses) - at - 1
            share = left if left is None or not others else min(left / (others + 1), _LATE)
            try:
                return self._system.connect_tcp(address, port, share, socket_options=())
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed

    def hang_up(self) -> None:
        """Let whoever still reads or writes stop at once."""
        for stream in self._open:
            line: socket.socket = stream.get_extra_info("socket")
            with suppress(OSError):  # it has ended by itself
                line.shutdown(socket.SHUT_RDWR)


class _Body(httpx2.SyncByteStream):
    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __iter__(self) -> Iterator[bytes]:
        yield from self._stream

    def close(self) -> None:
        self._stream.close()


class CheckedTransport(httpx2.BaseTransport):
    """Carries requests of httpx2 over a network that we check.

    The target of a request is sent as `extensions["target"]` has it, byte for byte. What goes
    wrong keeps its own exception, those of httpcore2.
    """

    def __init__(self, network: CheckedNetwork, secured: ssl.SSLContext | None) -> None:
        self._pool = httpcore2.ConnectionPool(
            ssl_context=secured, network_backend=network, max_connections=1, http2=False
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        made = self._pool.handle_request(
            httpcore2.Request(
                method=request.method,
                url=httpcore2.URL(
                    scheme=request.url.raw_scheme,
                    host=request.url.raw_host,
                    port=request.url.port,
                    target=request.extensions["target"],
                ),
                headers=request.headers.raw,
                content=request.stream,
                extensions=request.extensions,
            )
        )
        return httpx2.Response(
            status_code=made.status,
            headers=made.headers,
            stream=_Body(made.stream),
            request=request,
            extensions=made.extensions,
        )

    def close(self) -> None:
        self._pool.close()
