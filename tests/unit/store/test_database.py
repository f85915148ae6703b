"""A file of SQLite that several processes share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tongs.core.errors import ErrorCode, ToolError
from tongs.store.database import Database

OTHER = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).execute('SELECT * FROM t').fetchall()"


def refused(error: Exception) -> ToolError:
    return ToolError(ErrorCode.EXECUTION_ERROR, f"it cannot be kept: {error}")


@pytest.fixture
def database(tmp_path: Path) -> Database:
    return Database(str(tmp_path / "x.db"), "CREATE TABLE IF NOT EXISTS t (a TEXT);", refused)


def rows(database: Database) -> list[str]:
    with database.open() as opened:
        return [row["a"] for row in opened.execute("SELECT a FROM t")]


def added(database: Database, text: str, *, fails: bool = False) -> None:
    with database.changing() as opened:
        opened.execute("INSERT INTO t VALUES (?)", (text,))
        if fails:
            raise KeyError(text)


def test_a_step_that_fails_leaves_nothing(database: Database) -> None:
    with pytest.raises(KeyError):
        added(database, "lost", fails=True)
    added(database, "kept")

    assert rows(database) == ["kept"]


def test_nobody_else_can_read_it(database: Database) -> None:
    rows(database)

    assert Path(database.path).stat().st_mode & 0o777 == 0o600


def test_a_second_step_in_the_process_gives_up_no_lock_of_the_first(database: Database) -> None:
    with database.changing() as first:
        first.execute("INSERT INTO t VALUES ('first')")
        rows(database)
        # Whoever believes to be the last one removes the log that the first one writes to.
        subprocess.run([sys.executable, "-c", OTHER, database.path], check=True)
        assert Path(f"{database.path}-wal").exists()

    assert rows(database) == ["first"]


@pytest.mark.parametrize("name", ["x.db", "50% of #1?.db"])
def test_what_cannot_be_written_is_read(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    database = Database(str(tmp_path / name), database.tables, refused)
    added(database, "kept")
    monkeypatch.setattr("os.access", lambda *_: False)

    with database.reading() as opened:
        assert [row["a"] for row in opened.execute("SELECT a FROM t")] == ["kept"]
        assert not Path(f"{database.path}-wal").exists()
    with database.many_steps():
        added(database, "in the log")
        with database.reading() as opened:
            assert len(opened.execute("SELECT a FROM t").fetchall()) == 2
    with pytest.raises(ToolError, match="readonly"), database.reading() as opened:
        opened.execute("DELETE FROM t")


def test_a_file_that_is_no_database_is_said(database: Database) -> None:
    Path(database.path).write_bytes(b"no database" * 100)

    with pytest.raises(ToolError, match="it cannot be kept: file is not a database"):
        rows(database)
