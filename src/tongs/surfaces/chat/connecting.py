"""MCP servers that were never connected are, while the person types: the model gets their tools."""

from __future__ import annotations

import asyncio

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ToolError
from tongs.runtime.pinning import connect_new

if TYPE_CHECKING:
    from tongs.surfaces.chat.session import Session


class Connecting:
    """Under way from `begin` to the end of the chat at most."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._task: asyncio.Future[None] | None = None

    def begin(self) -> None:
        runtime = self._session.runtime
        new = runtime.server_tools.unconnected() if runtime.settings.mcp.servers else []
        if new:
            self._session.notice("connecting", ", ".join(new), "dim")
            self._task = asyncio.ensure_future(connect_new(runtime, self._ended))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    def _ended(self, name: str, error: ToolError | None) -> None:
        session = self._session
        if error is not None:
            said = f"{name} was not connected: {error.message}; tongs mcp inspect {name}"
            session.notice("warning", said, "yellow")
            return
        count = len(session.chat.offer_new())
        what = "1 tool" if count == 1 else f"{count} tools"
        session.notice("connected", f"{name}; the model has {what} more", "green")
