"""A place in the chain that somebody else remembers: its number and its hash.

Whoever can write the chain can write it anew from any record on, with hashes that fit. What they
cannot change is an anchor that is kept elsewhere.
"""

from __future__ import annotations

import json
import os

from tongs.core.annotations import Any
from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Anchor:
    seq: int
    hash: str

    def __str__(self) -> str:
        return f"{self.seq} {self.hash}"

    def to_wire(self) -> dict[str, Any]:
        return {"seq": self.seq, "hash": self.hash}


def anchors_in(text: str) -> list[Anchor]:
    """Every anchor of a text: `SEQ HASH`, or JSON as it was sent, one a line.

    Raises ValueError with the line that is neither.
    """
    found = [_anchor(line) for line in map(str.strip, text.splitlines()) if line]
    if not found:
        raise ValueError("there is no anchor in it")
    return found


def read_anchors(given: str) -> list[Anchor]:
    """Those of a file, or of the text itself."""
    if os.path.exists(given):
        with open(given, encoding="utf-8", errors="replace") as file:
            return anchors_in(file.read())
    return anchors_in(given)


def _anchor(line: str) -> Anchor:
    try:
        data = json.loads(line) if line.startswith("{") else dict(zip(_KEYS, line.split()[:2]))  # noqa: B905 - fewer words are refused below
        seq, seal = int(data["seq"]), str(data["hash"])
    except (ValueError, KeyError, TypeError):
        raise ValueError(f"no anchor: {line[:80]!r}") from None
    if seq < 1 or len(seal) != 64 or not set(seal) <= _HEX:
        raise ValueError(f"no anchor: {line[:80]!r}")
    return Anchor(seq, seal)


_KEYS = ("seq", "hash")
_HEX = set("0123456789abcdef")
