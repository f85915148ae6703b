"""Background calls: each goes through the same pipeline, in a task or a thread of its own.

They belong to one runtime. When that is closed, or its process ends, they end: the sandbox of each
kills its processes as soon as nobody holds the other end of the line.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence

from tongs.core import jobs
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.parts import Door, Parts
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.pipeline import run
from tongs.runtime.job import Announced, BackgroundJob, TaskJob, ThreadJob

if TYPE_CHECKING:
    import asyncio

    from tongs.sandbox.waiting import StoppableWaiter

# At one time; each holds processes, and memory for its output.
MOST_RUNNING = 16
# Ended ones of which the outcome can still be asked for.
MOST_ENDED = 64
# Seconds that the death of a process tree may take.
_DYING = 30.0


class BackgroundJobs:
    """A `core.jobs.Jobs` that also starts them."""

    def __init__(self, *, threads: bool) -> None:
        self._threads = threads
        self._jobs: dict[str, BackgroundJob] = {}
        self._lock = threading.Lock()
        self._closed = False
        self._when_over: list[Callable[[], None]] = []
        # The last job and whoever closes the session may come to that point together.
        self._settling = threading.Lock()
        self._watches_exit = False

    def all(self) -> Sequence[BackgroundJob]:
        with self._lock:
            return [job for job in self._jobs.values() if job.begun]

    def get(self, handle: str) -> BackgroundJob:
        job = self._jobs.get(handle)
        if job is None or not job.begun:
            raise jobs.unknown(handle)
        return job

    async def run(self, call: ToolCall, parts: Parts, door: Door) -> ToolResult:
        """The handle, once the call has begun to run; else why it has not."""
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - calls only

        blocking = isinstance(door.waiter, BlockingWaiter)
        try:
            job = self._admitted(call, parts, door, blocking=blocking)
        except ToolError as error:
            return await run(call, replace(parts, find=_raising(error)), door)
        parts = replace(parts, audit=Announced(parts.audit, job))
        door = replace(door, observe=job.observe)
        if blocking:
            self._in_thread(job, call, parts, door)
        else:
            await self._in_task(job, call, parts, door)
        if not job.begun and job.result is not None:
            return job.result
        said = f"{job.tool} goes on in the background as {job.id}"
        value = {"job": job.id, "status": job.status}
        return ToolResult(call.id, said, value, metadata={"job": job.id})

    def close(self, then: Callable[[], None] = lambda: None) -> None:
        """End all jobs. `then` is called when the last one has ended, at once where it can be."""
        with self._lock:
            self._closed = True
            self._when_over.append(then)
            running = [job for job in self._jobs.values() if job.result is None]
        for job in running:
            job.stop()
        for job in running:
            if isinstance(job, ThreadJob):
                job.wait(_DYING)
        self._settle()

    async def aclose(self) -> None:
        """Wait until the tasks of ended jobs are gone; for after `close`."""
        import asyncio  # noqa: PLC0415 - only with a loop

        tasks = [job.task for job in self._jobs.values() if isinstance(job, TaskJob)]
        if pending := [task for task in tasks if task is not None and not task.done()]:
            await asyncio.wait(pending, timeout=_DYING)

    def _admitted(
        self, call: ToolCall, parts: Parts, door: Door, *, blocking: bool
    ) -> BackgroundJob:
        tool = parts.find(call, door.scope)
        if not tool.background:
            raise _refused(tool, "it does not run in the background", "call it without background")
        if blocking and not self._threads:
            raise _refused(
                tool,
                "a job ends with its session, and this session is one call",
                "leave `background` out; a program opens a session with Runtime.open()",
            )
        with self._lock:
            if self._closed:
                raise _refused(tool, "this session is over", "open another runtime")
            running = sum(job.result is None for job in self._jobs.values())
            if running >= MOST_RUNNING:
                raise _refused(
                    tool,
                    f"{running} jobs are running, the most there may be",
                    "stop one with job_stop, or wait for one with job_status",
                )
            job = ThreadJob(call) if blocking else TaskJob(call)
            ended = [key for key, known in self._jobs.items() if known.result is not None]
            for key in ended[: max(0, len(ended) - MOST_ENDED + 1)]:
                del self._jobs[key]
            self._jobs[job.id] = job
        return job

    def _in_thread(self, job: BackgroundJob, call: ToolCall, parts: Parts, door: Door) -> None:
        from tongs.sandbox.waiting import StoppableWaiter, Stopped  # noqa: PLC0415 - as above

        waiter: StoppableWaiter = StoppableWaiter()
        job.stop = waiter.stop
        self._watch_exit()

        def work() -> None:
            result = ToolResult(call.id, error=_cancelled(call))
            try:
                result = drive(run(call, parts, replace(door, waiter=waiter)))
            except Stopped:
                pass  # somebody wanted it to end, and it has been recorded
            finally:
                waiter.close()
                self._over(job, result)

        # A daemon: a program whose last line is done must not wait for its jobs.
        threading.Thread(target=work, name=job.id, daemon=True).start()
        job.answerable.wait()

    async def _in_task(self, job: BackgroundJob, call: ToolCall, parts: Parts, door: Door) -> None:
        import asyncio  # noqa: PLC0415 - only with a loop

        assert isinstance(job, TaskJob)
        loop = asyncio.get_running_loop()
        answerable = asyncio.Event()
        job.when_answerable = lambda: loop.call_soon_threadsafe(answerable.set)
        task = loop.create_task(run(call, parts, door), name=job.id)
        job.task = task

        def over(done: asyncio.Task[ToolResult]) -> None:
            cancelled = ToolResult(call.id, error=_cancelled(call))
            self._over(job, cancelled if done.cancelled() else done.result())
            answerable.set()

        def stop() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)

        task.add_done_callback(over)
        job.stop = stop
        try:
            await answerable.wait()
        except asyncio.CancelledError:
            task.cancel()  # nobody has got the handle
            raise

    def _over(self, job: BackgroundJob, result: ToolResult) -> None:
        job.end(result)
        if not job.begun:
            with self._lock:
                self._jobs.pop(job.id, None)
        if self._closed:
            self._settle()

    def _settle(self) -> None:
        """After the last job of a closed session: what it needed may be closed, too."""
        with self._settling:
            with self._lock:
                if any(job.result is None for job in self._jobs.values()):
                    return
                todo, self._when_over = self._when_over, []
            for each in todo:
                each()

    def _watch_exit(self) -> None:
        """A program that ends without closing its runtime ends its jobs, and they are recorded."""
        if not self._watches_exit:
            import atexit  # noqa: PLC0415 - where there is a job

            self._watches_exit = True
            atexit.register(self.close)


def lifted(call: ToolCall, find: Callable[[], Tool]) -> ToolCall:
    """The call with a model's `background` argument made a part of the call itself."""
    from tongs.core.call import BACKGROUND  # noqa: PLC0415 - where the argument is given

    try:
        properties: Mapping[str, Any] = find().input_schema["properties"]
    except ToolError:
        return call  # the pipeline will say it
    wanted = call.arguments["background"]
    if properties.get("background", BACKGROUND) != BACKGROUND or not isinstance(wanted, bool):
        return call
    arguments = {key: value for key, value in call.arguments.items() if key != "background"}
    return replace(call, arguments=arguments, background=wanted or call.background)


def _refused(tool: Tool, why: str, hint: str) -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} was not run: {why}",
        details={"parameter": "background"},
        hint=hint,
    )


def _raising(error: ToolError) -> Callable[[ToolCall, Any], Tool]:
    def find(call: ToolCall, scope: Any) -> Tool:
        raise error

    return find


def _cancelled(call: ToolCall) -> ToolError:
    return ToolError(ErrorCode.CANCELLED, f"{call.name} was stopped")
