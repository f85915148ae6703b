"""The transport to a server that is a process: its pipes here, the SDK's streams there.

Everything here runs on the loop of the gateway. `anyio` is what the SDK's streams are made of.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Link
from tongs.gateway.filtering import Filter, Flooded
from tongs.gateway.wire import Lines

_CHUNK = 64 * 1024
# The end of what it wrote to stderr, for whoever has to say why it failed.
_LAST_WORDS = 8 * 1024
_WORDS_A_SECOND = 16 * 1024 * 1024
# Seconds for which it may go by itself, and then for the kernel to end what it started.
POLITE = 1.0
DYING = 5.0


class StdioTransport:
    """One process, from its start to the end of its tree. Entered and left by the SDK, once."""

    def __init__(self, link: Link, passing: Filter) -> None:
        self._link = link
        self._filter = passing
        self._tasks: list[asyncio.Task[None]] = []
        self._last_words = b""
        self._streams: tuple[Any, ...] = ()
        # Why it ended without being asked to.
        self.failure: ToolError | None = None
        self.over = asyncio.Event()

    @property
    def last_words(self) -> str:
        return self._last_words.decode("utf-8", "replace")

    async def __aenter__(self) -> tuple[Any, Any]:
        import anyio  # noqa: PLC0415 - with the SDK, which is made of it

        incoming, read_stream = anyio.create_memory_object_stream[Any](0)
        write_stream, outgoing = anyio.create_memory_object_stream[Any](0)
        self._streams = (incoming, read_stream, write_stream, outgoing)
        work = (
            self._read(incoming),
            self._write(outgoing, incoming),
            self._keep_last_words(),
            self._watch(incoming),
        )
        self._tasks = [asyncio.create_task(task) for task in work]
        return read_stream, write_stream

    async def __aexit__(self, *exc: object) -> None:
        try:
            await asyncio.shield(asyncio.ensure_future(self.end()))
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            for stream in self._streams:
                stream.close()
            self._link.close()

    async def end(self) -> None:
        """Ask it to go, and see that its whole tree does; every wait is bounded."""
        writing = self._tasks[1]
        writing.cancel()
        await asyncio.gather(writing, return_exceptions=True)
        self._link.close_stdin()
        if not await self._is_over(POLITE):
            self._link.kill()
            await self._is_over(DYING)

    def kill(self) -> None:
        """Without asking: it does not listen."""
        self._link.kill()

    async def _is_over(self, seconds: float) -> bool:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.over.wait()
        return self.over.is_set()

    async def _read(self, incoming: Any) -> None:
        import anyio  # noqa: PLC0415 - as above
        from mcp.shared.message import SessionMessage  # noqa: PLC0415 - as above
        from mcp_types import jsonrpc_message_adapter  # noqa: PLC0415 - as above

        lines = Lines()
        try:
            while data := await _when_ready(self._link.stdout, self._read_some):
                size = len(data)
                for told in lines.feed(data):
                    message = self._filter.heard(told, size)
                    size = 0  # of all messages of a piece together
                    if message is not None:
                        made = jsonrpc_message_adapter.validate_python(message, by_name=False)
                        await incoming.send(SessionMessage(made))
                if size and not lines.growing:
                    self._filter.wasted(size)
        except Flooded:
            self.failure = ToolError(
                ErrorCode.EXECUTION_ERROR, "it sends without an end, and nothing that was asked for"
            )
            self._link.kill()
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass  # it is over, or the SDK has gone
        finally:
            # From here on nobody gets an answer, and the SDK tells all who wait; with the reason,
            # which comes a moment later where its end is the end of the process.
            await self._is_over(POLITE)
            incoming.close()

    def _read_some(self) -> bytes:
        return os.read(self._link.stdout, _CHUNK)

    async def _write(self, outgoing: Any, incoming: Any) -> None:
        try:
            async for message in outgoing:
                told = message.message.model_dump(by_alias=True, mode="json", exclude_unset=True)
                self._filter.sent(told)
                await self._send(message.message.model_dump_json(by_alias=True, exclude_unset=True))
        except OSError:
            incoming.close()  # it does not listen any more

    async def _send(self, text: str) -> None:
        left = memoryview(text.encode("utf-8", "replace") + b"\n")
        while left:
            write = partial(os.write, self._link.stdin, left)
            written = await _when_ready(self._link.stdin, write, to_write=True)
            left = left[written:]

    async def _keep_last_words(self) -> None:
        def read() -> bytes:
            return os.read(self._link.stderr, _CHUNK)

        with suppress(OSError):
            while data := await _when_ready(self._link.stderr, read):
                self._last_words = (self._last_words + data)[-_LAST_WORDS:]
                # One that writes more waits, instead of taking the loop's time.
                await asyncio.sleep(len(data) / _WORDS_A_SECOND)

    async def _watch(self, incoming: Any) -> None:
        """Until nothing of its tree is alive."""
        why: ToolError | None = None

        def listen() -> ToolError:
            found = self._link.ended()
            if found is None:
                raise BlockingIOError
            return found

        try:
            why = await _when_ready(self._link.control, listen)
        finally:
            self.failure = self.failure or why
            self.over.set()
            incoming.close()


async def _when_ready(
    descriptor: int, attempt: Callable[[], Any], *, to_write: bool = False
) -> Any:
    """What `attempt` gives, as soon as it does not block."""
    if to_write:
        with suppress(BlockingIOError):
            return attempt()
    # Whoever always has something to say still lets the loop go on with the others.
    loop = asyncio.get_running_loop()
    while True:
        ready: asyncio.Future[None] = loop.create_future()
        watch, forget = (
            (loop.add_writer, loop.remove_writer)
            if to_write
            else (loop.add_reader, loop.remove_reader)
        )
        watch(descriptor, _finish, ready)
        try:
            await ready
        finally:
            forget(descriptor)
        with suppress(BlockingIOError):
            return attempt()


def _finish(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
