"""Holding a file against other processes, for a bounded time."""

from __future__ import annotations

import errno
import sys
import time

if sys.platform == "win32":  # pragma: no cover - as there
    import msvcrt

    # Far beyond the end: what is locked there cannot be read by others.
    _FAR = 1 << 62

    def take(descriptor: int) -> None:
        _at(descriptor, msvcrt.LK_NBLCK)

    def release(descriptor: int) -> None:
        _at(descriptor, msvcrt.LK_UNLCK)

    def _at(descriptor: int, mode: int) -> None:
        import os  # noqa: PLC0415 - only there

        os.lseek(descriptor, _FAR, os.SEEK_SET)
        msvcrt.locking(descriptor, mode, 1)

else:
    from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock

    _WHOLE = LOCK_EX | LOCK_NB

    def take(descriptor: int) -> None:
        """Keep every other process out; BlockingIOError where one is in."""
        flock(descriptor, _WHOLE)

    def release(descriptor: int) -> None:
        flock(descriptor, LOCK_UN)


IN_USE = (BlockingIOError, PermissionError)
# A record takes microseconds; whoever holds the file longer than this has been stopped.
PATIENCE = 10.0
_SHORTEST_PAUSE = 0.0002
_LONGEST_PAUSE = 0.005


def wait(descriptor: int, patience: float = PATIENCE) -> None:
    """`take` as soon as it can be done; OSError where somebody does not let go."""
    deadline = time.monotonic() + patience
    pause = _SHORTEST_PAUSE
    while True:
        # Without a timeout of its own, a blocking lock would let one stopped process stop all.
        time.sleep(pause)
        pause = min(pause * 1.5, _LONGEST_PAUSE)
        try:
            return take(descriptor)
        except IN_USE:
            if time.monotonic() > deadline:
                raise OSError(
                    errno.EAGAIN, "another process holds the record and does not let go"
                ) from None
