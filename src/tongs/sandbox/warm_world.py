"""What a template knows of its world: what it has read, what is its own, and what is left over.

Loaded by the template from its path, as `warm_template` is: without the package around it, on every
Python since 3.8.
"""

from __future__ import annotations

import errno
import os
import signal
import stat
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from tongs.core.annotations import Any

_LARGEST = 16 * 1024
_MOST_READ = 2000
_ALL = 0x40000000  # __WALL: also children of a clone that sends no signal


class Reads:
    """What is read while the service prepares: if that changes, it has to prepare again."""

    def __init__(self) -> None:
        self.seen: dict[str, list[int]] = {}
        self._watching = True
        self._fixed = tuple(
            {os.path.realpath(path) + os.sep for path in (sys.prefix, sys.base_prefix)}
            | {
                path + os.sep
                for path in ("/usr", "/lib", "/lib64", "/proc", "/dev", "/run", "/sys")
            }
        )
        sys.addaudithook(self._heard)

    @property
    def too_many(self) -> str:
        return "its import reads too many files" if len(self.seen) > _MOST_READ else ""

    def finish(self) -> None:
        self._watching = False
        files = [getattr(module, "__file__", None) for module in [*sys.modules.values()]]
        for path in files:
            self._add(path)
        # A package that is installed or removed changes its folder.
        for path in sys.path:
            self._add(path, everywhere=True)

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._watching and event == "open":
            self._add(arguments[0])

    def _add(self, path: Any, *, everywhere: bool = False) -> None:
        if isinstance(path, bytes):
            path = os.fsdecode(path)
        if not isinstance(path, str) or not path or len(self.seen) > _MOST_READ:
            return
        path = os.path.abspath(path)
        if path in self.seen or (path.startswith(self._fixed) and not everywhere):
            return
        try:
            facts = os.stat(path)
        except OSError:
            return
        folder = stat.S_ISDIR(facts.st_mode)
        # Of the tool's own folder everything that counts is watched by itself.
        if not folder or path.startswith(self._fixed):
            stamp = [facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size, facts.st_ino]
            self.seen[path] = stamp


class World:
    """The folders that belong to the call alone, and what was in them when nothing had run yet."""

    def __init__(self, folders: list[str], around: str) -> None:
        # In a private root what lies on another device was granted, and is not ours to touch.
        self._device = os.lstat(around).st_dev if around else None
        self._folders = [path for path in folders if self._is_ours(os.lstat(path))]
        self._before = self._state()
        # A folder's own times change with what is in it, so they are put back.
        self._times = {
            path: os.lstat(path) for path, facts in self._before.items() if stat.S_ISDIR(facts[0])
        }

    def is_as_before(self) -> bool:
        try:
            return self._state() == self._before
        except OSError:
            return False

    def restored(self) -> bool:
        """Remove whatever was added; whether all is as it was."""
        try:
            now = self._state()
            if now != self._before:
                # Those below before what they lie in.
                for path in sorted(now.keys() - self._before.keys(), reverse=True):
                    (os.rmdir if stat.S_ISDIR(now[path][0]) else os.unlink)(path)
                if self._state() != self._before:
                    return False
        except OSError:
            return False
        for path, facts in self._times.items():
            try:
                os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
            except OSError:
                break  # not permitted where nothing may be written
        return True

    def _state(self) -> dict[str, tuple[Any, ...]]:
        found: dict[str, tuple[Any, ...]] = {}
        for folder in self._folders:
            facts = os.lstat(folder)
            found[folder] = (facts.st_mode, facts.st_ino, *os.listxattr(folder))
            found.update(self._inside(folder))
        for kind in ("shm", "sem", "msg"):
            # System V keeps these without a process; the first line is a heading.
            found[kind] = (0, *_lines(f"/proc/sysvipc/{kind}")[1:])
        return found

    def _inside(self, top: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        pending = [top]
        while pending:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    facts = entry.stat(follow_symlinks=False)
                    if not self._is_ours(facts):
                        continue
                    if stat.S_ISDIR(facts.st_mode):
                        pending.append(entry.path)
                        yield entry.path, (facts.st_mode, facts.st_ino, *os.listxattr(entry.path))
                        continue
                    if stat.S_ISLNK(facts.st_mode):
                        yield entry.path, (facts.st_mode, facts.st_ino, os.readlink(entry.path))
                        continue
                    times = (facts.st_mtime_ns, facts.st_size)
                    attributes = os.listxattr(entry.path)
                    yield entry.path, (facts.st_mode, facts.st_ino, *times, *attributes)

    def _is_ours(self, facts: os.stat_result) -> bool:
        return self._device is None or facts.st_dev == self._device


def why_not(known: set[int], world: World, memory: int) -> str:
    """Why a fork would not do: what two processes would share, or one of them would lack.

    `known` are the descriptors of the template itself.
    """
    status = _text("/proc/self/status")
    threads = int(status.partition("\nThreads:")[2].split()[0])
    resident = int(_text("/proc/self/statm").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    if threads > 1:
        return f"its import has started threads ({threads - 1})"
    if shared := [*_open_files(known)]:
        return f"its import has left something open ({shared[0]})"
    # Writable, and not copied by a fork.
    if any(m.split(None, 2)[1][1::2] == "ws" for m in _text("/proc/self/maps").splitlines()):
        return "its import has made memory that processes share"
    if is_something_left():
        return "its import has left a process running"
    if any(signal.getitimer(which)[0] for which in range(3)):
        return "its import has set a timer"
    if not world.is_as_before():
        return "its import has left temporary files"
    if resident > memory // 4:
        return "its import takes more than a quarter of limits.memory"
    return ""


def is_something_left() -> bool:
    """Whether a child is alive; those that have ended are forgotten."""
    while True:
        try:
            if os.waitpid(-1, os.WNOHANG | _ALL)[0] == 0:
                return True
        except ChildProcessError:
            return False


def _open_files(known: set[int]) -> Iterator[str]:
    """What is open and would be shared: anything but devices that are the same for everybody."""
    for name in os.listdir("/proc/self/fd"):
        if int(name) in known:
            continue
        try:
            facts = os.fstat(int(name))
            if not stat.S_ISCHR(facts.st_mode):
                yield os.readlink(f"/proc/self/fd/{name}")
        except OSError as error:
            if error.errno != errno.EBADF:  # the one that listed them
                yield f"descriptor {name}"


def _text(path: str) -> str:
    with open(path, "rb", buffering=0) as file:
        return b"".join(iter(lambda: file.read(_LARGEST), b"")).decode("utf-8", "replace")


def _lines(path: str) -> list[str]:
    try:
        return _text(path).splitlines()
    except OSError:
        return []  # not for the call to see, and then not for it to make
