"""Two ways to fork a supervisor: from this process, or through a fork server.

`preexec_fn` is neither: it runs Python in a copy of a process whose other threads may hold any
lock, and copies the whole process on every call.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING, Protocol
from tongs.sandbox import supervisor
from tongs.sandbox.supervisor import Request

if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the public module builds enums for every signal


class Launched(Protocol):
    """A supervisor on its way."""

    def finish(self, *, died: bool) -> None:
        """To be called once its status pipe ended; `died` when that came without a report."""


class Launcher(Protocol):
    def launch(self, request: Request, descriptors: Sequence[int]) -> Launched: ...

    def close(self) -> None: ...


class Direct:
    """Forks from this very process: fastest once, and only right while there is one thread."""

    def __init__(self) -> None:
        self._subreaper = False
        self._running: set[int] = set()

    def launch(self, request: Request, descriptors: Sequence[int]) -> Launched:
        if not self._subreaper:
            # Also loads prctl before the fork. What a killed supervisor leaves then comes to us.
            supervisor.prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1)
            self._subreaper = True
        own = os.getpid()
        others = supervisor.children_of_this_process()
        # A signal handled between the fork and `supervise` would run the caller's code twice.
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        try:
            pid = os.fork()
            if pid == 0:
                supervisor.supervise(request, descriptors, own)
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        self._running.add(pid)
        return DirectLaunched(pid, others, self._running)

    def close(self) -> None:
        """Nothing is kept between calls."""


class DirectLaunched:
    def __init__(self, pid: int, others: Sequence[int], running: set[int]) -> None:
        self._pid = pid
        self._others = others
        self._running = running

    def finish(self, *, died: bool) -> None:
        # Somebody else in this process may wait for everything.
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        self._running.discard(self._pid)
        if died:
            supervisor.kill_tree(spare={*self._others, *self._running})
