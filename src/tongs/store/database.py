"""A file of SQLite in the state folder that several processes change, one step at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ToolError
from tongs.core.record import dataclass
from tongs.store.files import private_folder

if TYPE_CHECKING:
    import sqlite3

# Seconds that one process waits for another to finish a step of microseconds.
_PATIENCE = 20.0


@dataclass(frozen=True, slots=True)
class Database:
    """Opens the file for each step and closes it again: nothing of it is inherited by a fork,
    unless somebody asks for `many_steps`.

    `tables` are made where they are not there; `refused` says what it means that the file cannot
    be used.
    """

    path: str
    tables: str
    refused: Callable[[Exception], ToolError]

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """One step: all of it is on the disk when this ends, or nothing of it ever was."""
        with self.open() as database, _step(database):
            yield database

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection]:
        """One step whose deleted rows cannot be read in the file afterwards."""
        with self.open() as database:
            database.execute("PRAGMA secure_delete = ON")
            with _step(database):
                yield database
            # The log still has the pages as they were, for as long as anybody has the file open.
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def many_steps(self) -> Iterator[None]:
        """While one step follows another. Whoever closes the file last writes back what was changed
        in it, which takes longer than a step; so somebody has it open until all are done.

        Raises ToolError.
        """
        opened = ExitStack()
        opened.enter_context(self.open())
        try:
            yield
        finally:
            # Not by `with`: what goes wrong meanwhile is not a matter of this file.
            opened.close()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Of a file that is there, also where nothing can be written. Raises ToolError."""
        if os.access(self.path, os.W_OK) and os.access(os.path.dirname(self.path), os.W_OK):
            with self.open() as database:
                yield database
            return
        # A file that somebody has open, or has left behind, is read together with its log. Where
        # there is no log, SQLite would make one, unless it is told that nobody writes meanwhile.
        how = "mode=ro" if os.path.exists(f"{self.path}-wal") else "immutable=1"
        from urllib.parse import quote  # noqa: PLC0415 - only for this address

        with self._connected(f"file:{quote(os.fsencode(self.path))}?{how}") as database:
            yield database

    @contextmanager
    def open(self) -> Iterator[sqlite3.Connection]:
        """Made where it is not there. Raises ToolError."""
        try:
            private_folder(os.path.dirname(self.path))
            # Made before SQLite does, so that nobody else can ever read it; and only where it is
            # not there: to close a file gives up every lock that this process has on it.
            if not os.path.exists(self.path):
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        except OSError as error:
            raise self.refused(error) from None
        with self._connected(self.path) as database:
            database.execute("PRAGMA journal_mode = WAL")
            database.execute("PRAGMA synchronous = FULL")
            database.execute("PRAGMA foreign_keys = ON")
            database.executescript(self.tables)
            yield database

    @contextmanager
    def _connected(self, where: str) -> Iterator[sqlite3.Connection]:
        import sqlite3  # noqa: PLC0415 - most calls need no database

        try:
            database = sqlite3.connect(
                where, timeout=_PATIENCE, isolation_level=None, uri=where != self.path
            )
            database.row_factory = sqlite3.Row
            try:
                yield database
            finally:
                database.close()
        except (sqlite3.Error, OSError) as error:
            raise self.refused(error) from None


@contextmanager
def _step(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        database.execute("ROLLBACK")
        raise
    database.execute("COMMIT")
