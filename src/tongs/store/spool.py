"""Output that is too large to be held: kept whole on disk for a day, read back in pages.

Streams are kept apart, one file each, named by the handle: `HANDLE.1` is stdout, `HANDLE.2` stderr.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Callable

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT
from tongs.core.record import dataclass
from tongs.store.files import private_folder

MEBIBYTE = 1024**2
DAY = 24 * 3600.0

_STREAMS = (STDOUT, STDERR)
_HANDLE = r"(?:[A-Za-z0-9_-]{1,40}\.)?[0-9a-f]{32}"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OLD_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
# The bound of the whole spool is looked at again whenever a writer has added this much.
_SWEEP_EVERY = 16 * MEBIBYTE
_BLOCK = 256 * 1024


@dataclass(frozen=True, slots=True)
class SpoolLimits:
    """Bytes of one call, bytes of all, and the seconds until a file is dropped."""

    call: int = 64 * MEBIBYTE
    total: int = 1024 * MEBIBYTE
    age: float = DAY


class Spool:
    """A private folder of spooled output. Several processes may use the same folder."""

    def __init__(
        self,
        folder: str,
        limits: SpoolLimits = SpoolLimits(),  # noqa: B008 - frozen
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder = folder
        self._limits = limits
        self._clock = clock

    def open(self, call_id: str, used: int = 0) -> Writer:
        """A writer with a new handle. `used` is what the call has spooled already.

        Raises OSError where the folder cannot be written.
        """
        private_folder(self._folder)
        os.chmod(self._folder, 0o700)  # one that was there already may have been open to others
        self.sweep()
        label = re.sub(r"[^A-Za-z0-9_-]", "_", call_id)[:40]
        token = os.urandom(16).hex()
        handle = f"{label}.{token}" if label else token
        return Writer(self, handle, max(0, self._limits.call - used))

    def size(self, handle: str, stream: int = STDOUT) -> int:
        """Bytes kept of that stream; 0 for one that was silent."""
        self._require(handle)
        try:
            return os.stat(self.path(handle, stream), follow_symlinks=False).st_size
        except FileNotFoundError:
            return 0

    def read(self, handle: str, offset: int, length: int, stream: int = STDOUT) -> bytes:
        """A page. Empty at or beyond the end."""
        self._require(handle)
        if offset < 0 or length < 0:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS, "offset and length of a page cannot be negative"
            )
        try:
            descriptor = os.open(self.path(handle, stream), _OLD_FILE)
        except FileNotFoundError:
            return b""
        with open(descriptor, "rb") as file:
            file.seek(offset)
            return file.read(length)

    def sweep(self) -> None:
        """Drop what is too old, then the oldest until the rest is within the bound."""
        expires = self._clock() - self._limits.age
        left = []
        for entry in self._entries():
            if entry.changed < expires:
                self._drop(entry.handle)
            else:
                left.append(entry)
        total = sum(entry.size for entry in left)
        for entry in sorted(left, key=lambda entry: entry.changed):
            if total <= self._limits.total:
                break
            self._drop(entry.handle)
            total -= entry.size

    def path(self, handle: str, stream: int) -> str:
        """The file of one stream. A handle is checked, since it comes back from models."""
        if not re.fullmatch(_HANDLE, handle) or stream not in _STREAMS:
            raise _unknown(handle)
        return os.path.join(self._folder, f"{handle}.{stream}")

    def _require(self, handle: str) -> None:
        if not any(os.path.lexists(self.path(handle, stream)) for stream in _STREAMS):
            raise _unknown(handle)

    def _entries(self) -> list[_Entry]:
        found: dict[str, _Entry] = {}
        for file in os.scandir(self._folder):
            handle, _, stream = file.name.rpartition(".")
            if not re.fullmatch(_HANDLE, handle) or stream not in ("1", "2"):
                continue
            try:
                about = file.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # another process swept it
            known = found.get(handle, _Entry(handle, 0, 0.0))
            found[handle] = _Entry(
                handle, known.size + about.st_size, max(known.changed, about.st_mtime)
            )
        return list(found.values())

    def _drop(self, handle: str) -> None:
        for stream in _STREAMS:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.path(handle, stream))


class Writer:
    """Appends to the files of one handle. Never raises once it was opened: what fails is lost."""

    def __init__(self, spool: Spool, handle: str, room: int) -> None:
        self.handle = handle
        self._spool = spool
        self._room = room
        self._files: dict[int, _File] = {}
        self._unswept = 0

    def write(self, stream: int, data: bytes) -> None:
        """Keep as much of it as there is room for."""
        kept = data[: self._room]
        self._room -= len(kept)
        try:
            if kept and stream not in self._files:
                self._files[stream] = _File(self._spool.path(self.handle, stream))
            if kept:
                self._files[stream].append(kept)
        except OSError:
            # A full disk. A gap in the middle would be worse than an early end.
            self._room = 0
        self._unswept += len(kept)
        if self._unswept >= _SWEEP_EVERY:
            self._sweep()

    def close(self) -> dict[int, int]:
        """The bytes kept of each stream."""
        kept = {stream: file.close() for stream, file in self._files.items()}
        if kept:
            self._sweep()
        return kept

    def _sweep(self) -> None:
        self._unswept = 0
        with contextlib.suppress(OSError):
            self._spool.sweep()


class _File:
    """One stream. Collects in a block that stays: small writes and fresh memory both cost more."""

    def __init__(self, path: str) -> None:
        self._descriptor = os.open(path, _NEW_FILE, 0o600)
        self._block = memoryview(bytearray(_BLOCK))
        self._filled = 0
        self._written = 0

    def append(self, data: bytes) -> None:
        if self._filled + len(data) > _BLOCK:
            self._flush()
        if len(data) > _BLOCK:
            self._write(memoryview(data))
        else:
            self._block[self._filled : self._filled + len(data)] = data
            self._filled += len(data)

    def close(self) -> int:
        with contextlib.suppress(OSError):
            self._flush()
        os.close(self._descriptor)
        return self._written

    def _flush(self) -> None:
        filled, self._filled = self._filled, 0
        self._write(self._block[:filled])

    def _write(self, rest: memoryview) -> None:
        while rest:
            written = os.write(self._descriptor, rest)
            self._written += written
            rest = rest[written:]


@dataclass(frozen=True, slots=True)
class _Entry:
    handle: str
    size: int
    changed: float


def _unknown(handle: str) -> ToolError:
    return ToolError(
        ErrorCode.FILE_NOT_FOUND,
        f"no kept output has the handle `{handle[:80]}`",
        hint="kept output is dropped after 24 hours, or earlier when newer output needs the room",
    )
