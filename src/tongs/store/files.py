"""Files that are whole or not there: written beside, synced, renamed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

# To look up where a path leads; only Linux says that.
_BY_PATH = getattr(os, "O_PATH", 0) and os.O_PATH | os.O_CLOEXEC
# How much is read at once.
_FIRST, _MORE = 64 * 1024, 1024 * 1024


def write_whole(path: str, data: bytes, *, mode: int = 0o600, sync: bool = True) -> None:
    """Replace `path` by `data` so that no reader ever sees half of it."""
    folder = os.path.dirname(path)
    beside = os.path.join(folder, f".{os.path.basename(path)}.{os.urandom(6).hex()}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        try:
            _write_all(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        os.replace(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    if sync:
        _sync_folder(folder)


def private_folder(path: str) -> str:
    """A folder of ours that nobody else can look into, nor into any that had to be made above."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass
    except FileNotFoundError:
        above = os.path.dirname(path)
        if os.path.isdir(above):
            raise  # no folder can be made there, as in /proc
        private_folder(above)
        private_folder(path)
    return path


@contextmanager
def locked(path: str) -> Iterator[None]:
    """Only one at a time, in all processes, so that nobody loses what another has changed.

    The folder of `path` is made, if nobody has yet. Nothing is ever kept in the file itself.
    """
    import fcntl  # noqa: PLC0415 - only writers need it

    private_folder(os.path.dirname(path))
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def read_whole(path: str, limit: int) -> bytes | None:
    """The file's bytes, at most one more than `limit`; None if there is no such file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    pieces: list[bytes] = []
    left = limit + 1
    try:
        # Most files are small, and memory for more than that comes fresh from the kernel.
        while left > 0 and (piece := os.read(descriptor, min(left, _MORE if pieces else _FIRST))):
            pieces.append(piece)
            left -= len(piece)
    except BlockingIOError:
        pass  # a pipe in which there is nothing
    finally:
        os.close(descriptor)
    return b"".join(pieces)


def real_path(path: str) -> str:
    """As os.path.realpath, which looks at each part of a path by itself.

    Linux tells where something lies that was opened; most paths lead just there.
    """
    if _BY_PATH:
        try:
            descriptor = os.open(path, _BY_PATH)
        except (OSError, ValueError):
            return os.path.realpath(path)
        try:
            if os.readlink(f"/proc/self/fd/{descriptor}") == path:
                return path
        except OSError:
            pass  # where nothing of /proc is to be seen
        finally:
            os.close(descriptor)
    return os.path.realpath(path)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
