"""Limits over a whole tree where no cgroup can be written: somebody looks, and says when to kill.

The supervisor asks every `wait()` milliseconds. Between two looks a tree can take more than its
limit, by what it fills in that time. Nothing here sees the kernel's own memory (pipes, page
tables), nor pages of a shared mapping that no page table holds any more. A cgroup counts both.

The supervisor runs this file without the package around it: standard library only, and of that
only what an interpreter loads cheaply.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MEMORY = b"memory"
PROCESSES = b"processes"

# Milliseconds between two looks at a tree that stays as it is.
_PACE = (20, 50, 100, 200)
# A look that is itself expensive comes no more often than this.
_SLOWEST = 500
# The part of its time that looking may take, as a divisor: of a calm tree, and of one that grows.
_CALM, _GROWING = 50, 2
# Bytes that a busy process fills in a millisecond: 400 kB to 700 kB here, page faults included.
_FILLED = 1024**2


class Watchdog:
    """Watches the memory and the number of tasks of the processes that `members` names.

    `extra` gives bytes that no process holds: the content of the call's private tmpfs, say.
    """

    INTERVAL = _PACE[0]

    def __init__(
        self,
        memory: int,
        processes: int,
        members: Callable[[], Iterable[int]],
        extra: Callable[[], int] | None = None,
    ) -> None:
        self._memory = memory
        self._processes = processes
        self._members = members
        self._extra = extra
        self._calm = 0
        self._seen = (0, 0)
        self.interval = self.INTERVAL
        self._due = time.monotonic() + self.interval / 1000

    def wait(self) -> int:
        """Milliseconds until the next check is due: a timeout for poll, 0 when it is time."""
        left = self._due - time.monotonic()
        # Rounded up, or the last part of a millisecond would be waited for by spinning.
        return int(left * 1000) + 1 if left > 0 else 0

    def check(self) -> bytes:
        """The name of the limit that is exceeded, or nothing; sets when the next check is due."""
        before = time.process_time()
        # Without reading a single process, so that a fork bomb cannot hold up its own end.
        pids = list(self._members())
        if len(pids) > self._processes:
            return PROCESSES
        extra = self._extra() if self._extra else 0
        used, tasks = bound(pids)
        if tasks > self._processes:
            return PROCESSES
        if used + extra > self._memory:
            used = usage(pids, tmpfs=self._extra is None)[0]
            if used + extra > self._memory:
                return MEMORY
        self._plan(used + extra, tasks, time.process_time() - before)
        return b""

    def _plan(self, used: int, tasks: int, cost: float) -> None:
        """Look again soon at a tree that grows, seldom at one that does not."""
        grown = used - self._seen[0] > self._memory // 16
        forked = tasks - self._seen[1] > self._processes // 16
        self._calm = 0 if grown or forked else min(self._calm + 1, len(_PACE) - 1)
        self._seen = (used, tasks)
        # What is left can be filled in no less than this time.
        interval = min(_PACE[self._calm], (self._memory - used) // _FILLED)
        rest = int(cost * 1000 * (_CALM if self._calm else _GROWING))
        self.interval = min(max(interval, _PACE[0], rest), _SLOWEST)
        self._due = time.monotonic() + self.interval / 1000


def take_precedence(pid: int = 0) -> None:
    """Let a watching process come before all others, where this one may: mostly root.

    No RLIMIT_NPROC holds root's processes, and a fork bomb of theirs keeps a watchdog from the
    processor: a limit of 256 was seen after 300 to 700 ms, at more than 1000 processes; with
    precedence after 50 ms, at 300. What the process forks is as before.
    """
    try:
        policy = os.SCHED_RR | os.SCHED_RESET_ON_FORK
        os.sched_setscheduler(pid, policy, os.sched_param(1))
    except (AttributeError, OSError):
        pass  # then RLIMIT_NPROC is there


def others() -> list[int]:
    """Every process that /proc shows but this one: the whole tree, for pid 1 of a namespace."""
    me = os.getpid()
    return [pid for name in os.listdir("/proc") if name.isdigit() and (pid := int(name)) != me]


# Two ways to count. Medians, of one process: `status` 14 µs, the list of its descriptors 8 µs and
# each of them 4 µs; `smaps_rollup` 150 µs for a small process and 4 ms for one of 500 MB, since it
# walks every page. But `status` counts a page that ten processes share ten times, as all children
# of a large parent do after a fork. So the cheap sum is taken first: the truth can only be below
# it. Only where it is above the limit does the exact one decide.


def bound(pids: Iterable[int]) -> tuple[int, int]:
    """Bytes these processes hold at most, and their tasks; cheap.

    A number that stands for another process by now counts as what it is now: numbers are given
    out in turn, so that takes a whole round of them between two lines of `check`.
    """
    memory, tasks = 0, 0
    files: dict[int, int] = {}
    for pid in pids:
        held, threads = _from_status(pid)
        memory += held
        tasks += threads
        _add_memory_files(pid, files)
    return memory + sum(files.values()), tasks


def usage(pids: Iterable[int], *, tmpfs: bool = True) -> tuple[int, int]:
    """Bytes of memory and number of tasks of these processes, what they share counted once.

    A process that is gone, or cannot be read, counts as nothing; one whose pages cannot be looked
    at, as what `bound` says. Without `tmpfs`, mapped files of a tmpfs are not counted, but shared
    memory without a name is.
    """
    memory, tasks = 0, 0
    files: dict[int, int] = {}
    sharing = []
    for pid in pids:
        held, threads = _from_status(pid)
        tasks += threads
        rollup = _read(f"/proc/{pid}/smaps_rollup")
        if b"\nPss_Anon:" in rollup:
            held = _bytes(rollup, b"\nPss_Anon:") + _bytes(rollup, b"\nSwapPss:")
            if shared := _bytes(rollup, b"\nPss_Shmem:"):
                sharing.append((pid, shared))
        memory += held
        _add_memory_files(pid, files)
    memory += sum(files.values())
    # Only now is every file known that somebody holds open, and that counts whole already.
    for pid, shared in sharing:
        nameless, counted = _mapped(pid, files)
        memory += (shared if tmpfs else nameless) - counted
    return memory, tasks


def _from_status(pid: int) -> tuple[int, int]:
    """Bytes a process holds, shared ones as if they were its own, and its tasks.

    A zombie has no memory but is still a task, as it is for the kernel's own counters.
    """
    status = _read(f"/proc/{pid}/status")
    fields = (b"\nRssAnon:", b"\nRssShmem:", b"\nVmSwap:")
    return sum(_bytes(status, field) for field in fields), _number(status, b"\nThreads:")


def _add_memory_files(pid: int, files: dict[int, int]) -> None:
    """Sizes, by inode, of the memory files this process holds open: they need not be mapped."""
    device = _device_of_memory_files()
    try:
        names = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return  # it is gone, or may not be looked at
    for name in names:
        try:
            facts = os.stat(f"/proc/{pid}/fd/{name}")
        except OSError:
            continue  # closed since
        if facts.st_dev == device:
            files[facts.st_ino] = facts.st_blocks * 512


def _mapped(pid: int, files: dict[int, int]) -> tuple[int, int]:
    """A process's share of what it maps of nameless shared memory: all of it, and of `files`."""
    number = _device_of_memory_files()
    device = b"%02x:%02x" % (os.major(number), os.minor(number))
    total, counted = 0, 0
    nameless = known = False
    for line in _read(f"/proc/{pid}/smaps").split(b"\n"):
        if line[:1].isdigit() or line[:1].islower():  # the others start with a capital letter
            _, _, _, where, inode, *_ = line.split(None, 5)
            nameless = where == device
            known = nameless and int(inode) in files
        elif nameless and line.startswith((b"Pss:", b"Anonymous:")):
            # A private mapping has pages of its own, too, which belong to no file.
            share = _number(line) * (1024 if line.startswith(b"Pss:") else -1024)
            total += share
            counted += share if known else 0
    return total, counted


# Found once: the device that all memory files and nameless shared mappings lie on.
_device: list[int] = []


def _device_of_memory_files() -> int:
    if not _device:
        try:
            descriptor = os.memfd_create("tongs")
            _device.append(os.fstat(descriptor).st_dev)
            os.close(descriptor)
        except (AttributeError, OSError):
            _device.append(0)  # no file lies there
    return _device[0]


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() or b""
    except OSError:
        return b""


def _bytes(text: bytes, field: bytes) -> int:
    return _number(text, field) * 1024


def _number(text: bytes, field: bytes = b":") -> int:
    """The number behind a field, or 0. With a line break in front, no chosen name can hold it."""
    _, found, rest = text.partition(field)
    return int(rest.split(None, 1)[0]) if found else 0
