"""The MCP server on streamable HTTP, for clients of both eras.

Without `sessions` a request needs nothing of an earlier one, so that any replica behind a balancer
can answer it: what has to outlive a request lies in the state folder.
"""

# ruff: noqa: PLC0415 - the SDK and the HTTP server are slow to load

from __future__ import annotations

import asyncio
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from ipaddress import ip_address

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.surfaces.mcp.guard import PATH, Guard

if TYPE_CHECKING:
    import uvicorn
    from mcp.server.lowlevel import Server

    from tongs.runtime import Runtime
    from tongs.surfaces.mcp.options import Options

TOKEN = "TONGS_MCP_TOKEN"
LARGEST_BODY = 4 * 1024 * 1024
MOST_SESSIONS = 1000
# Seconds: an idle session is closed; a call may finish after the server was told to end.
IDLE, GRACE = 30 * 60, 5
_QUEUE = 1024
# A token that can be guessed by trying is none.
SHORTEST_TOKEN = 16


@dataclass(frozen=True, slots=True)
class Address:
    host: str
    port: int

    @property
    def loopback(self) -> bool:
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class HttpOptions:
    address: Address
    token: str | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    sessions: bool = False


def parse_address(text: str) -> Address:
    """`HOST:PORT` or `[HOST]:PORT`; raises ToolError. Port 0 means any that is free."""
    host, _, port = text.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]")
    if not bare or not port.isascii() or not port.isdigit() or int(port) > 65535 or "/" in bare:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"`{text}` is no address to listen on: HOST:PORT is expected",
            hint="tongs mcp serve --http 127.0.0.1:8080",
        )
    return Address(bare, int(port))


def refuse_open_door(options: HttpOptions, name: str) -> None:
    """Whoever reaches this machine could use its tools: not without a token that holds."""
    token = options.token
    if token is None and not options.address.loopback:
        raise ToolError(
            ErrorCode.DENIED,
            f"{options.address} can be reached from other machines, and no token is set",
            hint=f"export {name}=$(openssl rand -hex 32), or listen on 127.0.0.1",
        )
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise ToolError(
            ErrorCode.DENIED,
            f"the token in {name} has {len(token)} characters; {SHORTEST_TOKEN} is the least",
            hint=f"export {name}=$(openssl rand -hex 32)",
        )


def bind(address: Address) -> socket.socket:
    """The socket that will be listened on; raises ToolError where there is none."""
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
    except OSError as error:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"cannot listen on {address}: {error.strerror or error}",
            hint="choose another port, or 0 for any that is free",
        ) from None
    return listening


def application(server: Server[Any], options: HttpOptions) -> tuple[Any, Guard]:
    """What keeps the sessions, to be run around the other, which answers requests."""
    from mcp.server.lowlevel import NotificationOptions
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    if options.sessions:
        # In each of them a client hears of changes, and is told so; the SDK takes no other word.
        tells = NotificationOptions(tools_changed=True)
        told = partial(server.create_initialization_options, tells)
        server.create_initialization_options = told  # type: ignore[method-assign]
    manager = StreamableHTTPSessionManager(
        server,
        stateless=not options.sessions,
        max_request_body_size=LARGEST_BODY,
        session_idle_timeout=IDLE,
        max_sessions=MOST_SESSIONS,
    )
    guard = Guard(
        manager.handle_request,
        token=options.token,
        hosts=(*options.hosts, *_own_names(options.address)),
        origins=options.origins,
        stateless=not options.sessions,
    )
    return manager, guard


def serve(
    runtime: Runtime,
    options: Options,
    wanted: HttpOptions,
    listening: socket.socket,
    ready: Callable[[str], None],
) -> None:
    """Until the process is told to end; calls in progress get a few seconds."""
    from tongs.surfaces.mcp.serving import make_server

    async def serving() -> None:
        server = make_server(runtime, options)
        try:
            await _answer(server, wanted, listening, ready)
        finally:
            await runtime.aclose()

    asyncio.run(serving())


async def _answer(
    server: Server[Any],
    options: HttpOptions,
    listening: socket.socket,
    ready: Callable[[str], None],
) -> None:
    import uvicorn

    from tongs.surfaces.mcp.receiving import TimelyProtocol

    manager, guard = application(server, options)
    config = uvicorn.Config(
        guard,
        http=TimelyProtocol,
        lifespan="off",
        ws="none",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
    )
    address = Address(options.address.host, listening.getsockname()[1])
    with _told_to_end():
        async with manager.run():
            listening.listen(_QUEUE)
            ready(f"http://{address}{PATH}")
            await _http_server(config, guard).serve(sockets=[listening])


def _http_server(config: uvicorn.Config, guard: Guard) -> uvicorn.Server:
    """One that ends when the calls in progress have ended, or when they take too long.

    Its own way would be to cut off every answer that is a stream.
    """
    import uvicorn

    class Ending(uvicorn.Server):
        def handle_exit(self, sig: int, frame: Any) -> None:
            # A second signal is from somebody who will not wait.
            self.until = 0.0 if guard.closing else time.monotonic() + GRACE
            guard.closing = True

        async def on_tick(self, counter: int) -> bool:
            if guard.closing and (not guard.busy or time.monotonic() > self.until):
                self.should_exit = True
            return await super().on_tick(counter)

    return Ending(config)


@contextmanager
def _told_to_end() -> Iterator[None]:
    """A signal that comes before or after the HTTP server takes them ends the process as usual,
    but only once everything is closed."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, end) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _own_names(address: Address) -> tuple[str, ...]:
    """The name it listens under, if that is one: `0.0.0.0` is every address."""
    try:
        everywhere = ip_address(address.host).is_unspecified
    except ValueError:
        everywhere = False
    return () if everywhere else (address.host,)
