"""One server: started when it is needed, kept while it is used, started again when it crashed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from tongs.core.annotations import TypeVar
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.servers import (
    Listing,
    ServerAnswer,
    ServerCall,
    ServerRequest,
    ServerSpec,
    ServerState,
    ServerTool,
)
from tongs.gateway.connection import Connection
from tongs.gateway.exchange import closed
from tongs.output import visible

T = TypeVar("T")

# Seconds before the second, third … start after a crash, and after so many starts in a row without
# one call that was answered nobody tries for a while.
PAUSES = (0.0, 0.5, 1.0, 2.0, 4.0)
GIVEN_UP = 60.0


class Hosted:
    """All of it runs on the loop of the gateway. `connect` makes a connection that is not open."""

    def __init__(self, spec: ServerSpec, connect: Callable[[], Awaitable[Connection]]) -> None:
        self.spec = spec
        self._connect = connect
        self._connection: Connection | None = None
        self._holding: asyncio.Task[None] | None = None
        self._starting = asyncio.Lock()
        # The start that somebody waits for.
        self._ready: asyncio.Future[Connection] | None = None
        self._stopped = False
        self._in_flight = 0
        self._used = time.monotonic()
        self._idle: asyncio.TimerHandle | None = None
        # Starts in a row that came to nothing.
        self._failures = 0
        self._not_before = 0.0
        self._why: ToolError | None = None
        self._since = 0.0
        # All that hold a connection, or are about to end one.
        self._kept: set[asyncio.Task[None]] = set()
        # Looks at servers that did not answer in time.
        self._checks: set[asyncio.Task[None]] = set()

    @property
    def state(self) -> ServerState:
        name = self.spec.name
        if self._connection is not None:
            return ServerState(name, "running", "", self._since, self._connection.version)
        if self._starting.locked():
            return ServerState(name, "starting")
        if self._why is not None:
            return ServerState(name, "failed", self._why.message, self._since)
        return ServerState(name, "idle", "", self._since)

    async def listed(self) -> Listing:
        return await self._used_by(lambda connection: connection.listing())

    async def call(self, request: ServerRequest, call: ServerCall) -> ServerAnswer:
        tool = request.tool

        async def carried_out(connection: Connection) -> ServerAnswer:
            _must_stand(self.spec, request.walls, connection)
            await _must_be_accepted(tool, connection)
            try:
                return await connection.call(tool.name, request.arguments, call)
            except asyncio.CancelledError:
                # Whoever called gave up. One that does not react to anything is of no use.
                self._look_after(connection)
                raise

        return await self._used_by(carried_out)

    async def stop(self) -> None:
        """End it, and everything it has started."""
        self._stopped = True
        if self._idle is not None:
            self._idle.cancel()
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(closed())
            self._ready.exception()  # whoever waited may be gone, which is nothing to report
        holding = self._holding
        if self._connection is not None:
            self._connection.closing.set()
        elif holding is not None:
            holding.cancel()
        for check in self._checks:
            check.cancel()
        await asyncio.gather(*self._kept, *self._checks, return_exceptions=True)

    async def _used_by(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        self._in_flight += 1
        try:
            connection = await self._connected()
            try:
                answer = await work(connection)
            except ToolError:
                raise
            except Exception as error:  # noqa: BLE001 - the SDK and pydantic raise what they like
                raise connection.trouble(error) from None
            self._failures, self._why = 0, None
            return answer
        finally:
            self._in_flight -= 1
            self._used = time.monotonic()
            self._end_when_idle()

    async def _connected(self) -> Connection:
        async with self._starting:
            if self._connection is not None and not self._connection.transport.over.is_set():
                return self._connection
            await self._pause()
            if self._stopped:
                raise closed()
            ready: asyncio.Future[Connection] = asyncio.get_running_loop().create_future()
            self._ready = ready
            self._holding = holding = asyncio.create_task(self._hold(ready))
            # Its end takes a while, which nobody has to wait for but whoever ends everything.
            self._kept.add(holding)
            holding.add_done_callback(self._kept.discard)
            try:
                async with asyncio.timeout(self.spec.start_timeout):
                    return await asyncio.shield(ready)
            except TimeoutError:
                self._failed(_late(self.spec))
                raise _late(self.spec) from None
            finally:
                if not ready.done():
                    holding.cancel()

    async def _pause(self) -> None:
        """After a crash, before the next start; ToolError where there were too many."""
        left = self._not_before - time.monotonic()
        if left <= 0:
            return
        if self._failures >= len(PAUSES) and self._why is not None:
            raise ToolError(
                self._why.code,
                f"{self._why.message} ({self._failures} times in a row;"
                f" it is not tried again for {left:.0f} s)",
                details=self._why.details,
                hint=self._why.hint,
            )
        await asyncio.sleep(left)

    async def _hold(self, ready: asyncio.Future[Connection]) -> None:
        """From the start to the end, in one task, as the SDK needs it."""
        try:
            connection = await self._connect()
        except Exception as error:  # noqa: BLE001 - raised where somebody waits for it
            if isinstance(error, ToolError):
                self._failed(error)
            if not ready.done():
                ready.set_exception(error)
            return

        def connected() -> None:
            self._connection, self._since = connection, time.time()
            if not ready.done():
                ready.set_result(connection)

        try:
            await connection.hold(connected)
            why = connection.ended()
        except Exception as failure:  # noqa: BLE001 - the SDK raises what it likes
            why = _unwrapped(failure, connection)
        finally:
            if self._connection is connection:
                self._connection = None
        if connection.closing.is_set():
            return
        self._failed(why)
        if not ready.done():
            ready.set_exception(why)

    def _failed(self, why: ToolError) -> None:
        self._failures += 1
        self._why, self._since = why, time.time()
        most = self._failures >= len(PAUSES)
        self._not_before = time.monotonic() + (GIVEN_UP if most else PAUSES[self._failures - 1])

    def _look_after(self, connection: Connection) -> None:
        async def look() -> None:
            if not connection.transport.over.is_set() and not await connection.is_alive():
                if self._connection is connection:
                    self._connection = None  # whoever comes now shall not meet its end
                connection.transport.kill()

        check = asyncio.create_task(look())
        self._checks.add(check)
        check.add_done_callback(self._checks.discard)

    def _end_when_idle(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        if self._in_flight == 0 and self.spec.idle > 0:
            loop = asyncio.get_running_loop()
            self._idle = loop.call_later(self.spec.idle, self._end_if_idle)

    def _end_if_idle(self) -> None:
        if self._in_flight == 0 and self._connection is not None:
            self._connection.closing.set()
            self._connection = None


def _must_stand(spec: ServerSpec, walls: Sequence[str], connection: Connection) -> None:
    """A call may insist on more than the config in which the server was started."""
    if missing := [wall for wall in walls if wall not in connection.transport.enforced]:
        raise ToolError(
            ErrorCode.SANDBOX_UNAVAILABLE,
            f"the server {spec.name} runs without walls that this call insists on:"
            f" {', '.join(missing)}",
            details={"missing": missing},
            blocked_by=BlockedBy.PERMISSION,
        )


async def _must_be_accepted(tool: ServerTool, connection: Connection) -> None:
    now = await connection.digest(tool.name)
    server = tool.server.name
    if now is None:
        raise ToolError(
            ErrorCode.TOOL_NOT_FOUND,
            f"the server {server} has no tool `{visible(tool.name)}` any more",
            details={"server": server},
            hint=f"tongs mcp inspect {server}",
        )
    if now != tool.digest:
        raise ToolError(
            ErrorCode.UNTRUSTED,
            f"the server {server} describes `{visible(tool.name)}` otherwise than when it was"
            " accepted",
            details={"server": server, "accepted": tool.digest, "now": now},
            blocked_by=BlockedBy.TRUST,
            hint=f"tongs mcp pin {server} shows the difference and accepts it",
        )


def _late(spec: ServerSpec) -> ToolError:
    return ToolError(
        ErrorCode.TIMEOUT,
        f"the server {spec.name} did not start within {spec.start_timeout:g} s",
        details={"server": spec.name},
        hint=f"raise `mcp.servers.{spec.name}.start_timeout` if it needs longer",
    )


def _unwrapped(failure: BaseException, connection: Connection) -> ToolError:
    """The SDK's task groups wrap what happened in them."""
    while isinstance(failure, BaseExceptionGroup) and failure.exceptions:
        failure = failure.exceptions[0]
    if isinstance(failure, ToolError):
        return failure
    if connection.transport.over.is_set() or not isinstance(failure, Exception):
        return connection.ended()
    return connection.trouble(failure)
