"""An SQLite index of the chain, for the commands that look into it.

It is made from the chain, goes on where it ended last time, and can be deleted at any time. No call
ever waits for it, and no record is read from it: it only says where records lie.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import suppress

from tongs.audit import files
from tongs.audit.entry import Entry, read
from tongs.audit.query import Query
from tongs.core.annotations import Any

_VERSION = 1
_TABLES = """
CREATE TABLE record (
  file INTEGER, offset INTEGER, size INTEGER, seq INTEGER, time TEXT, event TEXT, tool TEXT,
  caller TEXT, call TEXT, parent TEXT, status TEXT, code TEXT, duration REAL,
  PRIMARY KEY (file, offset)
) WITHOUT ROWID;
CREATE INDEX record_call ON record (call);
CREATE INDEX record_tool ON record (tool, seq);
CREATE TABLE file (number INTEGER PRIMARY KEY, read INTEGER, last INTEGER, hash TEXT);
"""
_INSERT = "INSERT INTO record VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)"
_END = "('TOOL_EXECUTED','TOOL_DENIED')"
# Of a start record: whether its call has ended.
_STATUS = (
    "CASE WHEN r.event = 'TOOL_STARTED' AND NOT EXISTS (SELECT 1 FROM record e WHERE"
    f" e.call = r.call AND e.seq > r.seq AND e.event IN {_END}) THEN 'unfinished'"
    " ELSE coalesce(r.status, '') END"
)


class Index:
    """Opened for one command. Brought up to date when it is opened."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._path = os.path.join(folder, "index.db")
        try:
            self._database = self._opened(self._path)
            self._update()
        except sqlite3.DatabaseError:
            # Broken, or of another version: nothing is lost.
            with suppress(OSError):
                os.unlink(self._path)
            self._database = self._again()
            self._update()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *exc: object) -> None:
        self._database.close()

    def find(self, query: Query) -> Iterator[dict[str, Any]]:
        """The records that match, oldest first; with a limit the newest of them."""
        for entry, status in self._found(query):
            data = entry.data()
            yield {**data, "status": status} if status and "status" not in data else data

    def lines(self, query: Query) -> Iterator[bytes]:
        """The same as the bytes of the chain, so that each can still be checked."""
        return (entry.line for entry, _ in self._found(query))

    def of_call(self, call: str) -> list[dict[str, Any]]:
        """Every record of a call and of the calls that were part of it."""
        return list(self.find(Query(family=call)))

    def stats(self, query: Query) -> list[dict[str, Any]]:
        """What was called how often, and with which outcome, by tool."""
        where, values = _where(query)
        rows = self._database.execute(
            f"SELECT tool, status, duration FROM (SELECT r.tool, r.duration, r.event,"
            f" {_STATUS} AS status FROM record r WHERE {where})"
            f" WHERE event IN {_END} OR status = 'unfinished' ORDER BY tool",
            values,
        )
        found: dict[str, dict[str, Any]] = {}
        for tool, status, duration in rows:
            one = found.setdefault(tool or "", {"calls": 0, "durations": []})
            one["calls"] += 1
            one[status] = one.get(status, 0) + 1
            if duration is not None:
                one["durations"].append(duration)
        return [_summed(tool, one) for tool, one in found.items()]

    def _found(self, query: Query) -> Iterator[tuple[Entry, str]]:
        where, values = _where(query)
        limit = -1 if query.limit is None else query.limit
        rows = self._database.execute(
            f"SELECT file, offset, size, status FROM (SELECT r.file, r.offset, r.size,"
            f" {_STATUS} AS status FROM record r WHERE {where}"
            " ORDER BY r.file DESC, r.offset DESC LIMIT ?) ORDER BY file, offset",
            (*values, limit),
        )
        for file, offset, size, status in rows:
            if (entry := self._read(file, offset, size)) is not None:
                yield entry, status

    def _opened(self, path: str) -> sqlite3.Connection:
        database = sqlite3.connect(path, isolation_level=None, timeout=10)
        if path != ":memory:":
            with suppress(OSError):
                os.chmod(path, 0o600)
        # It may be lost: made again, it is the same.
        database.execute("PRAGMA synchronous = OFF")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == 0:
            database.executescript(f"BEGIN;{_TABLES}PRAGMA user_version = {_VERSION};COMMIT;")
        elif version != _VERSION:
            database.close()
            raise sqlite3.DatabaseError("another version")
        return database

    def _again(self) -> sqlite3.Connection:
        """Where the folder cannot be written, the index lives as long as the command."""
        try:
            return self._opened(self._path)
        except sqlite3.DatabaseError:
            return self._opened(":memory:")

    def _update(self) -> None:
        self._database.execute("BEGIN IMMEDIATE")
        known = {row[0]: row[1:] for row in self._database.execute("SELECT * FROM file")}
        numbers = files.numbers(self._folder)
        if any(not self._still(number, *row) for number, row in known.items()):
            # Somebody changed what was read before.
            self._database.execute("DELETE FROM record")
            self._database.execute("DELETE FROM file")
            known = {}
        for number in numbers:
            self._read_on(number, known.get(number, (0, -1, ""))[0])
        self._database.execute("COMMIT")

    def _still(self, number: int, end: int, last: int, seal: str) -> bool:
        """Whether the last record that was read is where it was."""
        entry = self._read(number, last, end - last)
        return entry is not None and entry.hash == seal

    def _read_on(self, number: int, start: int) -> None:
        rows, last = [], None
        for offset, line in files.lines_of(files.path_of(self._folder, number), start):
            if (entry := read(line)) is None:
                continue
            rows.append(_row(number, offset, entry))
            last = (number, offset + len(line), offset, entry.hash)
        if last is not None:
            self._database.executemany(_INSERT, rows)
            self._database.execute("INSERT OR REPLACE INTO file VALUES (?,?,?,?)", last)

    def _read(self, number: int, offset: int, size: int) -> Entry | None:
        try:
            with open(files.path_of(self._folder, number), "rb") as file:
                file.seek(offset)
                return read(file.read(size))
        except OSError:
            return None


def _row(number: int, offset: int, entry: Entry) -> tuple[Any, ...]:
    data = entry.data()
    words = [data.get(key) for key in ("time", "event", "tool", "caller", "call", "parent")]
    status = [data.get("status"), data.get("code"), data.get("durationMs")]
    return (number, offset, len(entry.line), entry.seq, *map(_text, words), *status)


def _text(value: Any) -> Any:
    """Half of a surrogate pair is a text to JSON and none to SQLite."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _where(query: Query) -> tuple[str, list[Any]]:
    found = [("1", [])] if not query.conditions() else query.conditions()
    where = " AND ".join(condition.replace("STATUS", _STATUS) for condition, _ in found)
    return where, [_text(value) for _, values in found for value in values]


def _summed(tool: str, one: dict[str, Any]) -> dict[str, Any]:
    took = sorted(one.pop("durations"))
    outcomes = {key: one.get(key, 0) for key in ("success", "error", "denied", "unfinished")}
    times = {"medianMs": took[len(took) // 2], "longestMs": took[-1]} if took else {}
    return {"tool": tool, "calls": one["calls"], **outcomes, **times}
