"""One call's world over a supervisor: what every back end that starts processes on Linux shares."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Mapping, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.execution import (
    Command,
    Completed,
    Link,
    Observer,
    Policy,
    Service,
    SpoolOpener,
    SpoolWriter,
    Waiter,
)
from tongs.core.record import dataclass, field, replace
from tongs.sandbox import failures
from tongs.sandbox.capture import Capture
from tongs.sandbox.channel import Blueprint, Channel, Pool
from tongs.sandbox.orders import Request
from tongs.sandbox.pipes import Pipes
from tongs.sandbox.protected import Watch
from tongs.sandbox.pump import KILLED, Pump, Report, completed

if TYPE_CHECKING:
    from tongs.sandbox.proxyclient import HostProxy
    from tongs.sandbox.warm import Templates, Warmth


@dataclass(frozen=True, slots=True)
class Confinement:
    """What a back end puts around a process, and what it says about that."""

    # This and `limits` are asked for when a process is started: many calls start none.
    blueprint: Callable[[], Blueprint]
    limits: Callable[[], Sequence[tuple[int, int]]]
    enforced: Sequence[str]
    not_enforced: Sequence[str]
    # The temporary folder and the folder for files as the payload sees them, where these are not
    # on the disk.
    scratch: str = ""
    files: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    # Starts the proxy for a list of hosts on the listening socket of the call.
    proxy: Callable[[int], HostProxy] | None = None
    warnings: Sequence[str] = ()
    # Begins to look at what has to be as it was when the call is over, before its first process.
    watch: Callable[[], Watch | None] = lambda: None
    # Where a process may stay for another call under the same policy.
    warmth: Warmth | None = None


class TreeSession:
    """Runs commands under a supervisor, one process tree after the other."""

    def __init__(
        self,
        policy: Policy,
        waiter: Waiter,
        pool: Pool,
        confinement: Confinement,
        *,
        spool: SpoolOpener | None,
        templates: Templates | None = None,
    ) -> None:
        self._templates = templates
        self._policy = policy
        self._waiter = waiter
        self._pool = pool
        self._confinement = confinement
        self._spool = spool
        self._spooled = 0
        self._blueprint: Blueprint | None = None
        self._watch: Watch | None = None
        self._channel: Channel | None = None
        self._fresh = True
        self._files: dict[bytes, bytes] = {}
        # The temporary folder of the template that has served this call.
        self._lent = ""
        self._proxy: HostProxy | None = None

    @property
    def scratch(self) -> str:
        return self._confinement.scratch or self._lent or self._taken().scratch.tmp

    @property
    def enforced(self) -> Sequence[str]:
        return self._confinement.enforced

    @property
    def not_enforced(self) -> Sequence[str]:
        return self._confinement.not_enforced

    @property
    def refused_hosts(self) -> Sequence[str]:
        refused = [] if self._proxy is None else self._proxy.refusals()
        return [line.partition(" ")[0] for line in refused]

    @property
    def warnings(self) -> Sequence[str]:
        refused = [] if self._proxy is None else self._proxy.refusals()
        changed = () if self._watch is None else self._watch.changed()
        return [
            *self._confinement.warnings,
            *(f"network: {line}" for line in refused),
            *(
                f"{path} was changed while the tool ran; look at it, since it makes others run"
                for path in changed
            ),
        ]

    def write(self, name: str, data: bytes) -> str:
        if not self._confinement.files:
            return self._taken().scratch.write(name, data)
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise ValueError(f"not a plain file name: {name!r}")
        self._files[os.fsencode(name)] = data
        return os.path.join(self._confinement.files, name)

    async def run(self, command: Command, observe: Observer) -> Completed:
        """Run to the end, whatever that is; ToolError when it could not be started at all.

        One after the other: they share a world, and what one leaves running is killed at its end.
        """
        files, self._files = self._files, {}
        request = request_for(command, self._confinement, files)
        started = time.monotonic()
        capture = Capture(self._policy.limits.output, self._open_spool, self._policy.redactor)
        try:
            report = await self._supervised(command, request, capture, observe)
            unused = not report.accepted and report.failure is None and not report.timed_out
            if unused and self._fresh:
                # It was gone with the request unread: nothing ran, so this is no repeat.
                self._replace()
                report = await self._supervised(command, request, capture, observe)
        finally:
            capture.close()
            self._spooled += capture.spooled
        self._fresh = False
        exceeded = report.exceeded or self._exceeded()
        if report.status is None:
            # Without a supervisor there is nobody else to look for what it has left.
            self._taken().end()
        if report.failure is not None:
            confined = "fs.read" in self.enforced
            seen = (*self._policy.permissions.readable, *self._policy.programs)
            readable = seen if confined else None
            raise failures.start_failure(command, *report.failure, readable)
        status = report.status
        if status is None and exceeded:
            status = KILLED  # with its supervisor, which is in the same cgroup
        if status is None or (report.killed and not report.timed_out and not exceeded):
            raise failures.supervisor_lost(command, accepted=report.accepted)
        report = replace(report, exceeded=exceeded)
        return completed(status, report, time.monotonic() - started, capture)

    async def serve(self, service: Service, observe: Observer) -> Completed | None:
        """As `run`, by a template: one that waits, or a new one, which then stays."""
        if self._templates is None or self._confinement.warmth is None:
            return None
        from tongs.sandbox.serving import Serving  # noqa: PLC0415 - servers only

        serving = Serving(self._policy, self._waiter, self._confinement, self._templates)
        capture = Capture(self._policy.limits.output, self._open_spool, self._policy.redactor)
        try:
            done = await serving.run(
                service, self._drawn().key, lambda: self._pool.take(self._drawn()), capture, observe
            )
            self._lent = serving.scratch if done is not None else ""
            return done
        finally:
            capture.close()
            self._spooled += capture.spooled

    async def start(self, command: Command) -> Link:
        """Start a program that stays. A session has either one of these, or commands."""
        from tongs.sandbox.link import TreeLink  # noqa: PLC0415 - MCP servers only

        files, self._files = self._files, {}
        request = request_for(command, self._confinement, files)
        if not self._taken().alive:
            self._replace()
        channel = self._taken()
        if self._confinement.proxy is not None and self._proxy is None:
            await self._start_proxy(channel)
        pipes = pipes_for(command, with_stdin=True)
        confined = "fs.read" in self.enforced
        seen = (*self._policy.permissions.readable, *self._policy.programs)
        link = TreeLink(command, pipes, channel, self._exceeded, seen if confined else None)
        try:
            channel.send(request, pipes.given)
            pipes.hand_over()
        except BaseException:
            link.close()
            raise
        return link

    def close(self) -> None:
        if self._channel is not None:
            self._pool.give_back(self._channel)
            self._channel = None
            # Not earlier: to make one costs as much as many a call, which would have to share.
            if self._policy.again:
                self._pool.refill(self._drawn())
        if self._proxy is not None:
            self._proxy.close()
            self._proxy = None

    async def _supervised(
        self, command: Command, request: Request, capture: Capture, observe: Observer
    ) -> Report:
        channel = self._taken()
        if self._confinement.proxy is not None and self._proxy is None:
            await self._start_proxy(channel)
        pipes = pipes_for(command, with_stdin=bool(command.stdin))
        with Pump(pipes, channel, command.stdin, capture, observe) as pump:
            channel.send(request, pipes.given)
            pipes.hand_over()
            return await pump.run(self._waiter, command.timeout)

    def _exceeded(self) -> str:
        """The limit by which the call's cgroup has ended one of its processes."""
        group = self._taken().group
        return "memory" if group is not None and group.killed() else ""

    def _taken(self) -> Channel:
        if self._channel is None:
            self._channel = self._pool.take(self._drawn())
        return self._channel

    def _drawn(self) -> Blueprint:
        if self._blueprint is None:
            self._blueprint = self._confinement.blueprint()
            self._watch = self._confinement.watch()
        return self._blueprint

    def _replace(self) -> None:
        assert self._channel is not None
        if self._proxy is not None:
            self._proxy.close()  # it serves the network of the world that is gone
            self._proxy = None
        self._channel = self._pool.again(self._drawn(), self._channel)

    async def _start_proxy(self, channel: Channel) -> None:
        """The socket comes with the supervisor's first word."""
        assert self._confinement.proxy is not None
        while not channel.descriptors and not channel.over:
            await self._waiter.ready([(channel.fileno(), select.POLLIN)], None)
            channel.listen()
        if channel.descriptors:
            listening = channel.descriptors.pop()
            try:
                self._proxy = self._confinement.proxy(listening)
            finally:
                # While a copy is open somewhere, connections to a dead proxy would wait forever.
                os.close(listening)

    def _open_spool(self) -> SpoolWriter | None:
        if self._spool is None:
            return None
        try:
            return self._spool.open(self._policy.call_id, self._spooled)
        except OSError:
            return None  # a full or read-only disk costs the tail of the output, not the call


def pipes_for(command: Command | Service, *, with_stdin: bool | None) -> Pipes:
    """The pipes of a command; ToolError where the system has none left."""
    try:
        return Pipes(with_stdin=with_stdin)
    except OSError as error:
        raise failures.unusable(command, f"no pipes: {error.strerror}") from error


def request_for(command: Command, confinement: Confinement, files: dict[bytes, bytes]) -> Request:
    """The command as a payload reads it; ToolError for what no process can be started with."""
    if not command.argv or not command.argv[0]:
        raise failures.unusable(command, "the command is empty")
    environment = {}
    for name, value in {**confinement.environment, **command.environment}.items():
        if not name or "=" in name or "\0" in name + value:
            raise failures.unusable(command, f"environment variable {name!r} is not valid")
        environment[os.fsencode(name)] = os.fsencode(value)
    if any("\0" in word for word in command.argv):
        raise failures.unusable(command, "an argument contains a NUL character")
    if "\0" in command.cwd:
        raise failures.unusable(command, "its working directory contains a NUL character")
    argv = [os.fsencode(word) for word in command.argv]
    path = environment.get(b"PATH", os.fsencode(os.defpath))
    return Request(
        argv,
        environment,
        _candidates(argv[0], path),
        os.fsencode(command.cwd),
        [*confinement.limits()],
        files,
    )


def _candidates(program: bytes, path: bytes) -> list[bytes]:
    """Where the program may lie. An empty entry of a PATH means the working directory."""
    if b"/" in program:
        return [program]
    return [os.path.join(folder or b".", program) for folder in path.split(b":")]
