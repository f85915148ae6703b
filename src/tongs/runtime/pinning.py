"""Between calls and MCP servers: what a server tells is compared with what was accepted of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.record import replace
from tongs.core.servers import (
    Listing,
    ServerAnswer,
    ServerCall,
    ServerRequest,
    Servers,
    ServerSpec,
    ServerState,
    ServerTool,
)

if TYPE_CHECKING:
    from tongs.runtime import Runtime
    from tongs.store.pins import PinStore


async def connect_new(
    runtime: Runtime, ended: Callable[[str, ToolError | None], None] = lambda name, error: None
) -> None:
    """Connect the servers that never were, all at once, so that their tools are known.

    One that cannot be reached stays unknown; the log says why. `ended` is told of each by its name.
    """
    import asyncio  # noqa: PLC0415 - surfaces that stay have it loaded

    from tongs.sandbox.waiting import LoopWaiter  # noqa: PLC0415 - as above

    async def connect(spec: ServerSpec) -> None:
        try:
            await runtime.servers.listed(spec, LoopWaiter())
        except ToolError as error:
            runtime.log.write("warning", f"MCP server {spec.name}: {error.message}")
            ended(spec.name, error)
        else:
            ended(spec.name, None)

    if runtime.settings.mcp.servers:
        tools = runtime.server_tools
        new = [tools.servers[name] for name in tools.unconnected()]
        await asyncio.gather(*map(connect, new))


class PinnedServers:
    """As `core.servers.Servers`. Its first connection pins what a server tells."""

    def __init__(self, servers: Servers, state: str) -> None:
        self._servers = servers
        self._state = state
        self._made: PinStore | None = None

    async def listed(self, spec: ServerSpec, waiter: Waiter) -> Listing:
        from tongs.runtime.definitions import refusals_said  # noqa: PLC0415 - where one was asked

        listing = await self._servers.listed(spec, waiter)
        with refusals_said(f"what {spec.name} offers was not pinned"):
            self._pins().seen(spec, listing.tools, title=listing.name, version=listing.version)
        return listing

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Waiter) -> ServerAnswer:
        tool = request.tool
        accepted = tool if tool.digest else await self._first_use(tool, waiter)
        try:
            return await self._servers.call(replace(request, tool=accepted), call, waiter)
        except ToolError as error:
            if error.code is ErrorCode.UNTRUSTED:
                # A listing tells from now on that it waits for a person.
                with suppress(ToolError):
                    await self.listed(tool.server, waiter)
            raise

    async def _first_use(self, tool: ServerTool, waiter: Waiter) -> ServerTool:
        """The tool of a server of which nothing was known when the call was found."""
        spec = tool.server
        await self.listed(spec, waiter)
        pinned = self._pins().of(spec)
        pin = None if pinned is None else pinned.tools.get(tool.name)
        if pinned is None or pin is None or pin.gone:
            known = sorted(pinned.tools) if pinned is not None else []
            from tongs.schema.nearest import did_you_mean  # noqa: PLC0415 - only for the message

            raise ToolError(
                ErrorCode.TOOL_NOT_FOUND,
                f"the MCP server {spec.name} has no tool `{tool.name}`"
                f"{did_you_mean(tool.name, known)}",
                details={"known": known},
                hint=f"tongs mcp inspect {spec.name} shows what it has",
            )
        if pin.accepted is None or pin.changed:
            raise ToolError(
                ErrorCode.UNTRUSTED,
                f"{tool.name} was not called: {spec.name} tells something else than was accepted",
                blocked_by=BlockedBy.TRUST,
                hint=f"a person can read the difference and accept it: tongs mcp pin {spec.name}",
            )
        return replace(tool, definition=pin.accepted, digest=pin.digest)

    def _pins(self) -> PinStore:
        from tongs.store.pins import PinStore  # noqa: PLC0415 - where a server was asked

        if self._made is None:
            self._made = PinStore(self._state)
        return self._made

    def state(self, name: str) -> ServerState:
        return self._servers.state(name)

    def close(self) -> None:
        self._servers.close()
