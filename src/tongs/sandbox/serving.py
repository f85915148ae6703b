"""One request to a template: asked, moved through its pipes, and the template kept or ended."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Hashable

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.execution import Command, Completed, Observer, Policy, Service, Waiter
from tongs.core.record import dataclass, replace
from tongs.sandbox import failures, warm
from tongs.sandbox.pump import KILLED, Pump, Report, completed
from tongs.sandbox.session import Confinement, pipes_for, request_for

if TYPE_CHECKING:
    from tongs.sandbox.capture import Capture
    from tongs.sandbox.channel import Channel
    from tongs.sandbox.warm import Template, Templates

_SERVICE = "service.py"
# Seconds for which only the end of a call is waited for. What it says before that would wake Tongs
# in the middle of it, on the processor that it needs itself.
_AT_ONCE = 0.002


@dataclass(slots=True)
class Serving:
    policy: Policy
    waiter: Waiter
    confinement: Confinement
    templates: Templates
    # The temporary folder of the call, where that is the template's own.
    scratch: str = ""

    async def run(
        self,
        service: Service,
        world: Hashable,
        make: Callable[[], Channel],
        capture: Capture,
        observe: Observer,
    ) -> Completed | None:
        """None where no template could take the request, so that nothing has run.

        `world` is what the walls depend on, `make` puts them up anew.
        """
        limits = self.policy.limits
        bounds = (limits.memory, limits.processes, limits.file_size, limits.open_files, limits.cpu)
        template = self.templates.take((service.key, service.cwd, world, bounds), self._seen, make)
        if template is None:
            return None
        keep = False
        self.scratch = self.confinement.scratch or template.channel.scratch.tmp
        started = time.monotonic()
        was_warm = template.can_stay
        try:
            report = await self._asked(template, service, capture, observe)
            if template.was_short_of_memory():
                report = replace(report, exceeded="memory")
            status = self._status(report, service)
            if status is None:
                return None
            keep = template.can_stay and os.WIFEXITED(status) and not report.exceeded
            capture.close()
            duration = time.monotonic() - started
            return completed(status, report, duration, capture, warm=was_warm, cold=template.cold)
        finally:
            self.templates.give_back(template, keep=keep)

    @property
    def _seen(self) -> tuple[str, ...]:
        return (*self.policy.permissions.readable, *self.policy.programs)

    def _status(self, report: Report, service: Service) -> int | None:
        """The wait status of a request that was answered or ended; None if it was never taken."""
        if report.failure is not None:
            raise failures.start_failure(_command(service), *report.failure, self._seen)
        if report.exceeded:
            return KILLED if report.status is None else report.status
        if not report.accepted and not report.timed_out:
            return None
        if report.status is None or (report.killed and not report.timed_out):
            raise failures.supervisor_lost(_command(service), accepted=True)
        return report.status

    async def _asked(
        self, template: Template, service: Service, capture: Capture, observe: Observer
    ) -> Report:
        pipes = pipes_for(service, with_stdin=None)
        was_warm = template.can_stay
        with Pump(pipes, template, b"", capture, observe) as pump:
            if not was_warm:
                self._start(template, service, pipes.given)
            template.ask(service.request, pipes.given)
            pipes.hand_over()
            if was_warm and await self.waiter.ready([(template.fileno(), select.POLLIN)], _AT_ONCE):
                template.listen()
            return await pump.run(self.waiter, service.timeout)

    def _start(self, template: Template, service: Service, descriptors: list[int]) -> None:
        assert self.confinement.warmth is not None
        files = {name: warm.source(name) for name in (warm.PROGRAM, warm.WORLD)}
        files[_SERVICE] = service.program
        if folder := self.confinement.files:
            paths = {name: os.path.join(folder, name) for name in files}
            sent = {os.fsencode(name): data for name, data in files.items()}
        else:
            own = template.channel.scratch
            paths, sent = {name: own.write(name, data) for name, data in files.items()}, {}
        command = Command(
            (*service.argv, paths[warm.PROGRAM]),
            {**service.environment, "TMPDIR": self.scratch},
            service.cwd,
        )
        walls = warm.told(
            self.confinement.warmth,
            paths[_SERVICE],
            paths[warm.WORLD],
            self.scratch,
            self.policy.limits.memory,
            service.opening,
        )
        template.start(request_for(command, self.confinement, sent), descriptors, walls)


def _command(service: Service) -> Command:
    """What was to be started, for whoever says that it was not."""
    return Command(service.argv, service.environment, service.cwd)
