"""All servers of a runtime, for calls of any thread: one loop in one thread holds them."""

from __future__ import annotations

import _thread  # as in `exchange`
import time
from collections.abc import Callable, Coroutine, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Place, Policy, Sandbox, Waiter
from tongs.core.record import dataclass, field
from tongs.core.servers import (
    Listing,
    ServerAnswer,
    ServerCall,
    ServerRequest,
    ServerSpec,
    ServerState,
)
from tongs.gateway.exchange import Exchange, closed, cut_short

if TYPE_CHECKING:
    import asyncio
    import threading
    from concurrent.futures import Future

    from tongs.gateway.hosting import Hosted

# Objects that are known to be a config of some server.
_MOST_KNOWN = 256
# Seconds beside the start, at the most.
_PAUSE = 15.0
# Seconds for all servers together to end.
_ENDING = 10.0
# Seconds for what is left after that.
_LAST = 1.0


@dataclass(frozen=True, slots=True)
class Values:
    """What a server is given, with the values of its secrets, which are redacted everywhere."""

    environment: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()


class Surroundings(Protocol):
    """What a runtime knows of the place in which servers run."""

    @property
    def sandbox(self) -> Sandbox: ...

    @property
    def place(self) -> Place: ...

    @property
    def private_hosts(self) -> tuple[str, ...]:
        """Hosts with a private address that the person's config lets tools reach."""

    def policy(self, spec: ServerSpec) -> Policy:
        """What its process must hold to, for as long as it lives."""

    def values(self, spec: ServerSpec) -> Values:
        """Looked up for every start anew. May block. Raises ToolError SECRET_MISSING."""

    def waiter(self) -> Waiter:
        """One for the loop that runs."""


class Gateway:
    """As `core.servers.Servers`. Any thread may use it."""

    def __init__(self, surroundings: Surroundings) -> None:
        self._surroundings = surroundings
        # By the identity of their configs: two of one name are two servers.
        self._hosted: dict[str, Hosted] = {}
        # By identity of the object, holding it so that the identity cannot be given to another.
        self._known: dict[int, tuple[ServerSpec, Hosted]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lock = _thread.allocate_lock()

    async def listed(self, spec: ServerSpec, waiter: Waiter) -> Listing:
        # The start has its own limit, which the list is a part of; before it there may be a pause.
        seconds = spec.start_timeout + _PAUSE
        deadline = time.monotonic() + seconds
        exchange = Exchange(self._submit)

        async def work(_: ServerCall) -> Listing:
            return await self._of(spec).listed()

        try:
            return await exchange.run(work, waiter, deadline)
        except TimeoutError:
            raise cut_short(spec.name, seconds) from None

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Waiter) -> ServerAnswer:
        server = request.tool.server
        begun = time.monotonic()
        exchange = Exchange(self._submit)

        async def work(box: ServerCall) -> ServerAnswer:
            return await self._of(server).call(request, box)

        try:
            return await exchange.run(work, waiter, request.deadline, call)
        except TimeoutError:
            raise cut_short(server.name, round(time.monotonic() - begun, 1)) from None

    def state(self, name: str) -> ServerState:
        with self._lock:
            known = [one for one in self._hosted.values() if one.spec.name == name]
        states = [hosted.state for hosted in known]
        running = [state for state in states if state.status == "running"]
        return (running or states or [ServerState(name, "idle")])[-1]

    def close(self) -> None:
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            hosted, self._hosted = list(self._hosted.values()), {}
            self._known.clear()
        if loop is None or thread is None:
            return
        import asyncio  # noqa: PLC0415 - whoever is here has it loaded

        async def end() -> None:
            await asyncio.gather(*(one.stop() for one in hosted), return_exceptions=True)

        ending = asyncio.run_coroutine_threadsafe(end(), loop)
        try:
            ending.result(_ENDING)
        except TimeoutError:
            pass  # their supervisors end them when this process is gone
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join(_ENDING)

    def _of(self, spec: ServerSpec) -> Hosted:
        """On the loop."""
        from tongs.gateway.hosting import Hosted  # noqa: PLC0415 - needs asyncio
        from tongs.gateway.starting import connection_of  # noqa: PLC0415 - as above

        _, known = self._known.get(id(spec), (None, None))
        if known is not None:
            return known
        import asyncio  # noqa: PLC0415 - as above

        identity = spec.identity
        with self._lock:
            if self._loop is not asyncio.get_running_loop():
                raise closed()
            hosted = self._hosted.get(identity)
            if hosted is None:
                hosted = Hosted(spec, lambda: connection_of(spec, self._surroundings))
                self._hosted[identity] = hosted
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[id(spec)] = (spec, hosted)
        return hosted

    def _submit(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        import asyncio  # noqa: PLC0415 - whoever is here pays for the SDK as well

        # Under the lock, so that a loop gets nothing any more once somebody is about to end it.
        with self._lock:
            try:
                if self._loop is None:
                    self._loop, self._thread = _started(self._surroundings.sandbox.expect_threads)
                return asyncio.run_coroutine_threadsafe(work, self._loop)
            except BaseException:
                work.close()
                raise


def _started(
    before: Callable[[], None],
) -> tuple[asyncio.AbstractEventLoop, threading.Thread]:
    import asyncio  # noqa: PLC0415 - servers only
    import threading  # noqa: PLC0415 - as above

    # From here on this process has two threads, and must not be forked as it is.
    before()
    loop = asyncio.new_event_loop()

    def run() -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
            # Whoever still waits for something is told, instead of waiting on.
            left = asyncio.all_tasks(loop)
            for task in left:
                task.cancel()
            if left:
                loop.run_until_complete(asyncio.wait(left, timeout=_LAST))
        finally:
            loop.close()

    # A daemon: a program that never closes its runtime must still be able to end.
    thread = threading.Thread(target=run, name="tongs-servers", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:
        loop.close()
        raise ToolError(
            ErrorCode.EXECUTION_ERROR, f"no thread for MCP servers could be started: {error}"
        ) from error
    return loop, thread
