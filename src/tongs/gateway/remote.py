"""The transport to a server that is an address: the SDK's, over connections that are checked.

The host is the config's. A name is resolved once, and the address that was checked is used; other
hosts are reached by no redirect, so that headers never leave for one.
"""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress

import httpcore2
import httpx2

from tongs.core import hosts
from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.gateway.filtering import Filter, Flooded
from tongs.gateway.wire import LARGEST, Refused, unbearable
from tongs.policy.reach import Reach, read_hosts

# Of one name; more would only be tried in vain.
_ADDRESSES = 8
# Seconds to connect, and between two bytes; how long an answer takes is the call's affair.
_CONNECT, _SILENCE = 10.0, 24 * 3600.0
# Seconds from one stream of a server's own words to the next.
_PAUSE = 1.0
_PORTS = {"http": 80, "https": 443}


class RemoteTransport:
    """As `stdio.StdioTransport`, without a process."""

    enforced: Sequence[str] = ()
    warnings: Sequence[str] = ()
    last_words = ""

    def __init__(self, url: str, headers: Mapping[str, str], reach: Reach, passing: Filter) -> None:
        self._url = url
        self._filter = passing
        self.failure: ToolError | None = None
        self.over = asyncio.Event()
        self._client = httpx2.AsyncClient(
            transport=_Checked(_Network(reach, self._fail)),
            # What is compressed can be any size when it is not, so nobody asks for it.
            headers={**headers, "Accept-Encoding": "identity"},
            timeout=httpx2.Timeout(_SILENCE, connect=_CONNECT),
            trust_env=False,
        )
        self._streams: Any = None

    async def __aenter__(self) -> tuple[Any, Any]:
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - slow

        self._streams = streamable_http_client(
            self._url, http_client=self._client, max_sse_event_size=LARGEST
        )
        read_stream, write_stream = await self._streams.__aenter__()
        heard = _Heard(read_stream, self._filter, self._flooded)
        return heard, _Sent(write_stream, self._filter)

    async def __aexit__(self, *exc: object) -> None:
        self.over.set()
        try:
            await self._streams.__aexit__(*exc)
        finally:
            await self._client.aclose()

    def kill(self) -> None:
        self.over.set()

    def _fail(self, error: ToolError) -> None:
        self.failure = error

    def _flooded(self) -> None:
        self._fail(
            ToolError(
                ErrorCode.EXECUTION_ERROR, "it sends without an end, and nothing that was asked for"
            )
        )
        self.over.set()


class _Heard:
    """What comes, filtered. Keeps in which call it was sent, as the SDK's own streams do."""

    def __init__(self, stream: Any, passing: Filter, flooded: Any) -> None:
        self._stream = stream
        self._filter = passing
        self._flooded = flooded

    @property
    def last_context(self) -> Any:
        return self._stream.last_context

    async def receive(self) -> Any:
        while True:
            item = await self._stream.receive()
            if isinstance(item, Exception):
                return item
            if (passed := self._passed(item)) is not None:
                return passed

    def _passed(self, item: Any) -> Any:
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - with the SDK
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - as above

        told = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        data = json.dumps(told).encode()
        reason = unbearable(data)
        try:
            message = self._filter.heard(
                Refused(reason, told.get("id")) if reason else told, len(data)
            )
        except Flooded:
            self._flooded()
            return None
        if message is None:
            return None
        made = jsonrpc_message_adapter.validate_python(message, by_name=False)
        return SessionMessage(made, item.metadata)

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> _Heard:
        return self

    async def __anext__(self) -> Any:
        import anyio  # noqa: PLC0415 - with the SDK

        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> _Heard:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class _Sent:
    """What goes out, noted."""

    def __init__(self, stream: Any, passing: Filter) -> None:
        self._stream = stream
        self._filter = passing

    async def send(self, item: Any) -> None:
        told = item.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
        self._filter.sent(told)
        await self._stream.send(item)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> _Sent:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.aclose()


class _Network(httpcore2.AsyncNetworkBackend):
    """Opens connections to checked addresses only, and notes why it did not."""

    def __init__(self, reach: Reach, fail: Any) -> None:
        self._reach = reach
        self._fail = fail
        self._system = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Any = None,
    ) -> httpcore2.AsyncNetworkStream:
        host = host.strip("[]")
        try:
            self._reach.check_name(host)
            addresses = await _resolved(host, port)
            self._reach.check_addresses(host, addresses)
            return await self._connected(addresses[:_ADDRESSES], port, timeout)
        except ToolError as error:
            self._fail(error)
            raise httpcore2.ConnectError(error.message) from error
        except (OSError, httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
            said = error.strerror if isinstance(error, OSError) else type(error).__name__
            self._fail(
                ToolError(
                    ErrorCode.EXECUTION_ERROR, f"{hosts.bracketed(host)}:{port}: {said or error}"
                )
            )
            raise httpcore2.ConnectError(str(error)) from error

    async def _connected(
        self, addresses: Sequence[str], port: int, limit: float | None
    ) -> httpcore2.AsyncNetworkStream:
        failed: Exception = httpcore2.ConnectError("it has no address")
        for address in addresses:
            try:
                return await self._system.connect_tcp(address, port, limit)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failed = error
        raise failed

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def _resolved(host: str, port: int) -> list[str]:
    if hosts.is_address(host):
        return [host]
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(_CONNECT):
        found = await loop.getaddrinfo(host.encode(), port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


class _Checked(httpx2.AsyncBaseTransport):
    """Carries requests of httpx2 over our network, and bodies up to the size of a message."""

    def __init__(self, network: _Network) -> None:
        self._last_stream = -_PAUSE
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=httpx2.create_ssl_context(trust_env=False), network_backend=network
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            await self._unhurried()
        try:
            made = await self._pool.handle_async_request(
                httpcore2.Request(
                    method=request.method,
                    url=httpcore2.URL(
                        scheme=request.url.raw_scheme,
                        host=request.url.raw_host,
                        port=request.url.port,
                        target=request.url.raw_path,
                    ),
                    headers=request.headers.raw,
                    content=request.stream,
                    extensions=request.extensions,
                )
            )
        except httpcore2.ConnectError as error:
            raise httpx2.ConnectError(str(error)) from error
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise httpx2.ReadError(str(error)) from error
        except httpcore2.TimeoutException as error:
            raise httpx2.ReadTimeout(str(error)) from error
        said = [(name.lower(), value) for name, value in made.headers]
        events = any(
            name == b"content-type" and value.startswith(b"text/event-stream")
            for name, value in said
        )
        packed = any(
            name == b"content-encoding" and value.strip().lower() not in (b"", b"identity")
            for name, value in said
        )
        # A stream of events has no end; there each event is bounded.
        most = 0 if packed else None if events else LARGEST
        return httpx2.Response(
            status_code=made.status,
            # Without what would make somebody unpack it.
            headers=[(name, value) for name, value in said if name != b"content-encoding"],
            stream=_Body(made.stream, most),
            request=request,
            extensions=made.extensions,
        )

    async def _unhurried(self) -> None:
        """The SDK opens a stream again as soon as the server, which has ended it, says it may."""
        loop = asyncio.get_running_loop()
        left = self._last_stream + _PAUSE - loop.time()
        self._last_stream = loop.time() + max(0.0, left)
        await asyncio.sleep(max(0.0, left))

    async def aclose(self) -> None:
        await self._pool.aclose()


class _Body(httpx2.AsyncByteStream):
    """At most so many bytes; 0 for one that must not be read, None for any number."""

    def __init__(self, stream: Any, most: int | None) -> None:
        self._stream = stream
        self._most = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for piece in self._stream:
                size += len(piece)
                if self._most is not None and size > self._most:
                    raise Unread(self._most)
                yield piece
        except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
            raise httpx2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        with suppress(httpcore2.NetworkError):
            await self._stream.aclose()


class Unread(httpx2.StreamError):
    """The SDK answers a request that ends like this with an error."""

    def __init__(self, most: int) -> None:
        too_large = f"it is larger than {most >> 20} MiB"
        super().__init__(too_large if most else "it is compressed, which nobody has asked for")


def must_be_granted(url: str, permissions: Permissions) -> None:
    """The config names the host, and may still say that it is not to be reached."""
    try:
        address = httpx2.URL(url)
    except httpx2.InvalidURL:
        raise ToolError(ErrorCode.INVALID_DEFINITION, f"{url!r} is no address") from None
    port = address.port or _PORTS.get(address.scheme, 0)
    if not address.host or not port:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION, f"{url!r} is no address that begins with http or https"
        )
    network = permissions.network
    if network is True:
        return
    entries = read_hosts("network", network or (), hosts.parse)
    if not hosts.allowed(entries, hosts.canonical(address.host), port):
        raise ToolError(
            ErrorCode.PERMISSION_DENIED,
            f"{address.host}:{port} is not among the hosts that it may reach",
            blocked_by=BlockedBy.PERMISSION,
            hint=f"permissions: {{network: [{address.host}]}}",
        )
