"""Finding, killing and reaping whatever a payload has started.

Part of the supervisor; runs without the package around it.
"""

from __future__ import annotations

import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    import signal as _signal
    from collections.abc import Callable, Collection, Iterable
else:
    import _signal  # the public module builds enums, which costs half an interpreter start


def kill_namespace() -> dict[int, int]:
    """Kill and reap everything in the pid namespace whose first process this is."""
    ended: dict[int, int] = {}
    while True:
        try:  # noqa: SIM105 - contextlib costs more to import than this file
            os.kill(-1, _signal.SIGKILL)
        except ProcessLookupError:
            pass  # nobody is left, or only what waits to be reaped
        try:
            pid, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return ended
        ended[pid] = status


def kill_tree(spare: Collection[int] = ()) -> dict[int, int]:
    """Kill and reap every descendant of this process but `spare` and theirs; wait statuses by pid.

    Only a subreaper gets hold of daemons. Everything is stopped before anything is killed, since a
    process that sees its child die could start another.
    """
    ended: dict[int, int] = {}
    children = children_reader()
    me = os.getpid()

    def ours() -> list[int]:
        return [pid for pid in children(me) if pid not in spare]

    while True:
        if not spare and reap(ended):
            return ended
        if not ours():
            if spare:
                return ended
            # The kernel's list can miss a child while another one exits; look again shortly.
            select.poll().poll(5)
            continue
        stopped: set[int] = set()
        # From the top each time: an orphan of a process that just ended is a child of this one.
        while fresh := descendants(ours(), children) - stopped:
            _signal_all(fresh, _signal.SIGSTOP)
            # What is over is buried now, or every look would be longer than the one before. Its
            # number can be given to another process, so it is no longer one of the stopped.
            stopped = (stopped | fresh) - _buried(ours(), ended, os.WNOHANG)
        _signal_all(stopped, _signal.SIGKILL)
        # One that was born meanwhile has not been killed: it is the next round's.
        _buried([pid for pid in ours() if pid in stopped], ended, 0)


def _buried(pids: Iterable[int], ended: dict[int, int], flags: int) -> set[int]:
    """Wait for these children; those that were over."""
    over = set()
    for pid in pids:
        try:
            waited, status = os.waitpid(pid, flags)
        except ChildProcessError:
            continue
        if waited:
            ended[pid] = status
            over.add(pid)
    return over


def reap(ended: dict[int, int]) -> bool:
    """Collect what is over; True when this process has no children left."""
    try:
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return False
            ended[pid] = status
    except ChildProcessError:
        return True


def children_of_this_process() -> list[int]:
    return children_reader()(os.getpid())


def descendants(roots: Iterable[int], children: Callable[[int], list[int]]) -> set[int]:
    """The roots and everything below them."""
    found: set[int] = set()
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found.add(pid)
            pending.extend(children(pid))
    return found


def children_reader() -> Callable[[int], list[int]]:
    me = os.getpid()
    return _listed_children if os.path.exists(f"/proc/{me}/task/{me}/children") else _scanned()


def _listed_children(pid: int) -> list[int]:
    found: list[int] = []
    try:
        # A child belongs to the thread that forked it.
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children", "rb", buffering=0) as listed:
                found.extend(map(int, (listed.read() or b"").split()))
    except OSError:
        pass  # it is gone, or just going
    return found


def _scanned() -> Callable[[int], list[int]]:
    """For kernels built without the list of children: every process, by its parent."""

    def children(pid: int) -> list[int]:
        found = []
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as stat:
                        text = stat.read() or b""
                except OSError:
                    continue
                # The name before it may hold spaces and brackets of its own.
                if int(text.rpartition(b")")[2].split()[1]) == pid:
                    found.append(int(name))
        return found

    return children


def _signal_all(pids: Iterable[int], number: int) -> None:
    for pid in pids:
        try:  # noqa: SIM105 - as above
            os.kill(pid, number)
        except OSError:
            pass  # already gone
