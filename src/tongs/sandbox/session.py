"""One call's world over a launcher: what every back end that supervises a process tree shares."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from tongs.core.execution import (
    Command,
    Completed,
    Observer,
    Policy,
    SpoolOpener,
    SpoolWriter,
    Waiter,
)
from tongs.core.record import dataclass
from tongs.sandbox import failures
from tongs.sandbox.capture import Capture
from tongs.sandbox.launch import Launched, Launcher
from tongs.sandbox.pipes import Pipes
from tongs.sandbox.pump import Pump, Report
from tongs.sandbox.scratch import Scratch
from tongs.sandbox.supervisor import Request


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a back end adds to a plain process, and what it says about that."""

    limits: Callable[[], Sequence[tuple[int, int]]]
    enforced: Sequence[str]
    not_enforced: Sequence[str]


class TreeSession:
    """Runs commands under a supervisor, one process tree each."""

    def __init__(
        self,
        policy: Policy,
        waiter: Waiter,
        launcher: Launcher,
        confinement: Confinement,
        *,
        spool: SpoolOpener | None,
        temp_root: str,
    ) -> None:
        self._policy = policy
        self._waiter = waiter
        self._launcher = launcher
        self._confinement = confinement
        self._spool = spool
        self._spooled = 0
        self._scratch = Scratch(temp_root)

    @property
    def scratch(self) -> str:
        return self._scratch.tmp

    @property
    def enforced(self) -> Sequence[str]:
        return self._confinement.enforced

    @property
    def not_enforced(self) -> Sequence[str]:
        return self._confinement.not_enforced

    def write(self, name: str, data: bytes) -> str:
        return self._scratch.write(name, data)

    async def run(self, command: Command, observe: Observer) -> Completed:
        """Run to the end, whatever that is; ToolError when it could not be started at all."""
        request = _request(command, self._confinement.limits())
        started = time.monotonic()
        capture = Capture(self._policy.limits.output, self._open_spool)
        try:
            report = await self._supervised(command, request, capture, observe)
            if not report.accepted:
                # The fork server died with the request unread: nothing ran, so this is no repeat.
                report = await self._supervised(command, request, capture, observe)
        finally:
            capture.close()
            self._spooled += capture.spooled
        if report.failure is not None:
            raise failures.start_failure(command, *report.failure)
        if report.status is None or (report.killed and not report.timed_out):
            raise failures.supervisor_lost(command, accepted=report.accepted)
        return _completed(report.status, report, time.monotonic() - started, capture)

    def close(self) -> None:
        self._scratch.close()

    async def _supervised(
        self, command: Command, request: Request, capture: Capture, observe: Observer
    ) -> Report:
        try:
            pipes = Pipes(with_stdin=bool(command.stdin))
        except OSError as error:
            raise failures.unusable(command, f"no pipes: {error.strerror}") from error
        pump = Pump(pipes, command.stdin, capture, observe)
        launched: Launched | None = None
        try:
            launched = self._launcher.launch(request, pipes.given)
            pipes.hand_over()
            return await pump.run(self._waiter, command.timeout)
        except BaseException:
            # Also when the launch itself was interrupted: a supervisor may be there already.
            pipes.hand_over()
            pump.kill()
            raise
        finally:
            if launched is not None and pump.over:
                launched.finish(died=pump.report.status is None)
            pipes.close()

    def _open_spool(self) -> SpoolWriter | None:
        if self._spool is None:
            return None
        try:
            return self._spool.open(self._policy.call_id, self._spooled)
        except OSError:
            return None  # a full or read-only disk costs the tail of the output, not the call


def _request(command: Command, limits: Sequence[tuple[int, int]]) -> Request:
    if not command.argv or not command.argv[0]:
        raise failures.unusable(command, "the command is empty")
    environment = {}
    for name, value in command.environment.items():
        if not name or "=" in name or "\0" in name + value:
            raise failures.unusable(command, f"environment variable {name!r} is not valid")
        environment[os.fsencode(name)] = os.fsencode(value)
    if any("\0" in word for word in command.argv):
        raise failures.unusable(command, "an argument contains a NUL character")
    argv = [os.fsencode(word) for word in command.argv]
    path = environment.get(b"PATH", os.fsencode(os.defpath))
    cwd = os.fsencode(command.cwd)
    return Request(argv, environment, _candidates(argv[0], path), cwd, [*limits])


def _candidates(program: bytes, path: bytes) -> list[bytes]:
    """Where the program may lie. An empty entry of a PATH means the working directory."""
    if b"/" in program:
        return [program]
    return [os.path.join(folder or b".", program) for folder in path.split(b":")]


def _completed(status: int, report: Report, duration: float, capture: Capture) -> Completed:
    return Completed(
        exit_code=os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        signal=os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        timed_out=report.timed_out,
        duration=duration,
        stdout=capture.stdout,
        stderr=capture.stderr,
        output=capture.output,
        stdout_size=capture.stdout_size,
        stderr_size=capture.stderr_size,
        spool=capture.spool,
        lost=capture.lost,
    )
