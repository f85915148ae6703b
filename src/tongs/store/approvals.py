"""Approvals that outlive the process that asks: SQLite in the state folder.

A question goes `pending` -> `approved` or `denied`, once. An approval is then *taken* by the call
that is about to run, and *spent* right before anything of it runs. Every step is one conditional
UPDATE, so that of several who try, one succeeds; why in this order is in ADR 18.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Question
from tongs.core.approval_wire import request_of, request_wire, response_of, response_wire
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.store.database import Database
from tongs.store.process_identity import is_alive, own_identity

if TYPE_CHECKING:
    import sqlite3

# How long an answer waits for the call to be made again.
KEPT = 24 * 3600.0
# Whoever waits says itself when the time is over; this is for questions it left behind.
_GRACE = 5.0
# The history is the audit's; here lies only what is still of use.
_FORGOTTEN = 7 * 24 * 3600.0
_TICK = 1e9

_TABLE = """
CREATE TABLE IF NOT EXISTS approvals (
    id TEXT PRIMARY KEY,
    thing TEXT NOT NULL,
    request TEXT NOT NULL,
    asked REAL NOT NULL,
    expires REAL NOT NULL,
    waiter TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT 'pending',
    answer TEXT,
    taker TEXT NOT NULL DEFAULT '',
    spent REAL
);
CREATE INDEX IF NOT EXISTS of_thing ON approvals (thing);
"""


class ApprovalStore:
    """The questions of all processes of one person."""

    def __init__(self, state: str, now: Callable[[], float] = time.time) -> None:
        self._path = os.path.join(state, "approvals.db")
        self._database = Database(self._path, _TABLE, self._refused)
        self._now = now
        # What this process has taken: id -> the word it stands there under.
        self._taken: dict[str, str] = {}
        # What was seen open, and how the files looked then.
        self._seen_open: dict[str, tuple[int, ...]] = {}

    def ask(self, request: ApprovalRequest, seconds: float, *, awaited: bool) -> Question:
        thing, now = _thing(request), self._now()
        waiter = f"{own_identity()}/{os.urandom(4).hex()}" if awaited else ""
        expires = now + (seconds + _GRACE if awaited else KEPT)
        with self._database.changing() as database:
            database.execute("DELETE FROM approvals WHERE expires < ?", (now - _FORGOTTEN,))
            found = database.execute(
                "SELECT * FROM approvals WHERE thing = ? AND spent IS NULL AND expires > ?"
                " AND state != 'withdrawn' ORDER BY state = 'pending', asked",
                (thing, now),
            )
            for row in found.fetchall():
                if _is_ownerless(row):
                    changed = {"waiter": waiter}
                    if row["state"] == "pending":
                        changed["expires"] = max(expires, row["expires"])
                    self._set(database, row["id"], changed)
                    return _question({**dict(row), **changed})
            row = {
                "id": os.urandom(5).hex(),
                "thing": thing,
                "request": json.dumps(request_wire(request), default=str),
                "asked": now,
                "expires": expires,
                "waiter": waiter,
            }
            marks = ", ".join(f":{name}" for name in row)
            database.execute(f"INSERT INTO approvals ({', '.join(row)}) VALUES ({marks})", row)
            return _question({**row, "state": "pending"})

    def answer(self, question: str, response: ApprovalResponse) -> bool:
        now = self._now()
        with self._database.changing() as database:
            done = database.execute(
                "UPDATE approvals SET state = ?, answer = ?, expires = ?"
                " WHERE id = ? AND state = 'pending' AND expires > ?",
                (
                    "approved" if response.approved else "denied",
                    json.dumps(response_wire(response), default=str),
                    now + KEPT,
                    question,
                    now,
                ),
            )
            return done.rowcount == 1

    def withdraw(self, question: str) -> bool:
        with self._database.changing() as database:
            done = database.execute(
                "UPDATE approvals SET state = 'withdrawn' WHERE id = ? AND state = 'pending'",
                (question,),
            )
            return done.rowcount == 1

    def is_open(self, question: str) -> bool:
        """Cheap to ask again and again: the file is opened only when it has changed."""
        stamp = self._stamp()
        if self._seen_open.get(question) == stamp and stamp:
            return True
        row = self._row(question)
        is_open = row is not None and row["state"] == "pending"
        # Two changes within one tick of the clock look like one.
        settled = stamp and self._now() * 1e9 - max(stamp[::2]) > _TICK
        if is_open and settled:
            self._seen_open[question] = stamp
        else:
            self._seen_open.pop(question, None)
        return is_open

    def take(self, question: str) -> ApprovalResponse | None:
        with self._database.changing() as database:
            row = _found(database, question)
            if row is None or row["answer"] is None or row["spent"] is not None:
                return None
            response = response_of(json.loads(row["answer"]), question)
            if not response.approved:
                # A denial is told once; the next call may ask again.
                self._set(database, question, {"spent": self._now()})
                return response
            if row["taker"] and is_alive(row["taker"]):
                return None
            taker = f"{own_identity()}/{os.urandom(8).hex()}"
            self._set(database, question, {"taker": taker})
        self._taken[question] = taker
        return response

    def spend(self, response: ApprovalResponse) -> None:
        """Use an approval up: what comes after this runs. ToolError if it is no longer ours."""
        if not response.id:
            return
        with self._database.changing() as database:
            done = database.execute(
                "UPDATE approvals SET spent = ? WHERE id = ? AND taker = ? AND spent IS NULL"
                " AND state = 'approved'",
                (self._now(), response.id, self._taken.pop(response.id, None)),
            )
            if done.rowcount == 1:
                return
        raise ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"the approval {response.id} was used by another call meanwhile",
            blocked_by=BlockedBy.APPROVAL,
            hint="make the call again to be asked again",
        )

    def pending(self) -> list[Question]:
        """Every question that waits for an answer, the oldest first."""
        if not os.path.exists(self._path):
            return []
        with self._database.open() as database:
            rows = database.execute(
                "SELECT * FROM approvals WHERE state = 'pending' AND expires > ? ORDER BY asked",
                (self._now(),),
            ).fetchall()
        return [_question(dict(row)) for row in rows]

    def state_of(self, question: str) -> str:
        """`pending`, `approved`, `denied`, `withdrawn`, `used`, `expired`; empty for none."""
        row = self._row(question)
        if row is None:
            return ""
        if row["spent"] is not None and row["state"] == "approved":
            return "used"
        if row["state"] == "pending" and row["expires"] <= self._now():
            return "expired"
        return str(row["state"])

    def _stamp(self) -> tuple[int, ...]:
        """Time and size of the file and of its log."""
        found: list[int] = []
        for path in (self._path, f"{self._path}-wal"):
            try:
                facts = os.stat(path)
            except OSError:
                continue
            found += (facts.st_mtime_ns, facts.st_size)
        return tuple(found)

    def _row(self, question: str) -> sqlite3.Row | None:
        if not os.path.exists(self._path):
            return None
        with self._database.open() as database:
            return _found(database, question)

    @staticmethod
    def _set(database: sqlite3.Connection, question: str, values: dict[str, Any]) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        database.execute(f"UPDATE approvals SET {names} WHERE id = ?", (*values.values(), question))

    def _refused(self, error: Exception) -> ToolError:
        return ToolError(
            ErrorCode.APPROVAL_DENIED,
            f"approvals cannot be kept in {self._path}: {error}",
            blocked_by=BlockedBy.APPROVAL,
            hint="free some space, or move a broken file away; what waits there is then gone",
        )


def _found(database: sqlite3.Connection, question: str) -> sqlite3.Row | None:
    row: sqlite3.Row | None = database.execute(
        "SELECT * FROM approvals WHERE id = ?", (question,)
    ).fetchone()
    return row


def _thing(request: ApprovalRequest) -> str:
    """What the question is about, and who asks because of which rules: any change asks again."""
    caller = [str(request.caller.kind), request.caller.name, *request.caller.chain]
    thing = [request.digest, request.project, sorted(request.rules), caller]
    return digest_of(json.dumps(thing).encode())


def _is_ownerless(row: sqlite3.Row) -> bool:
    """Nobody who is alive waits for it or has taken it."""
    return not any(is_alive(row[role]) for role in ("waiter", "taker") if row[role])


def _question(row: dict[str, Any]) -> Question:
    return Question(
        row["id"],
        request_of(json.loads(row["request"])),
        row["asked"],
        row["expires"],
        awaited=bool(row["waiter"]) and is_alive(row["waiter"]),
        is_open=row["state"] == "pending",
    )
