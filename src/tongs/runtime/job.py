"""One background call: what it has said so far, and what came of it."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

from tongs.core import jobs
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode
from tongs.core.execution import Event, OutputArrived
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import decoded

if TYPE_CHECKING:
    import asyncio

# Bytes of output held for each; of more, the end is what matters.
MOST_OUTPUT = 4 * 1024 * 1024


class BackgroundJob:
    """A `core.jobs.Job`. Any thread may ask it; one task or thread feeds it."""

    def __init__(self, call: ToolCall) -> None:
        self.id = f"job-{os.urandom(4).hex()}"
        self.call_id = call.id
        self.tool = call.name
        self.result: ToolResult | None = None
        self.started_at = time.time()
        self.begun = False
        # Orders the end; set by whoever runs it.
        self.stop: Callable[[], None] = lambda: None
        # Set when the call has begun to run, or has ended before that.
        self.answerable = threading.Event()
        self._clock = time.monotonic()
        self._ended_at: float | None = None
        self._ended = threading.Event()
        self._pieces: deque[bytes] = deque()
        self._held = 0
        self._dropped_lines = 0
        self._cut = False
        self._lock = threading.Lock()

    @property
    def status(self) -> str:
        if self.result is None:
            return jobs.RUNNING
        if self.result.error is None:
            return jobs.DONE
        cancelled = self.result.error.code is ErrorCode.CANCELLED
        return jobs.STOPPED if cancelled else jobs.FAILED

    @property
    def duration(self) -> float:
        return (self._ended_at or time.monotonic()) - self._clock

    def text(self) -> tuple[int, str]:
        with self._lock:
            dropped, data, cut = self._dropped_lines, b"".join(self._pieces), self._cut
        if cut:
            # The rest of a line whose beginning is gone.
            dropped, data = dropped + 1, data.partition(b"\n")[2]
        text = decoded(data)
        if not data and self.result is not None:
            text = self.result.output  # from a tool that says everything at its end
        return dropped, text

    def wait(self, seconds: float) -> bool:
        return self._ended.wait(seconds)

    def begin(self, tool: Tool) -> None:
        self.tool = tool.name
        self.begun = True
        self.answerable.set()

    def observe(self, event: Event) -> None:
        """What arrives here has no secret in it any more."""
        if not isinstance(event, OutputArrived):
            return
        with self._lock:
            self._pieces.append(event.data)
            self._held += len(event.data)
            while self._held > MOST_OUTPUT and len(self._pieces) > 1:
                oldest = self._pieces.popleft()
                self._held -= len(oldest)
                self._dropped_lines += oldest.count(b"\n")
                self._cut = not oldest.endswith(b"\n")

    def end(self, result: ToolResult) -> None:
        self._ended_at = time.monotonic()
        self.result = result
        self._ended.set()
        self.answerable.set()


class ThreadJob(BackgroundJob):
    """Runs in a thread of its own."""


class TaskJob(BackgroundJob):
    """Runs in a task of the loop that it was started on."""

    def __init__(self, call: ToolCall) -> None:
        super().__init__(call)
        self.task: asyncio.Task[ToolResult] | None = None
        self.when_answerable: Callable[[], object] = lambda: None

    def begin(self, tool: Tool) -> None:
        super().begin(tool)
        self.when_answerable()


class Announced:
    """An audit that tells a job when its call has begun to run."""

    def __init__(self, audit: Any, job: BackgroundJob) -> None:
        self._audit = audit
        self._job = job

    def __getattr__(self, name: str) -> Any:
        return getattr(self._audit, name)

    def began(
        self, call: ToolCall, tool: Tool, verdict: Any, allowance: Any, response: Any
    ) -> None:
        self._audit.began(call, tool, verdict, allowance, response)
        if call.id == self._job.call_id:  # and not one that it calls
            self._job.begin(tool)
