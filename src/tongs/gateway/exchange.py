"""The line between a call, wherever it runs, and the loop of the gateway.

The call waits in its own thread or on its own loop, by its own waiter; what comes for it (progress,
a question for the person, the answer) is put into a box, and a byte in a pipe says so. So a person
is asked where the call runs, and a call can be given up at any moment.
"""

from __future__ import annotations

import _thread  # as in the sandbox: the public module adds nothing here
import os
import select
import time
from collections import deque
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING, Any, TypeVar
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Waiter
from tongs.core.record import dataclass
from tongs.core.servers import ServerCall, ServerForm

if TYPE_CHECKING:
    import asyncio
    from concurrent.futures import Future

T = TypeVar("T")
# Hands work to the gateway's loop.
Submit = Callable[[Coroutine[Any, Any, Any]], "Future[Any]"]


@dataclass(frozen=True, slots=True)
class _Progress:
    done: float
    total: float | None
    message: str


@dataclass(frozen=True, slots=True)
class _Question:
    form: ServerForm
    reply: Callable[[Mapping[str, Any] | None], None]


class Exchange:
    """One request to the gateway. Its loop sees a `ServerCall`, which is this."""

    def __init__(self, submit: Submit) -> None:
        self._submit = submit
        self._box: deque[_Progress | _Question] = deque()
        self._lock = _thread.allocate_lock()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)

    async def run(
        self,
        work: Callable[[ServerCall], Coroutine[Any, Any, T]],
        waiter: Waiter,
        deadline: float | None,
        call: ServerCall | None = None,
    ) -> T:
        """What `work` gives, which runs on the gateway's loop.

        Raises TimeoutError, and ToolError where the gateway is closed meanwhile.
        """
        task: Future[T] = self._submit(work(self))
        task.add_done_callback(lambda _: self._ring())
        try:
            while not task.done():
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    raise TimeoutError
                if await waiter.ready([(self._reader, select.POLLIN)], left):
                    os.read(self._reader, 4096)
                asked = await self._handle(call)
                deadline = None if deadline is None else deadline + asked
            # What came right before the answer. Nobody waits for the answer to a question any more.
            await self._handle(call, ask=False)
            if task.cancelled():
                raise closed()
            return task.result()
        except BaseException:
            # Also where the call was cancelled: nobody waits for the answer any more.
            task.cancel()
            raise
        finally:
            self._close()

    def progress(self, done: float, total: float | None, message: str) -> None:
        """On the gateway's loop. Only the newest is of interest to somebody who comes late."""
        with self._lock:
            while self._box and isinstance(self._box[-1], _Progress):
                self._box.pop()
            self._box.append(_Progress(done, total, message))
        self._ring()

    async def fill_in(self, form: ServerForm) -> Mapping[str, Any] | None:
        """On the gateway's loop."""

        import asyncio  # noqa: PLC0415 - whoever is here pays for the SDK as well

        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Mapping[str, Any] | None] = loop.create_future()

        def settle(filled: Mapping[str, Any] | None) -> None:
            if not answer.done():
                answer.set_result(filled)

        def reply(filled: Mapping[str, Any] | None) -> None:
            with suppress(RuntimeError):  # the loop is closed, and nobody waits for it
                loop.call_soon_threadsafe(settle, filled)

        with self._lock:
            self._box.append(_Question(form, reply))
        self._ring()
        return await answer

    async def _handle(self, call: ServerCall | None, *, ask: bool = True) -> float:
        """What lies in the box; how many seconds the person took, which are not the server's."""
        spent = 0.0
        while True:
            with self._lock:
                item = self._box.popleft() if self._box else None
            if item is None:
                return spent
            if isinstance(item, _Progress):
                if call is not None:
                    call.progress(item.done, item.total, item.message)
                continue
            begun = time.monotonic()
            filled = await call.fill_in(item.form) if call is not None and ask else None
            spent += time.monotonic() - begun
            item.reply(filled)

    def _ring(self) -> None:
        with self._lock:
            if self._writer >= 0:
                with suppress(BlockingIOError):  # it rings already
                    os.write(self._writer, b"x")

    def _close(self) -> None:
        with self._lock:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1


def closed() -> ToolError:
    return ToolError(ErrorCode.EXECUTION_ERROR, "Tongs ended its MCP servers during the call")


def cut_short(server: str, seconds: float) -> ToolError:
    return ToolError(
        ErrorCode.TIMEOUT,
        f"the server {server} did not answer within {seconds:g} s; the call was cancelled",
        details={"server": server},
        hint=f"raise `mcp.servers.{server}.timeout` if it needs longer",
    )
