"""Opens and renames files below a folder by descriptor, through no link.

The kernel walks a whole path in one call (`openat2`). Where it cannot, each part is opened by
itself and none may be a link; that holds the same, and costs a call for each part.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Sequence

from tongs.sandbox import kernel
from tongs.sandbox.host import Host
from tongs.sandbox.protected import protected_in
from tongs.sandbox.system import System, system_of

_RESOLVE = kernel.RESOLVE_BENEATH | kernel.RESOLVE_NO_SYMLINKS | kernel.RESOLVE_NO_MAGICLINKS
_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
# What a kernel or a file system answers that does not know the call or its flag.
_UNKNOWN = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without a right to read a folder one may still have that to pass through.
_PASSED = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Beneath:
    """`core.files.Files` by the kernel of this machine."""

    def __init__(
        self,
        host: Host,
        parts: Callable[[], Sequence[str]] = tuple,
        *,
        whole: bool | None = None,
    ) -> None:
        """`parts` says what accepted tools consist of, wherever that lies. `whole` is whether
        paths are walked by the kernel; None: if it can.
        """
        self._host = host
        self._parts = parts
        self._system: System | None = None
        self._whole = _walks_whole() if whole is None else whole

    def open(self, folder: int, path: str, flags: int, mode: int = 0) -> int:
        flags |= os.O_CLOEXEC | os.O_NOFOLLOW
        if "\0" in path:
            raise OSError(errno.EINVAL, "a path cannot hold a NUL")
        if not self._whole:
            return _opened_in_parts(folder, path, flags, mode)
        how = flags.to_bytes(8, "little") + mode.to_bytes(8, "little")
        how += _RESOLVE.to_bytes(8, "little")
        # The kernel asks to be called again where something was renamed meanwhile.
        for _ in range(64):
            try:
                return kernel.syscall("openat2", folder, os.fsencode(path) + b"\0", how, len(how))
            except BlockingIOError:
                continue
        return _opened_in_parts(folder, path, flags, mode)

    def rename_new(self, source: tuple[int, str], target: tuple[int, str]) -> None:
        try:
            _renamed(source, target, _RENAME_NOREPLACE)
        except OSError as error:
            if error.errno not in _UNKNOWN:
                raise
            _linked(source, target)

    def exchange(self, left: tuple[int, str], right: tuple[int, str]) -> bool:
        try:
            _renamed(left, right, _RENAME_EXCHANGE)
        except OSError as error:
            if error.errno not in _UNKNOWN:
                raise
            return False
        return True

    def held(self, root: str) -> Sequence[str]:
        if self._system is None or not self._system.current:
            self._system = system_of(self._host)
        programs = (program.path for program in self._system.programs)
        state = (self._host.state,) if self._host.state else ()
        own = (*state, *self._host.authority, *programs, *self._parts())
        return (*own, *protected_in(root, ()))


def _walks_whole() -> bool:
    how = (os.O_RDONLY | os.O_CLOEXEC).to_bytes(8, "little") + bytes(8)
    how += _RESOLVE.to_bytes(8, "little")
    try:
        folder = os.open("/", _FOLDER)
    except OSError:
        return False
    try:
        os.close(kernel.syscall("openat2", folder, b".\0", how, len(how)))
    except (OSError, AttributeError):  # another system has no such numbers
        return False
    finally:
        os.close(folder)
    return True


def _opened_in_parts(folder: int, path: str, flags: int, mode: int) -> int:
    *above, last = path.split("/")
    if ".." in (*above, last):
        raise OSError(errno.EXDEV, "a path below a folder has no `..`")
    here = os.dup(folder)
    try:
        for name in above:
            below = _passed(name, here)
            os.close(here)
            here = below
        return os.open(last, flags, mode, dir_fd=here)
    finally:
        os.close(here)


def _passed(name: str, folder: int) -> int:
    try:
        return os.open(name, _PASSED, dir_fd=folder)
    except NotADirectoryError:
        # O_DIRECTORY with O_NOFOLLOW says the same of a link as of a plain file.
        if _is_link(name, folder):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP)) from None
        raise


def _is_link(name: str, folder: int) -> bool:
    try:
        os.readlink(name, dir_fd=folder)
    except OSError:
        return False
    return True


def _renamed(source: tuple[int, str], target: tuple[int, str], flags: int) -> None:
    old, new = os.fsencode(source[1]) + b"\0", os.fsencode(target[1]) + b"\0"
    try:
        kernel.syscall("renameat2", source[0], old, target[0], new, flags)
    except AttributeError:  # as above
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None


def _linked(source: tuple[int, str], target: tuple[int, str]) -> None:
    """A second name, then without the first: also this fails where the target exists.

    A folder can have no second name, so there is a moment between the look and the rename.
    """
    try:
        os.link(
            source[1],
            target[1],
            src_dir_fd=source[0],
            dst_dir_fd=target[0],
            follow_symlinks=False,
        )
    except (PermissionError, IsADirectoryError):
        try:
            os.stat(target[1], dir_fd=target[0], follow_symlinks=False)
        except FileNotFoundError:
            os.rename(source[1], target[1], src_dir_fd=source[0], dst_dir_fd=target[0])
            return
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
    os.unlink(source[1], dir_fd=source[0])
