"""The files of the chain: numbered, each going on where the one before ended, none ever removed."""

from __future__ import annotations

import os
from collections.abc import Iterator

from tongs.audit.entry import Entry, read

_PREFIX, _SUFFIX = "chain-", ".jsonl"
# Enough for the last record in almost all cases.
_FIRST_LOOK = 4096


def path_of(folder: str, number: int) -> str:
    return os.path.join(folder, f"{_PREFIX}{number:06}{_SUFFIX}")


def numbers(folder: str) -> list[int]:
    """The files that there are, in the order of the chain."""
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
    middles = [
        name[len(_PREFIX) : -len(_SUFFIX)]
        for name in names
        if name.startswith(_PREFIX) and name.endswith(_SUFFIX)
    ]
    return sorted(int(middle) for middle in middles if middle.isdecimal() and middle.isascii())


def last_entry(descriptor: int, size: int) -> tuple[Entry | None, bytes]:
    """The last record that is one, and the bytes behind the last line: what a crash has torn."""
    look = _FIRST_LOOK
    while True:
        start = max(size - look, 0)
        data = _read_at(descriptor, size - start, start)
        whole, newline, torn = data.rpartition(b"\n")
        lines = whole.split(b"\n") if newline else []
        # The first one may have been cut by where we began to look.
        for line in reversed(lines if start == 0 else lines[1:]):
            if (entry := read(line + b"\n")) is not None:
                return entry, torn
        if start == 0:
            return None, torn
        look *= 16


def last_in(path: str) -> Entry | None:
    """The last record of a file, if it has any."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        return last_entry(descriptor, os.fstat(descriptor).st_size)[0]
    finally:
        os.close(descriptor)


def lines_of(path: str, offset: int = 0) -> Iterator[tuple[int, bytes]]:
    """Each line from an offset on, with where it begins; the last may lack its newline."""
    with open(path, "rb") as file:
        file.seek(offset)
        for line in file:
            yield offset, line
            offset += len(line)


def _read_at(descriptor: int, size: int, offset: int) -> bytes:
    os.lseek(descriptor, offset, os.SEEK_SET)
    pieces = []
    while size > 0 and (piece := os.read(descriptor, size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)
