"""The files and folders a call was granted, each found once and known by what it is.

An entry is opened by a path in which nothing is a link, and remembered with its device and inode.
Whoever binds it or makes a rule of it opens it again and compares, so that nothing can be put in
its place between the check and the use.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterable

from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.sandbox import kernel
from tongs.sandbox.host import Host

READ = 0
SCRATCH = 1
WRITE = 2

# Permissions whose roots are kept in memory.
_MOST_KNOWN = 64
_KEYS = {READ: "read", SCRATCH: "read", WRITE: "write"}
# To grant one of these for writing would be to grant the machine.
_NEVER_WRITTEN = frozenset(
    "/" + name for name in "bin boot dev etc home lib lib64 proc root run sbin sys usr var".split()
)


@dataclass(frozen=True, slots=True)
class Root:
    """One entry. `mode` is READ, SCRATCH (writes vanish) or WRITE."""

    path: str
    mode: int
    device: int
    inode: int

    @property
    def encoded(self) -> bytes:
        return os.fsencode(self.path)


@dataclass(frozen=True, slots=True)
class Roots:
    """The entries that count, those above before those below.

    `missing` are the paths at which there is nothing, `named` those that may be written by their
    own name.
    """

    entries: tuple[Root, ...] = ()
    missing: tuple[str, ...] = ()
    named: frozenset[str] = frozenset()

    def covering(self, path: str) -> Root | None:
        """The nearest entry that `path` lies in."""
        found = [root for root in self.entries if inside(path, root.path)]
        return found[-1] if found else None


_NONE = Roots()


def found_roots(permissions: Permissions, host: Host, programs: Iterable[str] = ()) -> Roots:
    """The roots of these permissions. Raises ToolError for what cannot be granted to anybody.

    `programs` are read, too, as far as they exist and are no links.
    """
    return _merged(*_each(permissions, host, programs))


def _each(
    permissions: Permissions, host: Host, programs: Iterable[str]
) -> tuple[list[Root], list[str]]:
    """Everything that is named, and the paths at which there is nothing."""
    found = [path for path in programs if _is_plain(path)]
    modes: dict[str, int] = dict.fromkeys(found, READ)
    for mode, paths in (
        (READ, permissions.read),
        (SCRATCH, permissions.scratch),
        (WRITE, permissions.write),
    ):
        for path in paths:
            modes[path] = max(mode, modes.get(path, READ))
    entries = []
    missing = []
    for path, mode in sorted(modes.items()):
        _check(path, mode, host)
        identity = _identity(path, mode)
        if identity is None:
            missing.append(path)
        else:
            entries.append(Root(path, mode, *identity))
    return entries, missing


def _merged(entries: list[Root], missing: list[str]) -> Roots:
    if not entries and not missing:
        return _NONE
    named = frozenset(root.path for root in entries if root.mode == WRITE)
    return Roots(tuple(_without_repeats(entries)), tuple(missing), named)


class KnownRoots:
    """`found_roots`, and what it found for the permissions of earlier calls, while that is there.

    Each is looked at by its path, which is cheaper than to open it: it is the very file or folder
    that was found without a link on the way, whatever leads to it by now.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Permissions, tuple[str, ...], list[Root], Roots]] = {}

    def found(self, permissions: Permissions, host: Host, programs: tuple[str, ...]) -> Roots:
        known = self._known.get(id(permissions))
        if known is not None and known[0] is permissions and known[1] == programs:
            *_, entries, roots = known
            if are_there(entries):
                return roots
        entries, missing = _each(permissions, host, programs)
        roots = _merged(entries, missing)
        # Nobody looks for what was not there, so it is looked for each time.
        if {*permissions.readable, *programs} == {root.path for root in entries}:
            if len(self._known) >= _MOST_KNOWN:
                self._known.clear()
            self._known[id(permissions)] = (permissions, programs, entries, roots)
        return roots


def are_there(roots: Iterable[Root]) -> bool:
    """Whether each is still what lies at its path. Whoever shows it to a call opens it again."""
    try:
        for root in roots:
            facts = os.lstat(root.path)
            if facts.st_ino != root.inode or facts.st_dev != root.device:
                return False
    except OSError:
        return False
    return True


def _is_plain(path: str) -> bool:
    try:
        return not stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:
        return False


def inside(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def _without_repeats(entries: list[Root]) -> list[Root]:
    """Leave out what lies in an entry that grants as much or more: the widest grant counts."""
    kept: list[Root] = []
    for root in entries:
        around = [other for other in kept if inside(root.path, other.path)]
        if not around or root.mode > around[-1].mode:
            kept.append(root)
    return kept


def _check(path: str, mode: int, host: Host) -> None:
    if "\0" in path:
        raise _refused(mode, path.replace("\0", "\\0"), "a path cannot hold a NUL")
    if path == "/":
        raise _refused(mode, path, "the whole file system", "name the folders that are needed")
    if inside(path, "/proc"):
        raise _refused(mode, path, "of the process table every call sees its own part anyway")
    if host.state and inside(path, host.state):
        raise _refused(mode, path, "Tongs' own state, which nothing can be granted")
    if mode != WRITE:
        return
    if path in _NEVER_WRITTEN or path == host.home:
        raise _refused(mode, path, "too much to be written", "name a folder in it")
    for folder in host.authority:
        if inside(path, folder):
            raise _refused(mode, path, "where tools and config are trusted by their place")


def identified(path: str) -> tuple[int, int]:
    """Device and inode of what lies at a path in which nothing is a link."""
    descriptor = kernel.open_path(os.fsencode(path))
    try:
        facts = os.fstat(descriptor)
    finally:
        os.close(descriptor)
    return facts.st_dev, facts.st_ino


def _identity(path: str, mode: int) -> tuple[int, int] | None:
    """Device and inode; None where there is nothing."""
    try:
        return identified(path)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR):
            return None
        if error.errno == errno.ELOOP:
            # Not advice to grant the target: an earlier call may have made the link.
            hint = "remove the link, or, if it is yours, name what it leads to"
            with contextlib.suppress(OSError):  # it may be gone by now
                hint += f": {os.path.realpath(path)}"
            raise _refused(mode, path, "it leads through a symbolic link", hint) from None
        raise _refused(mode, path, f"cannot be opened: {error.strerror}") from None


def _refused(mode: int, path: str, reason: str, hint: str = "") -> ToolError:
    return ToolError(
        ErrorCode.PERMISSION_DENIED,
        f"permissions.fs.{_KEYS[mode]}: {path}: {reason}",
        details={"path": path},
        blocked_by=BlockedBy.PERMISSION,
        hint=hint,
    )
