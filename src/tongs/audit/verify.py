"""Whether the chain is what was written: no record changed, removed, inserted or moved.

What it cannot see by itself is that the end was cut off, or all of it written anew: for that there
are anchors (`anchor.py`), kept where nobody who can write here can write.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from tongs.audit import files
from tongs.audit.anchor import Anchor
from tongs.audit.entry import NOTHING, OPENED, Entry, read
from tongs.core.annotations import Any
from tongs.core.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at one place; a note is something that a crash may leave."""

    file: str
    line: int
    message: str
    note: bool = False

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.message}"

    def to_wire(self) -> dict[str, Any]:
        severity = "note" if self.note else "error"
        return {
            "file": self.file,
            "line": self.line,
            "severity": severity,
            "message": self.message,
        }


@dataclass(slots=True)
class Verified:
    """What was found in the whole chain."""

    findings: list[Finding] = field(default_factory=list)
    records: int = 0
    files: int = 0
    last: Anchor | None = None

    @property
    def ok(self) -> bool:
        return all(finding.note for finding in self.findings)


def verify(folder: str, anchors: Iterable[Anchor] = ()) -> Verified:
    """Read every record of every file. The anchors are compared with what stands at their place."""
    found = Verified()
    wanted = {anchor.seq: anchor for anchor in anchors}
    reader = _Reader(found, wanted)
    before = 0
    for number in files.numbers(folder):
        path = files.path_of(folder, number)
        if number != before + 1:
            missing = f"{number - 1}" if number == before + 2 else f"{before + 1} to {number - 1}"
            found.findings.append(Finding(path, 1, f"the file before it is missing ({missing})"))
        before = number
        found.files += 1
        reader.read_file(path)
    _compare(found, wanted, folder)
    return found


class _Reader:
    """Goes from record to record, and remembers the last one that was right."""

    def __init__(self, found: Verified, anchors: dict[int, Anchor]) -> None:
        self._found = found
        self._anchors = anchors
        self._seq = 0
        self._hash = NOTHING
        self._changed: Anchor | None = None
        self._path = ""

    def read_file(self, path: str) -> None:
        self._path = path
        # A line that is no record, until the next record explains it or does not.
        odd: tuple[int, bytes] | None = None
        first = True
        for number, (_, line) in enumerate(files.lines_of(path), 1):
            entry = read(line)
            if entry is None:
                self._unexplained(odd)
                odd = (number, line)
                continue
            self._explain(odd, entry)
            self._check(number, entry, first=first)
            odd, first = None, False
        if odd is not None and not odd[1].endswith(b"\n"):
            self._note(odd[0], f"{len(odd[1])} bytes of a record that was not finished: a crash")
        else:
            self._unexplained(odd)

    def _check(self, number: int, entry: Entry, *, first: bool) -> None:
        if not self._follows(entry):
            self._error(number, self._out_of_place(entry))
        elif first and entry.data().get("event") != OPENED:
            self._error(number, f"a file begins with {OPENED}, this one with another record")
        self._seq, self._hash = entry.seq, entry.hash
        self._found.records += 1
        self._found.last = Anchor(entry.seq, entry.hash)
        anchor = self._anchors.pop(entry.seq, None)
        if anchor is not None and anchor.hash != entry.hash:
            message = f"record {entry.seq} is not the one that the anchor names: it was rewritten"
            self._error(number, message)

    def _follows(self, entry: Entry) -> bool:
        """The last record, or the one that was changed: what follows that is not wrong, too."""
        before = (Anchor(self._seq, self._hash), self._changed)
        self._changed = None
        return any(one and (one.seq + 1, one.hash) == (entry.seq, entry.prev) for one in before)

    def _out_of_place(self, entry: Entry) -> str:
        before = self._seq
        if entry.seq > before + 1:
            gone = f"record {entry.seq - 1} is" if entry.seq == before + 2 else None
            what = gone or f"records {before + 1} to {entry.seq - 1} are"
            return f"{what} missing before record {entry.seq}"
        if entry.seq <= before:
            return f"record {entry.seq} stands after record {before}: moved, or inserted"
        return f"record {entry.seq} does not follow the record before it: that one was replaced"

    def _explain(self, odd: tuple[int, bytes] | None, entry: Entry) -> None:
        """A record after a crash holds the hash of what the crash has torn."""
        if odd is None:
            return
        from hashlib import sha256  # noqa: PLC0415 - only after a crash

        number, line = odd
        torn = line.removesuffix(b"\n")
        stated = entry.data().get("torn")
        if stated == {"size": len(torn), "hash": sha256(torn).hexdigest()}:
            self._note(number, f"{len(torn)} bytes of a record that was not finished: a crash")
        else:
            self._unexplained(odd)

    def _unexplained(self, odd: tuple[int, bytes] | None) -> None:
        if odd is None:
            return
        number, line = odd
        stated = _stated(line)
        if stated is None:
            self._error(number, "this is not what was recorded: it is no record")
            return
        message = f"record {stated.seq} was changed: its hash does not fit its text"
        self._error(number, message)
        self._changed = stated

    def _error(self, number: int, message: str) -> None:
        self._found.findings.append(Finding(self._path, number, message))

    def _note(self, number: int, message: str) -> None:
        self._found.findings.append(Finding(self._path, number, message, note=True))


def _stated(line: bytes) -> Anchor | None:
    """What a line says of itself, though it is not true."""
    try:
        data = json.loads(line)
        return Anchor(int(data["seq"]), str(data["hash"]))
    except (ValueError, KeyError, TypeError):
        return None


def _compare(found: Verified, left: dict[int, Anchor], folder: str) -> None:
    """Anchors whose record was not met."""
    end = 0 if found.last is None else found.last.seq
    for anchor in left.values():
        what = (
            f"the chain ends at record {end}, and an anchor names record {anchor.seq}: cut off"
            if anchor.seq > end
            else f"record {anchor.seq}, which an anchor names, is not there"
        )
        found.findings.append(Finding(folder, 0, what))


def head(folder: str) -> Anchor | None:
    """The last record of the chain, read from its end."""
    for number in reversed(files.numbers(folder)):
        if (entry := files.last_in(files.path_of(folder, number))) is not None:
            return Anchor(entry.seq, entry.hash)
    return None


def entries(folder: str) -> Iterator[Entry]:
    """Every line that is a record, in order."""
    for number in files.numbers(folder):
        for _, line in files.lines_of(files.path_of(folder, number)):
            if (entry := read(line)) is not None:
                yield entry
