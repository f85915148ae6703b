"""The two ways to wait: by blocking this thread, or on the running event loop."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import math
import os
import select
from collections.abc import Awaitable, Callable, Coroutine, Generator, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import asyncio

T = TypeVar("T")

# poll(2) takes milliseconds as a C int; waiting is only ever cut short by this, never wrong.
_LONGEST = 24 * 3600.0


class BlockingWaiter:
    """For a plain program: never suspends, so no event loop is needed to drive it."""

    leaves_work = False

    def __init__(self) -> None:
        self._last: tuple[list[tuple[int, int]], select.poll] = ([], select.poll())

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        """Those of `watched` that would not block, at least one unless the time ran out."""
        # Large output waits thousands of times for the very same. Two threads never do.
        known, poller = self._last
        if known != watched:
            poller = _poller(watched)
            self._last = (list(watched), poller)
        return _polled(poller, watched, timeout)

    async def blocking(self, work: Callable[[], T], timeout: float | None = None) -> T:
        return work()

    async def awaited(self, work: Awaitable[T], timeout: float | None) -> T:
        """In an event loop that is made for it: nobody can tell whether it will need one."""
        import asyncio  # noqa: PLC0415 - as long as nothing is awaited, nobody pays for it

        from tongs.core.errors import ErrorCode, ToolError  # noqa: PLC0415 - as above

        work_here = _within(work, timeout)
        try:
            return asyncio.run(work_here)
        except RuntimeError:
            if asyncio._get_running_loop() is None:  # noqa: SLF001 - the public one raises
                raise
            work_here.close()
            _close(work)
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                "it needs an event loop, and the one of this thread is busy with this very call",
                hint="await rt.call(…) instead of rt.call_sync(…)",
            ) from None


class Stopped(BaseException):
    """Another thread wants the call to end. No code of a call may catch it for an error."""


class StoppableWaiter(BlockingWaiter):
    """Blocks its thread until another one calls `stop`: then the wait raises `Stopped`, once."""

    leaves_work = True

    def __init__(self) -> None:
        super().__init__()
        self._reader, self._writer = os.pipe()
        self._raised = False
        # Who stops and who closes may meet.
        self._lock = _thread.allocate_lock()

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        if self._raised:
            return await super().ready(watched, timeout)  # what tidies up may wait as well
        bell = (self._reader, select.POLLIN)
        ready = await super().ready([*watched, bell], timeout)
        if bell in ready:
            self._raised = True
            raise Stopped
        return ready

    async def blocking(self, work: Callable[[], T], timeout: float | None = None) -> T:
        """In a thread, which is left alone when the call ends before it."""
        answer: list[tuple[T | None, BaseException | None]] = []
        reader, writer = os.pipe()

        def attempt() -> None:
            try:
                answer.append((work(), None))
            except BaseException as error:  # noqa: BLE001 - it is raised where it is waited for
                answer.append((None, error))
            os.close(writer)

        _thread.start_new_thread(attempt, ())
        try:
            over = await self.ready([(reader, select.POLLIN)], timeout)
        finally:
            os.close(reader)
        if not over:
            raise TimeoutError
        value, error = answer[0]
        if error is not None:
            raise error
        return value  # type: ignore[return-value]  # no error: it is what `work` gave

    def stop(self) -> None:
        with self._lock:
            if self._writer >= 0:
                os.write(self._writer, b"x")

    def close(self) -> None:
        with self._lock:
            os.close(self._reader)
            os.close(self._writer)
            self._writer = -1


class LoopWaiter:
    """For asyncio: the loop goes on with everything else meanwhile."""

    leaves_work = True

    async def ready(
        self, watched: Sequence[tuple[int, int]], timeout: float | None
    ) -> Sequence[tuple[int, int]]:
        """As BlockingWaiter; no two calls at once may watch the same descriptor."""
        import asyncio  # noqa: PLC0415 - half of a whole `tool run`, unused on the command line

        loop = asyncio.get_running_loop()
        first: asyncio.Future[None] = loop.create_future()
        timer = None if timeout is None else loop.call_later(max(timeout, 0), _finish, first)
        # All of it behind one descriptor: the loop has to take up and put down only that one.
        with select.epoll() as gate:
            try:
                for descriptor, event in watched:
                    gate.register(descriptor, event)
                loop.add_reader(gate.fileno(), _finish, first)
                await first
                happened = {descriptor for descriptor, _ in gate.poll(0)}
            finally:
                loop.remove_reader(gate.fileno())
                if timer is not None:
                    timer.cancel()
        return [pair for pair in watched if pair[0] in happened]

    async def blocking(self, work: Callable[[], T], timeout: float | None = None) -> T:
        import asyncio  # noqa: PLC0415 - as above

        async with asyncio.timeout(timeout):
            return await asyncio.to_thread(work)

    def awaited(self, work: Awaitable[T], timeout: float | None) -> Coroutine[Any, Any, T]:
        return _within(work, timeout)


def _close(work: object) -> None:
    """Nobody will await it, and it shall not complain about that."""
    close = getattr(work, "close", None)
    if close is not None:
        close()


async def _within(work: Awaitable[T], timeout: float | None) -> T:
    if timeout is None:
        return await work
    first: Any = None
    if isinstance(work, Coroutine):
        # Most never wait, and a timer costs more than they do.
        try:
            first = work.send(None)
        except StopIteration as finished:
            return finished.value  # type: ignore[no-any-return]  # typed by the coroutine
    from asyncio import timeout as limit  # noqa: PLC0415 - whoever is here has it loaded

    async with limit(timeout):
        return await (_Rest(work, first) if isinstance(work, Coroutine) else work)


class _Rest:
    """What is left of a coroutine that has begun, and waits for `first`."""

    def __init__(self, work: Coroutine[Any, Any, Any], first: Any) -> None:
        self._work = work
        self._first = first

    def __await__(self) -> Generator[Any, Any, Any]:
        waits = self._first
        step: tuple[Callable[[Any], Any], Any]
        while True:
            try:
                sent = yield waits
            except BaseException as error:  # noqa: BLE001 - thrown in by the loop, for the coroutine
                step = self._work.throw, error
            else:
                step = self._work.send, sent
            try:
                waits = step[0](step[1])
            except StopIteration as finished:
                return finished.value


def poll(descriptor: int, event: int, timeout: float = 0) -> bool:
    """Block until a descriptor is ready; a hang-up counts as what was watched for."""
    poller = select.poll()
    poller.register(descriptor, event)
    return bool(poller.poll(timeout and _milliseconds(timeout)))


def _poller(watched: Sequence[tuple[int, int]]) -> select.poll:
    poller = select.poll()
    for descriptor, event in watched:
        poller.register(descriptor, event)
    return poller


def _polled(
    poller: select.poll, watched: Sequence[tuple[int, int]], timeout: float | None
) -> list[tuple[int, int]]:
    ready = dict(poller.poll(None if timeout is None else _milliseconds(timeout)))
    return [pair for pair in watched if pair[0] in ready]


def _milliseconds(timeout: float) -> int:
    return math.ceil(min(max(timeout, 0), _LONGEST) * 1000)


def _finish(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
