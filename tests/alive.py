"""Processes of this machine, found by what they were started with."""

from __future__ import annotations

import os
import select
import time
from pathlib import Path

# A process tree that was told to die does so in this time, also on a busy machine.
DYING = 20.0


def with_word(word: str) -> list[int]:
    """The processes that have this among the words of their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue  # it has ended meanwhile
            if word.encode() in words:
                found.append(int(entry.name))
    return found


def started(word: str, count: int = 1) -> list[int]:
    """Wait until so many of them run."""
    deadline = time.monotonic() + DYING
    while len(found := with_word(word)) < count:
        assert time.monotonic() < deadline, f"{word} was not started"
        time.sleep(0.01)
    return found


def ended(pids: list[int]) -> bool:
    """Wait for the end of all of them; False where one lives on."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            if not select.select([handle], [], [], DYING)[0]:
                return False
        finally:
            os.close(handle)
    return True
