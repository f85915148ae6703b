"""Runs commands with what every system has: pipes, threads, and one way to end a tree.

For systems other than Linux, where there is no supervisor. A back end hands in how a command is
started and how its tree is ended, and says for itself what of that holds.
"""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import (
    STDERR,
    STDOUT,
    Command,
    Completed,
    Link,
    Observer,
    OutputArrived,
    Policy,
    Service,
    SpoolOpener,
    SpoolWriter,
    Waiter,
)
from tongs.core.record import dataclass
from tongs.sandbox.capture import Capture

# As in `pump`: how long output may follow the end, and how long dying may take.
DRAIN = 0.2
DYING = 10.0

_ENDED = 0
_CHUNK = 64 * 1024


@dataclass(frozen=True, slots=True)
class Manner:
    """How a back end starts a command, and what it says about that."""

    # The words to start, given the command and the call's own folder.
    words: Callable[[Command, str], Sequence[str]]
    # Takes hold of a process that was just started; calling the answer ends its whole tree.
    adopt: Callable[[subprocess.Popen[bytes]], Callable[[], None]]
    # Further arguments of Popen.
    options: Mapping[str, Any]
    enforced: Sequence[str]
    not_enforced: Sequence[str]


class PortableSession:
    """One call: a folder of its own, and processes one after the other."""

    def __init__(
        self,
        policy: Policy,
        waiter: Waiter,
        manner: Manner,
        *,
        spool: SpoolOpener | None,
        temp_root: str,
    ) -> None:
        self._policy = policy
        self._waiter = waiter
        self._manner = manner
        self._spool = spool
        self._spooled = 0
        self._base = tempfile.mkdtemp(
            prefix="tongs-", dir=temp_root if os.path.isdir(temp_root) else None
        )
        self._scratch = self._folder("tmp")
        self._control = self._folder("control")

    @property
    def scratch(self) -> str:
        return self._scratch

    @property
    def enforced(self) -> Sequence[str]:
        return self._manner.enforced

    @property
    def not_enforced(self) -> Sequence[str]:
        return self._manner.not_enforced

    @property
    def refused_hosts(self) -> Sequence[str]:
        return ()

    @property
    def warnings(self) -> Sequence[str]:
        return ()

    def write(self, name: str, data: bytes) -> str:
        if name in ("", ".", "..") or any(character in name for character in "/\\\0"):
            raise ValueError(f"not a plain file name: {name!r}")
        path = os.path.join(self._control, name)
        with open(path, "wb") as file:
            file.write(data)
        os.chmod(path, 0o700)
        return path

    async def run(self, command: Command, observe: Observer) -> Completed:
        started = time.monotonic()
        capture = Capture(self._policy.limits.output, self._open_spool, self._policy.redactor)
        running = _Running(command, self._manner, self._base)
        try:
            timed_out = await self._attend(running, command.timeout, capture, observe)
        finally:
            running.end()
            capture.close()
            self._spooled += capture.spooled
        code = running.process.returncode
        return capture.completed(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            duration=time.monotonic() - started,
        )

    async def serve(self, service: Service, observe: Observer) -> Completed | None:
        return None  # nothing is kept between calls

    async def start(self, command: Command) -> Link:
        raise ToolError(
            ErrorCode.SANDBOX_UNAVAILABLE,
            f"`{command.argv[0]}` was not started: programs that stay run on Linux only",
            hint="run tongs on Linux (on Windows: inside WSL 2)",
        )

    def close(self) -> None:
        shutil.rmtree(self._base, ignore_errors=True)

    async def _attend(
        self, running: _Running, timeout: float | None, capture: Capture, observe: Observer
    ) -> bool:
        """Take the output until the end; whether the time ran out."""
        deadline = None if timeout is None else time.monotonic() + timeout
        ended = timed_out = False
        speaking = {STDOUT, STDERR}
        while speaking or not ended:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            said = await self._waiter.blocking(partial(running.next, left))
            if said is None and ended:
                break  # somebody who left the tree holds a pipe
            if said is None and timed_out:
                raise ToolError(ErrorCode.EXECUTION_ERROR, "the tool's processes do not die")
            if said is None:
                timed_out, deadline = True, time.monotonic() + DYING
                running.end()
            elif said[0] == _ENDED:
                ended, deadline = True, time.monotonic() + DRAIN
                running.end()
            elif said[1]:
                capture.add(*said)
                observe(OutputArrived(*said))
            else:
                speaking.remove(said[0])
        return timed_out

    def _folder(self, name: str) -> str:
        path = os.path.join(self._base, name)
        os.mkdir(path, 0o700)
        return path

    def _open_spool(self) -> SpoolWriter | None:
        if self._spool is None:
            return None
        try:
            return self._spool.open(self._policy.call_id, self._spooled)
        except OSError:
            return None  # a full or read-only disk costs the tail of the output, not the call


class _Running:
    """A started process, with a thread for each thing that blocks."""

    def __init__(self, command: Command, manner: Manner, base: str) -> None:
        words = manner.words(command, base)
        try:
            self.process = subprocess.Popen(
                words,
                env=dict(command.environment),
                cwd=command.cwd,
                stdin=subprocess.PIPE if command.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                **manner.options,
            )
        except (OSError, ValueError) as error:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR, f"cannot start `{words[0]}`: {error}"
            ) from error
        try:
            self._end_tree = manner.adopt(self.process)
        except BaseException:
            self.process.kill()
            self.process.communicate()
            raise
        self._arrived: queue.SimpleQueue[tuple[int, bytes]] = queue.SimpleQueue()
        for work in (
            partial(self._read, self.process.stdout, STDOUT),
            partial(self._read, self.process.stderr, STDERR),
            partial(self._feed, command.stdin),
            self._wait,
        ):
            threading.Thread(target=work, daemon=True).start()

    def next(self, timeout: float | None) -> tuple[int, bytes] | None:
        try:
            return self._arrived.get(timeout=timeout)
        except queue.Empty:
            return None

    def end(self) -> None:
        """Nothing of the tree is alive afterwards, as far as the back end can reach."""
        self._end_tree()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(DYING)

    def _read(self, pipe: Any, stream: int) -> None:
        # Closed here and nowhere else: its number must not become another file under this loop.
        with pipe:
            while data := os.read(pipe.fileno(), _CHUNK):
                self._arrived.put((stream, data))
        self._arrived.put((stream, b""))

    def _feed(self, data: bytes) -> None:
        if self.process.stdin is not None:
            with contextlib.suppress(OSError), self.process.stdin as pipe:
                pipe.write(data)

    def _wait(self) -> None:
        self.process.wait()
        self._arrived.put((_ENDED, b""))
