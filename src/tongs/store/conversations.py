"""Conversations with models: SQLite in the state folder, every message on the disk as it is said.

The answers to calls are kept one by one, as each call ends: whoever resumes after a crash knows
which were given.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.conversation import (
    CallAnswered,
    CallMade,
    Conversation,
    Message,
    ModelSaid,
    ToolsAnswered,
    call_id,
    message_of,
    title_of,
)
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, replace
from tongs.store.database import Database

if TYPE_CHECKING:
    import sqlite3

_TABLES = """
CREATE TABLE IF NOT EXISTS conversations (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    started TEXT NOT NULL,
    changed REAL NOT NULL,
    project TEXT NOT NULL,
    model TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS said (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    conversation TEXT NOT NULL REFERENCES conversations (id) ON DELETE CASCADE,
    -- Of an answer: that of its call among those of the turn.
    position INTEGER,
    data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS said_in ON said (conversation, number);
"""

# What is told of a call whose answer was lost with the process: its id in the record, and the call.
Interrupted = Callable[[str, CallMade], CallAnswered]


@dataclass(frozen=True, slots=True)
class Listed:
    """`changed` is seconds since 1970; `messages` counts what the person and the model said."""

    id: str
    title: str
    started: str
    changed: float
    project: str
    model: str
    messages: int


class ConversationStore:
    """Every step is on the disk when it returns (`Database`)."""

    def __init__(self, state: str, now: Callable[[], float] = time.time) -> None:
        self._state = state
        self._path = os.path.join(state, "conversations.db")
        self._database = Database(self._path, _TABLES, self._refused)
        self._now = now

    def begin(self, project: str, model: str) -> Conversation:
        """A new one, which is kept as soon as something is said in it. Raises ToolError."""
        started = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(self._now()))
        name = os.urandom(6).hex()
        self._hold(name, "try again")
        return Conversation(name, "", started, project, model)

    def journal(self, conversation: Conversation) -> StoredJournal:
        return StoredJournal(self, conversation)

    def going_on(self) -> AbstractContextManager[None]:
        """While much is said in a row, which is then kept faster. Raises ToolError."""
        return self._database.many_steps()

    def load(self, name: str, interrupted: Interrupted) -> Conversation:
        """To go on with it, by its id or the beginning of it. Raises ToolError.

        Calls without an answer get that of `interrupted`, which is kept, too.
        """
        found = self._read(name)[0].id
        copy = f"tongs chat --continue {found} --copy"
        self._hold(found, f"go on with it there, or with a copy: {copy}")
        # Read again: whoever had it until now may have said more.
        return self._whole(*self._read(found), interrupted)

    def read(self, name: str) -> Conversation:
        """To look at it; nothing is changed: whoever has it open may be in the middle of a call."""
        conversation, given = self._read(name)
        if not given:
            return conversation
        answers = ToolsAnswered(tuple(given[at] for at in sorted(given)))
        return replace(conversation, messages=(*conversation.messages, answers))

    def copied(self, name: str) -> Conversation:
        """A new one with all that was said, and kept like that one. Raises ToolError.

        Calls without an answer are left out: they are still under way where they were made.
        """
        source, _ = self._read(name)
        messages = source.messages
        if messages and isinstance(last := messages[-1], ModelSaid) and last.calls:
            messages = messages[:-1]
        new = self.begin(source.project, source.model)
        copy = replace(new, title=source.title, messages=messages)
        rows = [row for message in messages for row in _rows(message)]
        if rows:
            self._keep(copy, rows)
        return copy

    def _read(self, name: str) -> tuple[Conversation, dict[int, CallAnswered]]:
        with self._looking_for(name) as database:
            row = _row(database, name)
            said = database.execute(
                "SELECT position, data FROM said WHERE conversation = ? ORDER BY number",
                (row["id"],),
            ).fetchall()
        parts = (row["id"], row["title"], row["started"], row["project"], row["model"])
        try:
            read = [(each["position"], json.loads(each["data"])) for each in said]
            messages, given = _divided(read)
        except (ValueError, KeyError, TypeError) as error:
            raise _broken(self._path, row["id"], error) from None
        return Conversation(*parts, messages), given

    def last(self, project: str) -> str | None:
        """The id of the one that was used last in a project."""
        found = self.listed(project)
        return found[0].id if found else None

    def listed(self, project: str | None = None) -> list[Listed]:
        """The one that was used last first."""
        if not os.path.exists(self._path):
            return []
        where, values = ("1", ()) if project is None else ("project = ?", (project,))
        with self._database.reading() as database:
            rows = database.execute(
                "SELECT *, (SELECT count(*) FROM said WHERE conversation = id AND position IS NULL)"
                f" AS messages FROM conversations WHERE {where} ORDER BY changed DESC",
                values,
            ).fetchall()
        return [Listed(*(row[name] for name in Listed.__match_args__)) for row in rows]

    def rename(self, name: str, title: str) -> None:
        with self._database.changing() as database:
            database.execute("UPDATE conversations SET title = ? WHERE id = ?", (title, name))

    def remove(self, names: Sequence[str]) -> dict[str, str]:
        """All of them or none, by their ids or the beginnings of these; ids and titles.

        Raises ToolError, also where another process goes on with one of them.
        """
        with self._looking_for(names[0]) as database:
            rows = [_row(database, name) for name in names]
        found = {str(row["id"]): str(row["title"]) for row in rows}
        for name in found:
            self._hold(name, "end it there first")
        with self._database.erasing() as database:
            database.executemany(
                "DELETE FROM conversations WHERE id = ?", [(name,) for name in found]
            )
        return found

    def add(
        self, conversation: Conversation, data: dict[str, Any], position: int | None = None
    ) -> None:
        """Kept when this returns; raises ToolError."""
        self._keep(conversation, [(position, data)])

    def _keep(
        self, conversation: Conversation, said: Sequence[tuple[int | None, dict[str, Any]]]
    ) -> None:
        values = (
            *(conversation.id, conversation.title or _title(said), conversation.started),
            *(self._now(), conversation.project, conversation.model),
        )
        with self._database.changing() as database:
            database.execute(
                "INSERT INTO conversations VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE"
                " SET changed = excluded.changed, model = excluded.model",
                values,
            )
            database.executemany(
                "INSERT INTO said (conversation, position, data) VALUES (?, ?, ?)",
                [(conversation.id, position, json.dumps(data)) for position, data in said],
            )

    def _whole(
        self, broken: Conversation, given: dict[int, CallAnswered], interrupted: Interrupted
    ) -> Conversation:
        """With an answer to each call of the turn in which it broke off."""
        messages = broken.messages
        last = messages[-1] if messages else None
        if not isinstance(last, ModelSaid) or not last.calls:
            return broken
        for at, call in enumerate(last.calls):
            if at not in given:
                given[at] = interrupted(call_id(broken.id, len(messages) - 1, at), call)
                self.add(broken, given[at].to_data(), at)
        answers = ToolsAnswered(tuple(given[at] for at in sorted(given)))
        return replace(broken, messages=(*messages, answers))

    @contextmanager
    def _looking_for(self, name: str) -> Iterator[sqlite3.Connection]:
        """Where nothing was ever kept, it is not there, and no file is made to find that out."""
        if not os.path.exists(self._path):
            raise _unknown(name, several=False)
        with self._database.reading() as database:
            yield database

    def _hold(self, name: str, otherwise: str) -> None:
        """`otherwise`: what to do where another process has it."""
        from tongs.store.conversation_holds import hold  # noqa: PLC0415 - not for a listing

        try:
            held = hold(self._state, name)
        except OSError as error:
            raise self._refused(error) from None
        if not held:
            raise ToolError(
                ErrorCode.EXECUTION_ERROR,
                f"the conversation {name} is open in another process",
                hint=otherwise,
            )

    def _refused(self, error: Exception) -> ToolError:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"conversations cannot be read or kept in {self._path}: {error}",
            hint="its folder must be writable and have space; a broken file can be moved away,"
            " and what is in it is then gone",
        )


class StoredJournal:
    """Keeps one conversation as it goes on."""

    def __init__(self, store: ConversationStore, conversation: Conversation) -> None:
        self._store = store
        self._conversation = conversation

    def add(self, message: Message) -> None:
        if not isinstance(message, ToolsAnswered):  # whose answers are there already
            self._store.add(self._conversation, message.to_data())

    def add_answer(self, position: int, answer: CallAnswered) -> None:
        self._store.add(self._conversation, answer.to_data(), position)


def _row(database: sqlite3.Connection, name: str) -> sqlite3.Row:
    found: list[sqlite3.Row] = database.execute(
        "SELECT * FROM conversations WHERE substr(id, 1, ?) = ? LIMIT 2", (len(name), name)
    ).fetchall()
    if not name or len(found) != 1:
        raise _unknown(name, several=len(found) > 1)
    return found[0]


def _rows(message: Message) -> list[tuple[int | None, dict[str, Any]]]:
    """A message as it is kept: answers to calls one by one."""
    if isinstance(message, ToolsAnswered):
        return [(at, answer.to_data()) for at, answer in enumerate(message.answers)]
    return [(None, message.to_data())]


def _divided(
    said: Sequence[tuple[int | None, dict[str, Any]]],
) -> tuple[tuple[Message, ...], dict[int, CallAnswered]]:
    """The messages, and the answers of the last turn where that broke off."""
    messages: list[Message] = []
    given: dict[int, CallAnswered] = {}
    calls = 0
    for position, data in said:
        if position is None:
            message = message_of(data)
            calls = len(message.calls) if isinstance(message, ModelSaid) else 0
            messages.append(message)
            continue
        given[position] = CallAnswered.from_data(data)
        if len(given) == calls:
            messages.append(ToolsAnswered(tuple(given[at] for at in sorted(given))))
            given = {}
    return tuple(messages), given


def _title(said: Sequence[tuple[int | None, dict[str, Any]]]) -> str:
    return title_of(str(said[0][1].get("text", "")))


def _unknown(name: str, *, several: bool) -> ToolError:
    what = "several conversations begin with" if several else "there is no conversation"
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS, f"{what} `{name[:40]}`", hint="tongs chat --list shows them"
    )


def _broken(path: str, name: str, error: Exception) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"the conversation {name} in {path} cannot be read: {error}",
        hint="begin a new one",
    )
