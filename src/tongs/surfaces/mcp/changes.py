"""Tells clients that the list of tools has changed, in the way of their era."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from weakref import WeakSet

from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged

from tongs.core.annotations import Any
from tongs.runtime import Runtime
from tongs.runtime.pinning import connect_new
from tongs.runtime.watching import folders, snapshot
from tongs.surfaces.mcp.clients import is_modern

# Milliseconds: how long changes are collected, and after which time somebody looks in any case:
# what was trusted or accepted changes no file of a tool.
_COLLECTED, _AT_LEAST = 50, 2000


class Changes:
    """Begins to watch when a list was given for the first time: before that, nobody has one."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._bus = InMemorySubscriptionBus()
        self.listen = ListenHandler(self._bus)
        # Where clients of the earlier protocol hear what they have not asked for.
        self._connections: WeakSet[Any] = WeakSet()
        self._task: asyncio.Future[None] | None = None
        # A client starts this server for its tools, so the servers behind it are asked for theirs.
        self._connecting: asyncio.Future[None] | None = None

    def given_to(self, context: Any) -> None:
        """A client has the list as it is now."""
        if not is_modern(context):
            # A session is one of a single request; what stays has no other name in the SDK.
            self._connections.add(context.session._connection)  # noqa: SLF001 - see above
        if self._task is None:
            self._task = asyncio.ensure_future(self._watch(snapshot(self._runtime.entries())))
            self._connecting = asyncio.ensure_future(connect_new(self._runtime))

    async def close(self) -> None:
        self.listen.close()
        tasks = {task for task in (self._task, self._connecting) if task is not None}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _watch(self, before: dict[str, Any]) -> None:
        while True:
            async for _ in self._looks():
                now = snapshot(self._runtime.entries())
                if now != before:
                    before = now
                    await self._tell()

    async def _looks(self) -> AsyncIterator[None]:
        """Whenever something may have changed, until there is another folder to watch."""
        import watchfiles  # noqa: PLC0415 - loads a shared library

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
        try:
            async for _ in events:
                yield
                if present != self._present():
                    return
        except (OSError, RuntimeError):  # no more watches are to be had, or a folder is gone
            await asyncio.sleep(_AT_LEAST / 1000)
            yield

    def _present(self) -> list[str]:
        return [folder for folder in folders(self._runtime) if os.path.isdir(folder)]

    async def _tell(self) -> None:
        await self._bus.publish(ToolsListChanged())
        for connection in list(self._connections):
            with suppress(OSError):
                await connection.send_tool_list_changed()
