"""Tells clients that the list of tools has changed, in the way of their era."""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from tongs.core.annotations import Any
from tongs.runtime import Runtime
from tongs.runtime.watching import folders, snapshot
from tongs.surfaces.mcp.asking import is_modern

# Milliseconds: how long changes are collected, and after which time somebody looks in any case:
# what was trusted or accepted changes no file of a tool.
_COLLECTED, _AT_LEAST = 50, 2000


class Changes:
    """Begins to watch when a list was given for the first time: before that, nobody has one."""

    def __init__(self, runtime: Runtime, *, one_client: bool) -> None:
        self._runtime = runtime
        self._one_client = one_client
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        # Where the one client of the earlier protocol hears what it did not ask for.
        self._session: Any = None
        self._task: asyncio.Future[None] | None = None

    def given_to(self, context: Any) -> None:
        """A client has the list as it is now."""
        if self._one_client and not is_modern(context):
            self._session = context.session
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch(snapshot(self._runtime.entries())))

    async def close(self) -> None:
        self.listen.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait({self._task})

    async def _watch(self, before: dict[str, Any]) -> None:
        import watchfiles  # noqa: PLC0415 - loads a shared library

        while True:
            present = self._present()
            # With nothing to watch, the working directory stands in: it is the time that counts.
            events = watchfiles.awatch(
                *(present or [self._runtime.places.cwd]),
                watch_filter=None,
                debounce=_COLLECTED,
                step=_COLLECTED,
                rust_timeout=_AT_LEAST,
                yield_on_timeout=True,
                recursive=bool(present),
            )
            async for _ in events:
                now = snapshot(self._runtime.entries())
                if now != before:
                    before = now
                    await self._tell()
                if present != self._present():
                    break  # watch the new ones, too

    def _present(self) -> list[str]:
        return [folder for folder in folders(self._runtime) if os.path.isdir(folder)]

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        if self._session is not None:
            with suppress(OSError):
                await self._session.send_tool_list_changed()
