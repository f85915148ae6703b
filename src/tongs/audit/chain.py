"""The truth about what happened: an append-only chain of records in the state folder.

One locked write per record. Each record holds the hash of the one before it, so that none can be
changed, removed, inserted or moved without every later one telling (`verify.py`). Any number of
processes and threads write to the same chain.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from _thread import allocate_lock  # what threading.Lock is, without loading that module
from _weakref import ref  # as above
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

from tongs.audit import files
from tongs.audit.entry import CLOSED, NOTHING, OPENED, sealed
from tongs.audit.locking import IN_USE, release, take, wait

# A file of this size is closed, and the chain goes on in the next one.
LARGEST = 64 * 1024 * 1024
# How long an ordinary record may wait for the disk while others come: see `flush`.
INTERVAL = 1.0

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | getattr(os, "O_NOFOLLOW", 0)
_sync = getattr(os, "fdatasync", os.fsync)

_chains: list[ref[Chain]] = []


def _forked() -> None:
    """A child shares its parent's lock on the file, so it must open the file anew."""
    for known in _chains:
        if (chain := known()) is not None:
            chain.after_fork()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)


class Chain:
    """Appends records; OSError where one cannot be kept, and then nothing of it is there."""

    def __init__(
        self,
        folder: str,
        *,
        largest: int = LARGEST,
        interval: float = INTERVAL,
        warn: Callable[[str], None] = lambda message: None,
    ) -> None:
        self.folder = folder
        self.seq = 0
        self._hash = NOTHING
        self._largest = largest
        self._interval = interval
        self._warn = warn
        self._lock = allocate_lock()
        self._descriptor = -1
        self._number = 0
        self._end = -1
        self._torn = b""
        self._closed = False
        # When the first record was written that may not have reached the disk; 0: all have.
        self._waiting_since = 0.0
        self._second = 0
        self._second_text = ""
        _chains[:] = [known for known in _chains if known() is not None]
        _chains.append(ref(self))

    def append(self, body: str, *, sync: bool = False) -> None:
        """Add one record: its fields from `event` on, as JSON without braces, in ASCII.

        With `sync` it has reached the disk before this returns.
        """
        with self._lock:
            self._hold()
            try:
                if self._end >= self._largest:
                    self._go_on()
                now = self._add(body)
            finally:
                if self._descriptor >= 0:
                    release(self._descriptor)
            if sync:
                self._flush()
            elif not self._waiting_since:
                self._waiting_since = now
                self._flush_when_idle()
            elif not 0 <= now - self._waiting_since < self._interval:
                self._try_to_flush()

    def flush(self) -> None:
        """Let what was written reach the disk. Never raises; a failing disk is a warning."""
        with self._lock:
            if self._waiting_since:
                self._try_to_flush()

    def close(self) -> None:
        self.flush()
        with self._lock:
            self._shut()

    def after_fork(self) -> None:
        """In the child: whatever another thread of the parent was doing here, it does there."""
        self._lock = allocate_lock()
        self._waiting_since = 0.0
        self._shut()

    def _hold(self) -> None:
        """Lock the file in which the chain goes on, and know where it ends."""
        if self._descriptor < 0:
            self._open((files.numbers(self.folder) or [1])[-1])
        while True:
            try:
                take(self._descriptor)
            except IN_USE:
                wait(self._descriptor)
            end = os.lseek(self._descriptor, 0, os.SEEK_END)
            if end == self._end:
                return
            try:
                self._catch_up(end)
            except BaseException:
                release(self._descriptor)
                raise
            if not self._closed:
                return
            # Another process has closed this file; its lock goes with its descriptor.
            self._open(self._number + 1)

    def _catch_up(self, end: int) -> None:
        """Read what another process wrote last, or a crash left.

        Where no record is left, the next one still names the last that this process knows.
        """
        entry, self._torn = files.last_entry(self._descriptor, end)
        self._closed = entry is not None and entry.closes
        if entry is None and self._number > 1:
            entry = files.last_in(files.path_of(self.folder, self._number - 1))
        if entry is not None:
            self.seq, self._hash = entry.seq, entry.hash
        self._end = end
        if end == 0:
            self._add(f'"event":"{OPENED}","file":{self._number}')
            _sync(self._descriptor)
            _sync_folder(self.folder)

    def _add(self, body: str) -> float:
        """Write one line, and when; the file is locked, and its end is known."""
        torn, end, seq = self._torn, self._end, self.seq + 1
        if torn:
            body += f',"torn":{{"size":{len(torn)},"hash":"{sha256(torn).hexdigest()}"}}'
        now = time.time()
        second = int(now)
        if second != self._second:
            self._second = second
            self._second_text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        moment = f"{self._second_text}.{int((now - second) * 1e6):06}Z"
        line, seal = sealed(seq, self._hash, f'"time":"{moment}",{body}')
        if torn:
            line = b"\n" + line
        size = len(line)
        self._end = -2  # not known, should anything happen before it is known again
        if os.write(self._descriptor, line) != size:
            self._write_rest(line, end)
        self._end = end + size
        self.seq, self._hash, self._torn = seq, seal, b""
        return now

    def _write_rest(self, line: bytes, end: int) -> None:
        """All of it or nothing: half a record would be taken for the work of a crash."""
        written = os.lseek(self._descriptor, 0, os.SEEK_END) - end
        try:
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
        except OSError:
            with suppress(OSError):
                os.ftruncate(self._descriptor, end)
            raise

    def _go_on(self) -> None:
        """Close the file that is held, and hold the next one."""
        before = self._descriptor
        self._add(f'"event":"{CLOSED}","next":{self._number + 1}')
        _sync(before)
        self._descriptor = -1
        try:
            self._open(self._number + 1)
            self._hold()
        finally:
            os.close(before)

    def _open(self, number: int) -> None:
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        opened = os.open(files.path_of(self.folder, number), _FLAGS | os.O_CREAT, 0o600)
        if not stat.S_ISREG(os.fstat(opened).st_mode):
            os.close(opened)
            raise OSError(errno.EINVAL, "it is not a plain file")
        self._shut()
        self._descriptor, self._number = opened, number

    def _shut(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor, self._end = -1, -1

    def _flush_when_idle(self) -> None:
        """In an event loop, the last record of many does not wait for the next call."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is not None:
            with suppress(RuntimeError):  # no loop runs in this thread
                asyncio.get_running_loop().call_later(self._interval, self.flush)

    def _try_to_flush(self) -> None:
        try:
            self._flush()
        except OSError as error:
            self._warn(f"the audit record may not have reached the disk: {error.strerror}")

    def _flush(self) -> None:
        self._waiting_since = 0.0
        if self._descriptor < 0:
            return
        _sync(self._descriptor)
        if os.fstat(self._descriptor).st_nlink == 0:
            self._shut()  # somebody removed the file: what comes next must not go the same way


def _sync_folder(folder: str) -> None:
    with suppress(OSError):  # not every system lets a folder be opened
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
