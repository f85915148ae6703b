"""Lines of a server as messages: bounded in size, depth and number before anything is made of them.

A server is a stranger. What it sends must neither fill our memory nor stop the loop that all
servers share, and one bad message must not end the conversation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from tongs.core.annotations import Any
from tongs.core.record import dataclass

# Of one message, in bytes, levels and members.
LARGEST = 32 * 1024 * 1024
DEEPEST = 100
MOST_MEMBERS = 1_000_000
# A line that is so many times too large is no message any more.
ENDLESS = 8

# As much of a message that is too large as tells whose answer it is: some servers begin with the
# id, others end with it.
_HEAD, _TAIL = 512, 256
_ID = re.compile(rb'"id"\s*:\s*(-?\d{1,15}|"[^"\\]{1,64}")\s*[,}]')
# Never goes back, and takes one that does not end to the end of the data: linear, whatever comes.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
# Millions of lines with nothing in them are one before they are cut.
_BLANK = re.compile(rb"\n(?:[ \t\r]*+\n)++")
_INNERMOST = re.compile(rb"\[\]|\{\}")
_BRACKETS = b"[]{}"
_NO_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
_NO_MEMBERS = bytes(set(range(256)) - set(b"[{,"))


@dataclass(frozen=True, slots=True)
class Refused:
    """A message that is not read, and the id of the request that it may answer."""

    reason: str
    id: int | str | None = None


class Lines:
    """Bytes as they come, cut into lines; of one that is too long only its ends are kept."""

    def __init__(self, largest: int = LARGEST) -> None:
        self._largest = largest
        self._parts: list[bytes] = []
        self._size = 0
        # The end of a line that is too long; its beginning is the only part that was kept.
        self._tail = b""

    @property
    def growing(self) -> bool:
        """Whether what came last may still become a message, be it one that is too large."""
        return 0 < self._size <= ENDLESS * self._largest

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | Refused]:
        """The messages that are complete now. Blank lines are none."""
        *ended, rest = _BLANK.sub(b"\n", data).split(b"\n")
        for piece in ended:
            self._take(piece)
            line, size = b"".join(self._parts), self._size
            tail, self._parts, self._size, self._tail = self._tail, [], 0, b""
            if size > self._largest:
                reason = f"it is larger than {self._largest >> 20} MiB"
                yield Refused(reason, _id_in(line[:_HEAD], tail))
            elif line.strip():
                yield parsed(line)
        self._take(rest)

    def _take(self, piece: bytes) -> None:
        before, self._size = self._size, self._size + len(piece)
        if self._size <= self._largest:
            self._parts.append(piece)
            return
        if before <= self._largest:
            self._parts = [b"".join([*self._parts, piece[:_HEAD]])[:_HEAD]]
        self._tail = (self._tail + piece[-_TAIL:])[-_TAIL:]


def parsed(line: bytes) -> dict[str, Any] | Refused:
    """One message. What is not UTF-8 becomes replacement characters."""
    if reason := unbearable(line):
        return Refused(reason, _id_in(line[:_HEAD], line[-_TAIL:]))
    try:
        message = json.loads(line.decode("utf-8", "replace"), parse_constant=_no_number)
    except (ValueError, RecursionError):
        return Refused("it is no JSON", _id_in(line[:_HEAD], line[-_TAIL:]))
    if not isinstance(message, dict):
        return Refused("it is no JSON object")
    return message


def unbearable(data: bytes) -> str:
    """Why a text of JSON must not be made into objects; counted without making any."""
    structure = _STRING.sub(b"", data)
    if len(structure.translate(None, _NO_MEMBERS)) > MOST_MEMBERS:
        return f"it has more than {MOST_MEMBERS:,} members"
    brackets = structure.translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):
        if not brackets:
            return ""
        inner = _INNERMOST.sub(b"", brackets)
        if len(inner) == len(brackets):
            return ""  # no JSON, which the parser will say
        brackets = inner
    return f"it is nested more than {DEEPEST} levels deep" if brackets else ""


def _id_in(head: bytes, tail: bytes) -> int | str | None:
    """The id of a message that is not read; a guess, which can only spoil the server's own call."""
    found = _ID.search(head) or next(iter(reversed(list(_ID.finditer(tail)))), None)
    if found is None:
        return None
    value: int | str = json.loads(found[1])
    return value


def _no_number(name: str) -> None:
    raise ValueError(name)
