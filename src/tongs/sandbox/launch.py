"""Two ways to fork a supervisor: from this process, or through a fork server.

`preexec_fn` is neither: it runs Python in a copy of a process whose other threads may hold any
lock, and copies the whole process on every call.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING, Protocol
from tongs.sandbox import kernel, supervisor, tree
from tongs.sandbox.orders import Jail, Request

if TYPE_CHECKING:
    import signal as _signal
else:
    import _signal  # the public module builds enums for every signal


class Launched(Protocol):
    """A supervisor on its way."""

    @property
    def doomed(self) -> bool:
        """Whether what started it is gone, so that it is about to follow."""

    def packed(self, request: Request) -> bytes:
        """As its payload reads it."""

    def finish(self, *, died: bool) -> None:
        """To be called once its channel ended; `died` when that came without a report."""


class Launcher(Protocol):
    # Whether supervisors may be started for calls that nobody has made yet.
    ahead: bool

    def launch(self, jail: Jail, channel: int, groups: Sequence[str]) -> Launched:
        """Start a supervisor that serves `channel`, of which it gets its own copy.

        `groups` are what it writes itself into first: the member lists of cgroups.
        """

    def close(self) -> None: ...


class Direct:
    """Forks from this very process: fastest once, and only right while there is one thread."""

    # A fork of a large process is slow, and its copies of everything are kept alive.
    ahead = False

    def __init__(self) -> None:
        self._subreaper = False
        self._running: set[int] = set()

    def launch(self, jail: Jail, channel: int, groups: Sequence[str]) -> Launched:
        if not self._subreaper:
            # What a killed supervisor leaves then comes to us. Also loads what children need.
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
            self._subreaper = True
        others = tree.children_of_this_process()
        # A signal handled between the fork and the supervisor would run the caller's code twice.
        before = _signal.pthread_sigmask(_signal.SIG_BLOCK, _signal.valid_signals())
        try:
            pid = supervisor.start(jail, channel, groups)
        finally:
            _signal.pthread_sigmask(_signal.SIG_SETMASK, before)
        if pid:
            self._running.add(pid)
        return DirectLaunched(pid, others, self._running)

    def close(self) -> None:
        """Nothing is kept between calls."""


class DirectLaunched:
    def __init__(self, pid: int, others: list[int], running: set[int]) -> None:
        self._pid = pid
        self._others = others
        self._running = running

    @property
    def doomed(self) -> bool:
        return False

    def packed(self, request: Request) -> bytes:
        return request.packed()

    def finish(self, *, died: bool) -> None:
        # Somebody else in this process may wait for everything.
        with contextlib.suppress(ChildProcessError):
            if self._pid:
                os.waitpid(self._pid, 0)
        self._running.discard(self._pid)
        if died:
            tree.kill_tree(spare={*self._others, *self._running})
