"""The folders of one call: its scratch, and files that Tongs hands to it."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What the call's processes may write to.
_TMP = "tmp"
# What a new one is: a folder, and nobody else's.
_NEW = stat.S_IFDIR | 0o700
# Folders of scratch folders in which this process has looked for leftovers.
_swept: set[str] = set()
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Scratch:
    """A private folder under `root`, made when something first needs it.

    `tmp` inside it belongs to the call's processes, the files beside it are Tongs'. All folders of
    a user lie in one, where the next process finds and removes what a killed Tongs left behind.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._base: str | None = None
        # Held while the folder is in use, so that nobody takes it for a leftover.
        self._lock = -1

    @property
    def tmp(self) -> str:
        return os.path.join(self.folder, _TMP)

    @property
    def folder(self) -> str:
        if self._base is None:
            own = f"tongs-{os.getpid()}-{os.urandom(8).hex()}"
            base = os.path.join(_users_folder(self._root), own)
            os.mkdir(base, 0o700)
            self._lock = os.open(base, _FOLDER)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            os.mkdir(os.path.join(base, _TMP), 0o700)
            self._base = base
        return self._base

    def write(self, name: str, data: bytes) -> str:
        """A new file that its owner may read and, where it has a #! line, run. Its path."""
        if name in ("", ".", "..", _TMP) or "/" in name or "\0" in name:
            raise ValueError(f"not a plain file name: {name!r}")
        path = os.path.join(self.folder, name)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path)
        descriptor = os.open(path, _NEW_FILE, 0o700)
        with open(descriptor, "wb", buffering=0) as file:
            rest = memoryview(data)
            while rest:
                rest = rest[file.write(rest) :]
        return path

    def is_as_new(self) -> bool:
        """Whether nothing tells that it was used, once our own files are gone.

        Another call may have it then: to make and remove folders costs more than to start a
        process.
        """
        if self._base is None:
            return False
        tmp = os.path.join(self._base, _TMP)
        try:
            for name in os.listdir(self._base):
                if name != _TMP:
                    os.unlink(os.path.join(self._base, name))
            facts = os.lstat(tmp)
            if os.listdir(tmp) or os.listxattr(tmp) or facts.st_mode != _NEW:
                return False
            os.utime(tmp)
        except OSError:
            return False
        return facts.st_uid == os.geteuid() and facts.st_gid == os.getegid()

    def close(self) -> None:
        if self._base is not None:
            if not _removed_plain(self._base):
                remove_tree(self._base)
            os.close(self._lock)
            self._base = None


def _removed_plain(base: str) -> bool:
    """The common case, in which a call left nothing behind."""
    try:
        for name in os.listdir(base):
            (os.rmdir if name == _TMP else os.unlink)(os.path.join(base, name))
        os.rmdir(base)
    except OSError:
        return False
    return True


def _users_folder(root: str) -> str:
    """The user's folder of scratch folders, swept of those whose process is gone."""
    folder = os.path.join(root, f"tongs-{os.geteuid()}")
    try:
        facts = os.lstat(folder)
    except FileNotFoundError:
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)
        facts = os.lstat(folder)
    private = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
    if not private or facts.st_uid != os.geteuid():
        # Somebody else was here first: their folder is theirs to change under our feet.
        return root
    if folder in _swept:
        return folder
    _swept.add(folder)
    for name in os.listdir(folder):
        if _is_left_over(name, os.path.join(folder, name)):
            remove_tree(os.path.join(folder, name))
    return folder


def _is_left_over(name: str, path: str) -> bool:
    """Its process is gone, here and in any container that shares this folder."""
    pid = name.removeprefix("tongs-").partition("-")[0]
    if not pid.isdecimal() or os.path.exists(f"/proc/{pid}"):
        return False
    try:
        held = os.open(path, _FOLDER)
    except OSError:
        return False
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(held)
    return True


def remove_tree(path: str) -> None:
    """Remove a folder whatever a tool made of it: unreadable, very deep, full of links.

    Links are removed, never followed. What the system itself refuses to remove (a mount, an
    immutable file) stays.
    """
    try:
        top = os.open(path, _FOLDER)
    except OSError:
        return
    try:
        stuck: set[str] = set()
        number = 0
        while names := [name for name in os.listdir(top) if name not in stuck]:
            for name in names:
                if _unlinked(name, top):
                    continue
                # Folders below are moved up next to their parent, so that no depth of nesting
                # can exhaust the stack, the descriptors or the length of a path.
                number = _emptied(name, top, number)
                try:
                    os.rmdir(name, dir_fd=top)
                except OSError:
                    stuck.add(name)
    finally:
        os.close(top)
    with contextlib.suppress(OSError):
        os.rmdir(path)


def _unlinked(name: str, folder: int) -> bool:
    """Whether `name` was something other than a folder, which is gone now."""
    try:
        os.unlink(name, dir_fd=folder)
    except OSError:
        return not _is_folder(name, folder)
    return True


def _emptied(name: str, top: int, number: int) -> int:
    folder = _opened(name, top)
    if folder is None:
        return number
    try:
        for inner in os.listdir(folder):
            if _unlinked(inner, folder):
                continue
            number += 1
            moved = _opened(inner, folder)  # moving a folder needs the right to write to it
            if moved is not None:
                os.close(moved)
            try:
                os.rename(inner, f".{number}", src_dir_fd=folder, dst_dir_fd=top)
            except OSError:
                continue
    finally:
        os.close(folder)
    return number


def _opened(name: str, parent: int) -> int | None:
    """Open a folder, giving its owner the rights a tool may have taken away."""
    try:
        plain = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=parent)
    except OSError:
        return None
    try:
        # Through the descriptor, since a chmod by name would follow a link put there meanwhile.
        os.chmod(f"/proc/self/fd/{plain}", 0o700)
        return os.open(name, _FOLDER, dir_fd=parent)
    except OSError:
        return None
    finally:
        os.close(plain)


def _is_folder(name: str, folder: int) -> bool:
    try:
        return stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode)
    except OSError:
        return False
