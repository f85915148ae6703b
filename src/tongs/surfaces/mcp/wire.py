"""Standard input and output as the streams that the SDK reads and writes.

The SDK's own need a thread for every line, and one that waits cannot be ended. Here the event loop
waits, and the descriptors stay as they are: whoever shares them would notice another mode.
"""

from __future__ import annotations

import asyncio
import json
import os
import select
from collections.abc import Callable, Mapping
from types import TracebackType

import anyio
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    ErrorData,
    JSONRPCError,
    JSONRPCNotification,
    JSONRPCResponse,
    jsonrpc_message_adapter,
)

from tongs.core.annotations import Any

_PIECE = 64 * 1024
# No message is larger; a client that goes on and on would fill the memory.
_LONGEST = 64 * 1024 * 1024
_CHANGED = JSONRPCNotification(jsonrpc="2.0", method="notifications/tools/list_changed")


class _Stream:
    async def aclose(self) -> None:
        """The descriptors are those of the process."""

    async def __aenter__(self) -> Any:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()


class Incoming(_Stream):
    """A message per line; what is none comes as an exception, as the SDK wants it.

    The SDK answers nothing to that, so a request is refused on `outgoing`: its client waits.
    """

    def __init__(
        self, descriptor: int, begun: bytes = b"", outgoing: Outgoing | None = None
    ) -> None:
        self._descriptor = descriptor
        self._outgoing = outgoing
        # What was read before.
        self._rest = bytearray(begun)
        self._looked = 0

    def __aiter__(self) -> Incoming:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        while True:
            line = await self._line()
            if line is None:
                raise StopAsyncIteration
            if line.strip():
                break
        try:
            return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
        except ValueError as error:
            refusal = _refusal(line)
            if refusal is not None and self._outgoing is not None:
                await self._outgoing.send(SessionMessage(refusal))
            return error

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise anyio.EndOfStream from None

    async def _line(self) -> bytes | None:
        """None at the end. A line without its end is none: nobody knows what is missing."""
        while (end := self._rest.find(b"\n", self._looked)) < 0:
            self._looked = len(self._rest)
            loop = asyncio.get_running_loop()
            await _ready(self._descriptor, loop.add_reader, loop.remove_reader)
            try:
                piece = os.read(self._descriptor, _PIECE)
            except OSError:
                return None  # the terminal or socket behind it is gone
            if not piece or len(self._rest) > _LONGEST:
                return None
            self._rest += piece
        line = bytes(self._rest[:end])
        del self._rest[: end + 1]
        self._looked = 0
        return line


class Outgoing(_Stream):
    """`given` are answers that the client has already, by the ids of their requests: they are not
    given twice. Where one would be another by now, the client is told to ask again."""

    def __init__(self, descriptor: int, given: Mapping[Any, Any] | None = None) -> None:
        self._descriptor = descriptor
        self._turn = asyncio.Lock()
        self._given = dict(given or {})
        # What is left of a message whose sender was cancelled in the midst of it.
        self._owed = bytearray()

    async def send(self, item: SessionMessage) -> None:
        if self._given and isinstance(item.message, JSONRPCResponse | JSONRPCError):
            given = self._given.pop(item.message.id, None)
            if given is not None and not _is_outdated(given, item.message):
                return
            if given is not None:
                item = SessionMessage(_CHANGED)
        text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
        data = text.encode("utf-8", "replace") + b"\n"
        async with self._turn:
            try:
                await self._write(data)
            except OSError:
                raise anyio.BrokenResourceError from None

    async def _write(self, data: bytes) -> None:
        """A message that was begun is finished: half a line would spoil the next one, too."""
        await self._flush()
        await self._writable()
        self._owed += data
        await self._flush()

    async def _flush(self) -> None:
        """In pieces that a pipe takes at once as soon as it takes anything."""
        while self._owed:
            await self._writable()
            written = os.write(self._descriptor, self._owed[: select.PIPE_BUF])
            del self._owed[:written]

    async def _writable(self) -> None:
        if not _is_writable(self._descriptor):
            loop = asyncio.get_running_loop()
            await _ready(self._descriptor, loop.add_writer, loop.remove_writer)


def _refusal(line: bytes) -> JSONRPCError | None:
    """The answer to a request that is none to the SDK, such as one with half a character in it, as
    a model writes it that was cut short; None where nobody knows what to answer to."""
    try:
        message = json.loads(line)
        known = isinstance(message, dict) and "method" in message
        number = message.get("id") if known else None
        if type(number) not in (int, str) or not str(number).encode():
            return None
    except (ValueError, RecursionError):
        return None
    said = "this request cannot be read: it is no JSON-RPC 2.0 in whole Unicode characters"
    error = ErrorData(code=INVALID_REQUEST, message=said)
    return JSONRPCError(jsonrpc="2.0", id=number, error=error)


def _is_outdated(given: Any, message: JSONRPCResponse | JSONRPCError) -> bool:
    """In the later era a client has to subscribe to changes, and its list is never kept."""
    if "tools" not in given or "_meta" in given:
        return False
    return isinstance(message, JSONRPCError) or message.result["tools"] != given["tools"]


async def _ready(
    descriptor: int, add: Callable[..., None], remove: Callable[[int], object]
) -> None:
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    try:
        add(descriptor, _finish, ready)
    except PermissionError:
        return  # a file, which never lets anybody wait
    try:
        await ready
    finally:
        remove(descriptor)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _is_writable(descriptor: int) -> bool:
    poller = select.poll()
    poller.register(descriptor, select.POLLOUT)
    return bool(poller.poll(0))
