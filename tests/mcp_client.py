"""A real MCP client for tests that are no coroutines: it lives on an event loop in a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import mcp_types as types
from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

# What a person does with a form: an action, and what stands in the fields.
Answer = Callable[[types.ElicitRequestFormParams], types.ElicitResult]
ERAS = ("legacy", "2026-07-28")
SECONDS = 30


class Loop:
    """One event loop for all clients of a test session."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Talk:
    """A connection. `answers` are given to the next forms, one each; `forms` are those shown."""

    def __init__(
        self,
        loop: Loop,
        command: Sequence[str],
        *,
        cwd: Path,
        env: dict[str, str],
        era: str = ERAS[1],
        asks: bool = True,
        name: str = "test-agent",
    ) -> None:
        self._loop = loop
        self.era = era
        self.answers: list[Answer] = []
        self.forms: list[types.ElicitRequestFormParams] = []
        self.heard: list[Any] = []
        self._over = asyncio.Event()
        server = StdioServerParameters(command=command[0], args=list(command[1:]), env=env, cwd=cwd)
        self._server, self._asks, self._name = server, asks, name
        self.client: Any = None
        ready: Future[None] = Future()
        self._life = loop.start(self._live(ready))
        ready.result(SECONDS)

    async def _live(self, ready: Future[None]) -> None:
        try:
            async with AsyncExitStack() as stack:
                client = Client(
                    stdio_client(self._server),
                    mode=self.era,  # type: ignore[arg-type]
                    elicitation_callback=self._elicited if self._asks else None,
                    message_handler=self._message,
                    client_info=types.Implementation(name=self._name, version="1"),
                )
                self.client = await stack.enter_async_context(client)
                ready.set_result(None)
                await self._over.wait()
        except BaseException as error:
            if not ready.done():
                ready.set_exception(error)
            raise

    async def _elicited(self, context: Any, params: Any) -> types.ElicitResult:
        self.forms.append(params)
        return self.answers.pop(0)(params)

    async def _message(self, message: Any) -> None:
        self.heard.append(message)

    def start(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return self._loop.start(work)

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self._loop.start(work).result(SECONDS)

    def tools(self) -> dict[str, types.Tool]:
        return {tool.name: tool for tool in self.do(self.client.list_tools()).tools}

    def call(self, name: str, /, *answers: Answer, **arguments: Any) -> types.CallToolResult:
        """The result of a call; `answers` fill in the forms that it leads to."""
        self.forms.clear()
        self.answers[:] = answers
        result: types.CallToolResult = self.do(self.client.call_tool(name, arguments))
        assert not self.answers, "fewer questions were asked than answers were there"
        return result

    def raw(self, name: str, arguments: dict[str, Any], **more: Any) -> Any:
        """One round only: the answer may be that something is missing."""
        session = self.client.session
        return self.do(session.call_tool(name, arguments, allow_input_required=True, **more))

    def close(self) -> None:
        self._loop.loop.call_soon_threadsafe(self._over.set)
        self._life.result(SECONDS)


def text(result: types.CallToolResult) -> str:
    (first, *_) = result.content
    assert isinstance(first, types.TextContent)
    return first.text


def error_code(result: types.CallToolResult) -> str:
    return str(error(result)["code"])


def error(result: types.CallToolResult) -> dict[str, Any]:
    assert result.is_error
    assert result.meta is not None
    found: dict[str, Any] = result.meta["tongs/error"]
    return found


def fill(**fields: Any) -> Answer:
    """Submit the form with these fields, the others as they were shown."""

    def answer(form: types.ElicitRequestFormParams) -> types.ElicitResult:
        shown = form.requested_schema["properties"]
        defaults = {name: field["default"] for name, field in shown.items() if "default" in field}
        return types.ElicitResult(action="accept", content={**defaults, **fields})

    return answer


def turn_away(action: str) -> Answer:
    return lambda form: types.ElicitResult(action=action)  # type: ignore[arg-type]


allow = fill(decision="allow")
deny = fill(decision="deny", reason="not today")
