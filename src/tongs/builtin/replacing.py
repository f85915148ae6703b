"""Puts data at a name in one step, and only over what the call was decided for."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

from tongs.builtin.facts import FILE, state_of
from tongs.builtin.trouble import changed, told
from tongs.core.errors import ToolError
from tongs.core.files import Files

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def put(files: Files, folder: int, name: str, data: bytes, before: str, path: str) -> None:
    """Write beside, sync, and take the place of what is there.

    `before` is the `state_of` that place when the call was decided. Where it is another one by
    then, nothing happens and ToolError says so. No reader sees half of the data.
    """
    try:
        beside, inode = _written(folder, name, data, before)
    except OSError as error:
        raise told(error, path) from None
    try:
        if before:
            _replaced(files, folder, (beside, name), before, path)
        else:
            files.rename_new((folder, beside), (folder, name))
    except (FileExistsError, FileNotFoundError):
        raise changed(path) from None
    except OSError as error:
        raise told(error, path) from None
    finally:
        _removed(folder, beside, inode)
    with suppress(OSError):  # some file systems cannot
        os.fsync(folder)


def _written(folder: int, name: str, data: bytes, before: str) -> tuple[str, int]:
    """The name of a new file with this data, and its inode."""
    beside = f".tongs-{os.urandom(8).hex()}.part"
    descriptor = os.open(beside, _NEW, 0o600 if before else 0o666, dir_fd=folder)
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
        if before:
            _as_before(descriptor, folder, name)
        os.fsync(descriptor)
        return beside, os.fstat(descriptor).st_ino
    except BaseException:
        os.unlink(beside, dir_fd=folder)
        raise
    finally:
        os.close(descriptor)


def _as_before(descriptor: int, folder: int, name: str) -> None:
    """The owner, as far as we may, and the mode of the file that is replaced."""
    try:
        facts = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return  # the caller is about to find out
    with suppress(OSError):
        os.fchown(descriptor, facts.st_uid, facts.st_gid)
    # As whoever writes to a file loses these bits.
    os.fchmod(descriptor, stat.S_IMODE(facts.st_mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _replaced(files: Files, folder: int, names: tuple[str, str], before: str, path: str) -> None:
    beside, name = names
    if not files.exchange((folder, beside), (folder, name)):
        # A file system without this leaves a moment between the look and the rename.
        if state_of(folder, name) != before:
            raise changed(path)
        os.replace(beside, name, src_dir_fd=folder, dst_dir_fd=folder)
        return
    if state_of(folder, beside) == before and before.startswith(FILE):
        os.unlink(beside, dir_fd=folder)
        return
    refused: ToolError = changed(path)
    # Back again. What somebody put there since is not ours to remove either.
    files.exchange((folder, beside), (folder, name))
    raise refused


def _removed(folder: int, name: str, inode: int) -> None:
    """What is left of a failure, if it is really ours."""
    with suppress(OSError):
        if os.stat(name, dir_fd=folder, follow_symlinks=False).st_ino == inode:
            os.unlink(name, dir_fd=folder)
