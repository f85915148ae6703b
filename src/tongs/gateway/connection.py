"""One conversation with a server: what it offers, calls, and what it asks in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar

from tongs._version import __version__
from tongs.core.annotations import Any, Protocol
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.servers import (
    Listing,
    ServerAnswer,
    ServerCall,
    ServerForm,
    ServerSpec,
    definition_digest,
)
from tongs.gateway.definitions import all_visible, shown
from tongs.gateway.filtering import WHOLE, Filter
from tongs.redaction import Redactor

# Pages of one list of tools.
_MOST_PAGES = 64
_LONGEST_NAME = 128
_LONGEST_INSTRUCTIONS = 16 * 1024
_LONGEST_MESSAGE = 4 * 1024
# What nobody would read is nothing to agree to.
_LARGEST_FORM = 64 * 1024
# Seconds, for the SDK, which cannot know that a person is being asked meanwhile.
_ENDLESS = 24 * 3600.0
# Seconds for which a server may be silent before it is taken for dead.
ALIVE = 5.0

# Which call a question of the modern era belongs to; before, nothing told.
_current: ContextVar[ServerCall | None] = ContextVar("call", default=None)


class Carrying(Protocol):
    """A transport: entered by the SDK, and what it knows of the server besides."""

    failure: ToolError | None
    over: asyncio.Event

    @property
    def last_words(self) -> str: ...

    @property
    def enforced(self) -> Sequence[str]: ...

    @property
    def warnings(self) -> Sequence[str]:
        """What has happened at its walls so far."""

    async def __aenter__(self) -> tuple[Any, Any]: ...

    async def __aexit__(self, *exc: object) -> None: ...

    def kill(self) -> None: ...


class Connection:
    """From the first word to the last. `roots` are the folders that it is told of."""

    def __init__(
        self,
        spec: ServerSpec,
        transport: Carrying,
        passing: Filter,
        redactor: Redactor,
        roots: Sequence[str],
    ) -> None:
        self.spec = spec
        self.transport = transport
        self._filter = passing
        self._redactor = redactor
        self._roots = roots
        self._client: Any = None
        self._calls: list[ServerCall] = []
        self._digests: dict[str, str] = {}
        # The server has said that its tools are others now.
        self._outdated = False
        self._listing: Listing | None = None
        self._warned: list[str] = []
        self._listed = asyncio.Lock()
        self.closing = asyncio.Event()

    async def hold(self, connected: Callable[[], None]) -> None:
        """Connect, say so, and stay until it is over on either side. Raises ToolError."""
        from mcp.client import Client  # noqa: PLC0415 - slow to load
        from mcp_types import Implementation  # noqa: PLC0415 - as above

        client = Client(
            self.transport,
            client_info=Implementation(name="tongs", version=__version__),
            read_timeout_seconds=self.spec.start_timeout,
            elicitation_callback=self._asked,
            list_roots_callback=self._told_roots if self._roots else None,
            message_handler=self._notified,
            cache=None,
        )
        async with client:
            self._client = client
            listening = asyncio.create_task(self._listen())
            try:
                await self.listing()
                connected()
                await _first(self.transport.over.wait(), self.closing.wait())
            finally:
                listening.cancel()
                await asyncio.gather(listening, return_exceptions=True)

    @property
    def version(self) -> str:
        return "" if self._client is None else str(self._client.protocol_version)

    async def listing(self) -> Listing:
        """Its tools now: asked for once, and again when it says that they are others."""
        async with self._listed:
            if self._listing is None or self._outdated:
                self._outdated = False
                self._listing = await self._list()
                self._digests = {
                    tool["name"]: definition_digest(tool) for tool in self._listing.tools
                }
            return self._listing

    async def digest(self, name: str) -> str | None:
        """Of a tool as it is now; None where there is no such tool."""
        await self.listing()
        return self._digests.get(name)

    async def call(self, name: str, arguments: Mapping[str, Any], call: ServerCall) -> ServerAnswer:
        """Raises MCPError, or what the SDK raises where an answer makes no sense."""

        async def progress(done: float, total: float | None, message: str | None) -> None:
            said = self._redactor.text(shown(message or "", _LONGEST_MESSAGE))
            call.progress(done, total, said)

        self._calls.append(call)
        token = _current.set(call)
        try:
            result = await self._client.call_tool(
                name, dict(arguments), read_timeout_seconds=_ENDLESS, progress_callback=progress
            )
        finally:
            _current.reset(token)
            self._calls.remove(call)
        told = result.model_dump(by_alias=True, mode="json", exclude_none=True)
        clean: dict[str, Any] = self._redactor.mapping(told)
        return ServerAnswer(
            content=tuple(clean.get("content", ())),
            structured=clean.get("structuredContent"),
            failed=bool(clean.get("isError")),
            warnings=self._new_warnings(),
        )

    def _new_warnings(self) -> tuple[str, ...]:
        """Said once: to whoever calls next, since nobody can tell whose call it was."""
        new = [text for text in self.transport.warnings if text not in self._warned]
        self._warned += new
        return tuple(new)

    async def is_alive(self) -> bool:
        """Whether it answers anything at all, soon."""
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - as above
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above

        session = self._client.session
        modern = self.version in MODERN_PROTOCOL_VERSIONS
        try:
            async with asyncio.timeout(ALIVE):
                await (session.send_discover(self.version) if modern else session.send_ping())
        except MCPError as error:
            # Whatever it says, it speaks; unless the SDK says it, because the line is dead.
            from mcp_types import CONNECTION_CLOSED, REQUEST_TIMEOUT  # noqa: PLC0415 - as above

            return error.code not in (CONNECTION_CLOSED, REQUEST_TIMEOUT)
        except TimeoutError:
            return False
        return True

    def trouble(self, error: Exception) -> ToolError:
        """What became of a request, in words: what the server said, or how it ended."""
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - as above
        from mcp_types import CONNECTION_CLOSED  # noqa: PLC0415 - as above

        if isinstance(error, MCPError) and error.code != CONNECTION_CLOSED:
            said = self._redactor.text(shown(error.message, _LONGEST_MESSAGE))
            return ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"the server {self.spec.name} answers with an error: {said}",
                details={"server": self.spec.name, "code": error.code},
            )
        if isinstance(error, MCPError):
            return self.ended()
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"the answer of the server {self.spec.name} makes no sense ({type(error).__name__})",
            details={"server": self.spec.name},
        )

    def ended(self) -> ToolError:
        """Why nobody is there any more."""
        why = self.transport.failure
        reason = "it has closed the connection" if why is None else why.message
        details: dict[str, Any] = {"server": self.spec.name}
        if why is not None:
            details = {**why.details, **details}
        words = self._redactor.text(shown(self.transport.last_words.strip(), _LONGEST_MESSAGE))
        if words:
            details["stderr"] = words
        last = f"; its last words: {words.splitlines()[-1][:200]}" if words else ""
        return ToolError(
            ErrorCode.EXECUTION_ERROR if why is None else why.code,
            f"the server {self.spec.name} is gone: {self._redactor.text(reason)}{last}",
            details=details,
            hint="" if why is None else why.hint,
        )

    async def _list(self) -> Listing:
        from mcp.shared.exceptions import MCPError  # noqa: PLC0415 - as above
        from mcp_types import METHOD_NOT_FOUND  # noqa: PLC0415 - as above

        self._filter.new_list()
        tools: dict[str, Any] = {}
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            try:
                page = await self._client.list_tools(cursor=cursor)
            except MCPError as error:
                if error.code != METHOD_NOT_FOUND:
                    raise
                break  # it has none
            for tool in page.tools:
                tools.setdefault(tool.name, self._redactor.mapping(tool.meta[WHOLE]))
            cursor = page.next_cursor
            if cursor is None or self._filter.room.full:
                break
        else:
            self._filter.problems.append(f"its list of tools has more than {_MOST_PAGES} pages")
        info = self._client.server_info
        clean = self._redactor.text
        return Listing(
            tools=tuple(tools.values()),
            name=clean(shown(info.name, _LONGEST_NAME)) if info else "",
            version=clean(shown(info.version, _LONGEST_NAME)) if info else "",
            instructions=clean(shown(self._client.instructions or "", _LONGEST_INSTRUCTIONS)),
            problems=tuple(self._filter.problems),
        )

    async def _listen(self) -> None:
        """In the modern era a server says that its tools changed to those who ask for that."""
        from mcp_types.version import MODERN_PROTOCOL_VERSIONS  # noqa: PLC0415 - as above

        tools = self._client.server_capabilities.tools
        if self.version not in MODERN_PROTOCOL_VERSIONS or not (tools and tools.list_changed):
            return
        # Whatever is wrong with it, the next connection looks at the tools anyway.
        with suppress(Exception):
            async with self._client.listen(tools_list_changed=True) as events:
                async for _ in events:
                    self._outdated = True

    async def _notified(self, message: Any) -> None:
        from mcp_types import ToolListChangedNotification  # noqa: PLC0415 - as above

        if isinstance(message, ToolListChangedNotification):
            self._outdated = True

    async def _told_roots(self, context: Any) -> Any:
        from urllib.parse import quote  # noqa: PLC0415 - few ask

        from mcp_types import ListRootsResult  # noqa: PLC0415 - as above

        roots = [{"uri": f"file://{quote(path)}"} for path in self._roots]
        return ListRootsResult.model_validate({"roots": roots})

    async def _asked(self, context: Any, params: Any) -> Any:
        """Handed to the person of the call that it belongs to; without one it is declined."""
        from mcp_types import ElicitResult  # noqa: PLC0415 - as above

        call = _current.get() or (self._calls[0] if len(self._calls) == 1 else None)
        if call is None:
            return ElicitResult(action="decline")
        schema = getattr(params, "requested_schema", None) or {}
        if len(json.dumps(schema)) > _LARGEST_FORM:
            return ElicitResult(action="decline")
        # Questions are stored, and passed on to other programs, as answers are.
        clean = self._redactor.text
        form = ServerForm(
            message=clean(shown(params.message, _LONGEST_MESSAGE)),
            schema=self._redactor.mapping(all_visible(schema)) if isinstance(schema, dict) else {},
            url=clean(shown(getattr(params, "url", ""), _LONGEST_MESSAGE)),
        )
        filled = await call.fill_in(form)
        if filled is None:
            return ElicitResult(action="decline")
        return ElicitResult(action="accept", content=None if form.url else dict(filled))


async def _first(*waits: Awaitable[Any]) -> None:
    tasks = [asyncio.ensure_future(wait) for wait in waits]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
