"""One record as a line of JSON: how it is sealed, and how it is read back.

    {"seq":7,"prev":"9f2c…","time":"2026-11-15T18:00:00.123456Z","event":"TOOL_STARTED",…,"hash":"41d0…"}

`hash` is the SHA-256 of the line's own bytes up to the comma before it, and `prev` is the hash of
the record before. No byte of a line can be written otherwise without changing its hash, so there is
no second form that would have to be turned into a canonical one.
"""

from __future__ import annotations

import json
from hashlib import sha256

from tongs.core.annotations import Any
from tongs.core.record import dataclass

# What the very first record follows.
NOTHING = "0" * 64

OPENED = "CHAIN_OPENED"
CLOSED = "CHAIN_CLOSED"

_BEFORE_HASH = b',"hash":"'
_AFTER_HASH = b'"}\n'
_SEAL = len(_BEFORE_HASH) + 64 + len(_AFTER_HASH)


@dataclass(frozen=True, slots=True)
class Entry:
    """A line whose own hash is right; whether it stands in its place is a matter of the chain."""

    seq: int
    prev: str
    hash: str
    line: bytes

    def data(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.line)
        return found

    @property
    def closes(self) -> bool:
        """Whether the chain goes on in another file."""
        return self.line.startswith(f'"event":"{CLOSED}"'.encode(), self.line.find(b'"event":'))


def sealed(seq: int, prev: str, body: str) -> tuple[bytes, str]:
    """The line of a record, and its hash. `body` is its fields from `time` on, without braces."""
    data = f'{{"seq":{seq},"prev":"{prev}",{body}'.encode("ascii")
    seal = sha256(data).hexdigest()
    return data + f',"hash":"{seal}"}}\n'.encode("ascii"), seal


def read(line: bytes) -> Entry | None:
    """The record of a whole line; None where it is none, or was changed."""
    content, seal = line[:-_SEAL], line[-_SEAL:]
    stated = seal[len(_BEFORE_HASH) : -len(_AFTER_HASH)].decode("ascii", "replace")
    if seal != b'%b%b"}\n' % (_BEFORE_HASH, stated.encode("utf-8")):
        return None
    if sha256(content).hexdigest() != stated:
        return None
    head, between, rest = content.partition(b',"prev":"')
    number = head.removeprefix(b'{"seq":')
    if not between or not number.isdigit() or rest[64:66] != b'",':
        return None
    return Entry(int(number), rest[:64].decode("ascii", "replace"), stated, line)
