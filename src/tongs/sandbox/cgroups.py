"""Limits over a whole tree, kept by the kernel: control groups, version 2 or 1, where we may.

`probe` finds out by doing it once. No setting of an existing group is ever written: groups of ours
come and go inside one, and what was left by a killed process is removed by the next probe.

A process that is to enter a group can run this file without the package around it: standard library
only, and of that only what an interpreter loads cheaply.
"""

from __future__ import annotations

import errno
import fcntl
import os
import select

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# What a group is called; the number of the process that made it follows.
PREFIX = "tongs-"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# How long, and how often, the removal of a group waits for its last process to be gone.
_PATIENCE, _PAUSE = 100, 2
# How often what is killed one by one is looked at again.
_ROUNDS = 20
_SIGKILL = 9
# Larger than the small files of a group.
_SMALL = 4096
# More than any kernel can number, and the most it lets one ask for.
_MOST_PROCESSES = 2**22
# What the probe asks for: more than the forked copy of any process of ours holds by itself.
_TRIED_MEMORY, _TRIED_PROCESSES = 1024**3, 64


class Found:
    """Folders in which groups can be made that limit the memory, and the tasks, of a whole tree."""

    __slots__ = ("memory", "pids", "version")

    def __init__(self, version: int, memory: str | None, pids: str | None) -> None:
        self.version = version
        self.memory = memory
        self.pids = pids

    def data(self) -> tuple[int, str | None, str | None]:
        """Plain data that marshal can carry to the fork server."""
        return (self.version, self.memory, self.pids)


class Group:
    """One group, which is two folders where version 1 has a hierarchy for each limit.

    Groups can be used again: what `events` counts starts anew with each `limit`.
    """

    def __init__(self, found: Found, name: str) -> None:
        self._version = found.version
        self._memory = found.memory and f"{found.memory}/{name}"
        self._pids = found.pids and f"{found.pids}/{name}"
        self._folders = [*dict.fromkeys(path for path in (self._pids, self._memory) if path)]
        # Held while the group is in use, so that nobody takes it for a leftover.
        self._locks: list[int] = []
        # The file that counts who was killed for memory, open from the first look at it.
        self._killings = -1
        self._before = (0, 0)
        self._held_to: tuple[int, int] | None = None
        # Where it goes when its call is over.
        self.home: Callable[[Group], None] | None = None

    @classmethod
    def create(cls, found: Found, memory: int, processes: int) -> Group:
        """A new group with these limits. Raises OSError, and leaves nothing, where it cannot."""
        group = cls(found, f"{PREFIX}{os.getpid()}-{os.urandom(8).hex()}")
        try:
            for folder in group._folders:
                os.mkdir(folder, 0o700)
                group._locks.append(os.open(folder, _FOLDER))
                fcntl.flock(group._locks[-1], fcntl.LOCK_EX)
            group.limit(memory, processes)
        except BaseException:
            group.close()
            raise
        return group

    @property
    def procs(self) -> list[str]:
        """What a process writes `0` to in order to be in it, and all it starts from then on."""
        return [f"{folder}/cgroup.procs" for folder in self._folders]

    def limits(self) -> tuple[int | None, int | None]:
        """The limits the kernel holds it to; None where it has no say, or there is none."""
        name = "memory.max" if self._version == 2 else "memory.limit_in_bytes"
        texts = (
            _read(f"{self._memory}/{name}") if self._memory else b"",
            _read(f"{self._pids}/pids.max") if self._pids else b"",
        )
        memory, processes = (int(text) if text.strip().isdigit() else None for text in texts)
        return memory, processes

    def limit(self, memory: int, processes: int) -> None:
        """Set the limits, also of a group that has had others, and count anew."""
        if self._held_to != (memory, processes):
            self._held_to = None
            self._set(memory, processes)
            self._held_to = (memory, processes)
        self._before = self._counted()

    def _set(self, memory: int, processes: int) -> None:
        if self._memory and self._version == 2:
            _write(f"{self._memory}/memory.max", b"%d" % memory)
            # A call that lost one of its processes is of no use to anybody.
            _write_if_there(f"{self._memory}/memory.oom.group", b"1")
            _write_if_there(f"{self._memory}/memory.swap.max", b"0")
        elif self._memory:
            self._limit_with_swap(b"%d" % memory)
        if self._pids:
            _write(f"{self._pids}/pids.max", b"%d" % min(processes, _MOST_PROCESSES))

    def _limit_with_swap(self, memory: bytes) -> None:
        """Version 1 counts memory, and memory and swap; the first may never be above the second."""
        alone = f"{self._memory}/memory.limit_in_bytes"
        both = f"{self._memory}/memory.memsw.limit_in_bytes"
        try:
            _write(alone, memory)
        except OSError as error:
            if error.errno != errno.EINVAL:
                raise
            _write(both, memory)
            _write(alone, memory)
        _write_if_there(both, memory)

    def events(self) -> tuple[int, int]:
        """Processes killed for memory, and forks refused, since the limits were set."""
        killed, refused = self._counted()
        return killed - self._before[0], refused - self._before[1]

    def killed(self) -> int:
        """Processes killed for memory since the limits were set."""
        return self._killed() - self._before[0]

    def _counted(self) -> tuple[int, int]:
        return self._killed(), _field(f"{self._pids}/pids.events", b"max") if self._pids else 0

    def _killed(self) -> int:
        """Every warm call asks, so the file stays open: to open it takes longer than to read it."""
        if not self._memory:
            return 0
        if self._killings < 0:
            name = "memory.events" if self._version == 2 else "memory.oom_control"
            try:
                self._killings = os.open(f"{self._memory}/{name}", os.O_RDONLY | os.O_CLOEXEC)
            except OSError:
                return 0
        try:
            return _number(os.pread(self._killings, _SMALL, 0), b"oom_kill")
        except OSError:
            return 0  # the group was removed

    def members(self) -> list[int]:
        """The processes in it now."""
        found: set[int] = set()
        for path in self.procs:
            found.update(map(int, _read(path).split()))
        return sorted(found)

    def is_empty(self) -> bool:
        """Whether it is there and nobody is in it."""
        try:
            return not any(_content(path) for path in self.procs)
        except OSError:
            return False

    def kill(self) -> None:
        """Kill all of it: at once where the kernel can, else one by one, new ones too."""
        if any(_write_if_there(f"{folder}/cgroup.kill", b"1") for folder in self._folders):
            return
        for _ in range(_ROUNDS):
            if not (members := self.members()):
                return
            for pid in members:
                try:  # noqa: SIM105 - contextlib costs more to import than this file
                    os.kill(pid, _SIGKILL)
                except OSError:
                    pass  # gone

    def leave(self) -> None:
        """Its call is over: it waits for the next one, or is removed."""
        if self.home is None:
            self.close()
        else:
            self.home(self)

    def close(self, patience: int = _PATIENCE) -> bool:
        """Remove it; False where a process of it lives on after so many milliseconds."""
        gone = [_removed(folder, patience) for folder in self._folders]
        if self._killings >= 0:
            self._locks.append(self._killings)
            self._killings = -1
        while self._locks:
            os.close(self._locks.pop())
        return all(gone)


def enter(procs: Sequence[str]) -> None:
    """Move this process into the group of these paths. Raises OSError where it is refused."""
    for path in procs:
        _write(path, b"0")


def probe(cgroups: str = "/proc/self/cgroup", mounts: str = "/proc/self/mountinfo") -> Found | None:
    """Where groups of ours can be made, having made, filled and removed one; None: nowhere.

    Forks where it gets so far, so it belongs where there is one thread.
    """
    best: Found | None = None
    for place in _candidates(_read(cgroups), _read(mounts)):
        memory, pids = place.memory, place.pids
        for folder in {memory, pids} - {None}:
            _sweep(str(folder))
        if memory and pids and _works(place):
            return place
        alone = (Found(place.version, memory, None), Found(place.version, None, pids))
        best = best or next(filter(_works, alone), None)
    return best


def _works(found: Found) -> bool:
    if not found.memory and not found.pids:
        return False
    try:
        group = Group.create(found, _TRIED_MEMORY, _TRIED_PROCESSES)
    except OSError:
        return False
    try:
        return group.limits() == (
            _TRIED_MEMORY if found.memory else None,
            _TRIED_PROCESSES if found.pids else None,
        ) and _takes_a_process(group)
    finally:
        group.close()


def _takes_a_process(group: Group) -> bool:
    said, say = os.pipe()
    over, hold = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(hold)
            enter(group.procs)
            os.write(say, b"in")
            os.read(over, 1)
        finally:
            os._exit(0)
    os.close(say)
    os.close(over)
    try:
        return os.read(said, 2) == b"in" and group.members() == [child]
    finally:
        os.close(said)
        os.close(hold)
        os.waitpid(child, 0)


def _candidates(cgroups: bytes, mounts: bytes) -> Iterator[Found]:
    """Places to try, of both versions, from the kernel's lists of groups and of mounts."""
    own: dict[bytes, bytes] = {}
    for line in cgroups.splitlines():
        _, controllers, path = line.split(b":", 2)
        own.update(dict.fromkeys(controllers.split(b","), path))
    first: dict[bytes, str] = {}
    for kind, options, root, point in _hierarchies(mounts):
        if kind == b"cgroup2":
            if folder := _below(point, root, own.get(b"")):
                yield from _unified(folder, own[b""] == root)
            continue
        for controller in (b"memory", b"pids"):
            folder = _below(point, root, own.get(controller))
            if folder and controller in options.split(b","):
                first.setdefault(controller, folder)
    if first:
        yield Found(1, first.get(b"memory"), first.get(b"pids"))


def _unified(folder: str, top: bool) -> Iterator[Found]:
    """Version 2: a group that has processes hands no limits on, so mostly the one above does."""
    places = [folder]
    if not top and _unbound(folder):
        places.append(os.path.dirname(folder))
    for place in places:
        handed_on = _read(f"{place}/cgroup.subtree_control").split()
        memory, pids = (place if name in handed_on else None for name in (b"memory", b"pids"))
        if memory or pids:
            yield Found(2, memory, pids)


def _unbound(folder: str) -> bool:
    """Whether nothing is lost by leaving this group: a neighbour is not held to its limits.

    A number of tasks does not count: service managers give one to every group they make, far above
    ours, which takes its place.
    """
    names = ("memory.max", "memory.high", "memory.swap.max", "cpu.max")
    return all(_read(f"{folder}/{name}").split()[:1] in ([], [b"max"]) for name in names)


def _hierarchies(mounts: bytes) -> Iterator[tuple[bytes, bytes, bytes, bytes]]:
    """Kind, options, root and mount point of every mounted hierarchy."""
    for line in mounts.splitlines():
        where, found, what = line.partition(b" - cgroup")
        if found:
            _, _, _, root, point, *_ = where.split(b" ")
            kind, _, options = (b"cgroup" + what).split(b" ", 2)
            yield kind, options, root, point


def _below(point: bytes, root: bytes, path: bytes | None) -> str | None:
    """Where a group lies in the file system; None where the mount does not show it."""
    top = root.rstrip(b"/")
    # Groups outside of this process's namespace are written with dots; escaped names are nobody's.
    if path is None or b"/.." in path + root or b"\\" in point + path:
        return None
    if path != root and not path.startswith(top + b"/"):
        return None
    return os.fsdecode(point + path[len(top) :]).rstrip("/")


def _sweep(place: str) -> None:
    """Remove groups whose process is gone, here and in any container that shares this place."""
    try:
        names = [name for name in os.listdir(place) if name.startswith(PREFIX)]
    except OSError:
        return
    for name in names:
        pid = name.removeprefix(PREFIX).partition("-")[0]
        if not pid.isdecimal() or os.path.exists(f"/proc/{pid}"):
            continue
        try:
            held = os.open(f"{place}/{name}", _FOLDER)
        except OSError:
            continue
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.rmdir(f"{place}/{name}")
        except OSError:
            pass  # in use
        finally:
            os.close(held)


def _removed(folder: str, patience: int) -> bool:
    """Whether it is gone, waiting for as many milliseconds for its last process to go."""
    while True:
        try:
            os.rmdir(folder)
        except OSError as error:
            if error.errno != errno.EBUSY:
                return error.errno == errno.ENOENT
        else:
            return True
        if patience <= 0:
            return False
        select.poll().poll(_PAUSE)
        patience -= _PAUSE


def _write(path: str, data: bytes) -> None:
    # Never created: outside of a control file system such a file would be nothing but litter.
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _write_if_there(path: str, data: bytes) -> bool:
    try:
        _write(path, data)
    except FileNotFoundError:
        return False
    return True


def _content(path: str) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 64)
    finally:
        os.close(descriptor)


def _read(path: str) -> bytes:
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read() or b""
    except OSError:
        return b""


def _field(path: str, name: bytes) -> int:
    """A number from a file of lines with a name and a number each; 0 where there is none."""
    return _number(_read(path), name)


def _number(data: bytes, name: bytes) -> int:
    for line in data.splitlines():
        key, _, value = line.partition(b" ")
        if key == name:
            return int(value)
    return 0
