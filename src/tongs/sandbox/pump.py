"""Moves bytes between a running payload and Tongs. Waits only in `waiter.ready`."""

from __future__ import annotations

import contextlib
import os
import select
import time
from collections.abc import Sequence

from tongs.core.annotations import Protocol
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT, Completed, Observer, OutputArrived, Waiter
from tongs.core.record import dataclass
from tongs.sandbox import orders
from tongs.sandbox.capture import Capture
from tongs.sandbox.pipes import Pipes
from tongs.sandbox.waiting import poll

# Output may still come for so long after the whole tree is dead. Only a descriptor that was handed
# to somebody outside the tree can keep a pipe open then.
DRAIN = 0.2
# The wait status of what SIGKILL has ended.
KILLED = 9
# A tree that takes longer to die hangs in the kernel.
DYING = 10.0

# Larger reads are slower: their memory comes fresh from the kernel each time.
_CHUNK = 64 * 1024
_PIPE = 1024 * 1024
_TURN = 4
# From here on a stream is worth a larger pipe. Not earlier: the kernel counts an ordinary user's
# pipes together and gives all later ones a single page once they are many megabytes.
_BUSY = 256 * 1024


@dataclass(frozen=True, slots=True)
class Report:
    """What the supervisor said. Without `accepted` nothing has run; without `status` it died."""

    accepted: bool = False
    status: int | None = None
    # The payload was alive when it had to go: it was out of time, or its tree passed this limit.
    killed: bool = False
    timed_out: bool = False
    exceeded: str = ""
    # The step before the start that failed, and the errno.
    failure: tuple[bytes, int] | None = None


class Line(Protocol):
    """Whoever tells what becomes of a payload: its channel."""

    said: list[list[bytes]]
    over: bool

    def fileno(self) -> int: ...

    def listen(self) -> bool: ...

    def kill(self) -> None: ...


class Pump:
    """One payload's input and output. As a context it lets go of both, and kills in an error."""

    def __init__(
        self, pipes: Pipes, channel: Line, stdin: bytes, capture: Capture, observe: Observer
    ) -> None:
        self._pipes = pipes
        self._channel = channel
        self._stdin = memoryview(stdin)
        self._capture = capture
        self._observe = observe
        self._late = False
        self._streams = {pipes.stdout: STDOUT, pipes.stderr: STDERR}
        self._amounts = {pipes.stdout: 0, pipes.stderr: 0}
        if len(stdin) > _BUSY:
            _enlarge(pipes.stdin)

    def __enter__(self) -> Pump:
        return self

    def __exit__(self, kind: object, *error: object) -> None:
        if kind is not None:
            # Also when the request itself was interrupted: it may have arrived already.
            self._pipes.hand_over()
            self.kill()
        self._pipes.close()

    @property
    def over(self) -> bool:
        """Whether the supervisor has nothing more to say about this payload."""
        # No generator: this is asked several times in every call.
        for said in self._channel.said:
            if said[0] == orders.ENDED:
                return True
        return self._channel.over

    @property
    def report(self) -> Report:
        said = {words[0]: words[1:] for words in self._channel.said}
        ended = said.get(orders.ENDED)
        failed = said.get(orders.FAILED)
        reason = b"" if ended is None else b"".join(ended[1:])
        return Report(
            accepted=orders.ACCEPTED in said,
            status=None if ended is None else int(ended[0]),
            killed=bool(reason),
            timed_out=reason == orders.ORDERED and self._late,
            exceeded="" if reason == orders.ORDERED else reason.decode(),
            failure=None if failed is None else (failed[0], int(failed[1])),
        )

    async def run(self, waiter: Waiter, timeout: float | None) -> Report:
        """Move everything until the tree is dead, which `timeout` makes sure of."""
        deadline = None if timeout is None else time.monotonic() + timeout
        watched: list[tuple[int, int]] = []
        while not self.over:
            watched = watched or self._watched()
            left = None if deadline is None else deadline - time.monotonic()
            if left is not None and left <= 0:
                if self._late:
                    raise _undead()
                self._late, deadline = True, time.monotonic() + DYING
                self._channel.kill()
                continue
            if self._handle(await waiter.ready(watched, left)):
                watched = []
        self._pipes.release(self._pipes.stdin)
        deadline = time.monotonic() + DRAIN
        for descriptor in self._streams:
            # What most have said lies there by now, and its end behind it: nobody waits for either.
            if self._pipes.is_open(descriptor) and self._drain(descriptor):
                self._drain(descriptor)
        while (watched := self._speaking()) and (left := deadline - time.monotonic()) > 0:
            self._handle(await waiter.ready(watched, left))
        return self.report

    def kill(self) -> None:
        """End the tree now, and wait for that without giving anybody else a turn."""
        self._channel.kill()
        deadline = time.monotonic() + DYING
        while not self.over and (left := deadline - time.monotonic()) > 0:
            if poll(self._channel.fileno(), select.POLLIN, left):
                self._channel.listen()

    def _speaking(self) -> list[tuple[int, int]]:
        """The streams that have not come to their end."""
        is_open = self._pipes.is_open
        return [(stream, select.POLLIN) for stream in self._streams if is_open(stream)]

    def _watched(self) -> list[tuple[int, int]]:
        pipes = self._pipes
        watched = [*self._speaking(), (self._channel.fileno(), select.POLLIN)]
        if pipes.is_open(pipes.stdin):
            watched.append((pipes.stdin, select.POLLOUT))
        return watched

    def _handle(self, ready: Sequence[tuple[int, int]]) -> bool:
        """Move what is ready; whether something came to its end."""
        before = len(self._channel.said)
        for descriptor, _ in ready:
            if descriptor == self._pipes.stdin:
                self._feed()
            elif descriptor == self._channel.fileno():
                self._channel.listen()
            else:
                self._drain(descriptor)
        return len(self._channel.said) != before or not all(
            self._pipes.is_open(descriptor) for descriptor, _ in ready
        )

    def _feed(self) -> None:
        try:
            written = os.write(self._pipes.stdin, self._stdin[:_PIPE])
        except BlockingIOError:
            return
        except BrokenPipeError:
            written = len(self._stdin)  # it does not want the rest, which is its own affair
        self._stdin = self._stdin[written:]
        if not self._stdin:
            self._pipes.release(self._pipes.stdin)

    def _drain(self, descriptor: int) -> bool:
        """Take what is there; whether more may be. A busy stream is read several times, since each
        wait costs too.
        """
        stream = self._streams[descriptor]
        for _ in range(_TURN if self._amounts[descriptor] >= _BUSY else 1):
            data = _read(descriptor, _CHUNK)
            if data is None:
                return False
            if not data:
                self._pipes.release(descriptor)
                return False
            before = self._amounts[descriptor]
            self._amounts[descriptor] = before + len(data)
            if before < _BUSY <= before + len(data):
                _enlarge(descriptor)
            self._capture.add(stream, data)
            self._observe(OutputArrived(stream, data))
        return True


def completed(
    status: int,
    report: Report,
    duration: float,
    capture: Capture,
    *,
    warm: bool = False,
    cold: str = "",
) -> Completed:
    """How the process ended, as everybody else sees it."""
    return capture.completed(
        exit_code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        timed_out=report.timed_out,
        exceeded=report.exceeded,
        duration=duration,
        warm=warm,
        cold=cold,
    )


def _read(descriptor: int, amount: int) -> bytes | None:
    """What is there; nothing at the end, None when it was a false alarm."""
    try:
        return os.read(descriptor, amount)
    except BlockingIOError:
        return None


def _enlarge(pipe: int) -> None:
    import fcntl  # noqa: PLC0415 - a shared library that most calls never need

    # Refused beyond what this user may have: slower, nothing else.
    with contextlib.suppress(OSError):
        fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE)


def _undead() -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"the tool's processes did not die within {DYING:.0f} s of being killed",
        hint="one of them hangs in the kernel, most often on a network file system or a device",
    )
