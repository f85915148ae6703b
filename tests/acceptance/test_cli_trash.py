"""`tongs trash`: what tools have deleted is there, comes back, and goes for good."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.acceptance.conftest import Place, Run, Show


@pytest.fixture
def deleted(tongs: Run, place: Place) -> str:
    """The id of a folder with one file in it."""
    (place.project / "old" / "inner").mkdir(parents=True)
    (place.project / "old" / "inner" / "note.txt").write_text("keep me")
    done = tongs("tool", "run", "delete_file", "path=old", "recursive=true", "--yes", "--json")
    return str(json.loads(done.stdout)["value"]["trash"])


def listed(tongs: Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(tongs("trash", "list", "--json").stdout)
    return found


def test_list_shows_what_was_deleted(tongs: Run, deleted: str) -> None:
    (entry,) = listed(tongs)
    table = tongs("trash", "list").stdout.splitlines()

    assert (entry["id"], entry["path"], entry["type"]) == (deleted, "old", "directory")
    assert (entry["count"], entry["size"]) == (3, 7)
    assert table[0].split() == ["ID", "DELETED", "TYPE", "COUNT", "BYTES", "PATH"]
    assert table[1].split()[0] == deleted


def test_empty_trash_is_said(tongs: Run) -> None:
    assert listed(tongs) == []
    assert tongs("trash", "list").stderr == "the trash is empty\n"


def test_restore_brings_it_back(tongs: Run, place: Place, deleted: str) -> None:
    done = tongs("trash", "restore", deleted)

    assert (done.stderr, done.code) == ("restored old\n", 0)
    assert (place.project / "old" / "inner" / "note.txt").read_text() == "keep me"
    assert listed(tongs) == []


def test_restore_elsewhere(tongs: Run, place: Place, deleted: str) -> None:
    (place.project / "old").write_text("new")

    refused = tongs("trash", "restore", deleted)
    done = tongs("trash", "restore", deleted, "--to", "back/here", "--json")

    assert refused.code == 1
    assert f"hint: tongs trash restore {deleted} --to OTHER-PATH" in refused.stderr
    assert json.loads(done.stdout) == {"id": deleted, "path": "back/here"}
    assert (place.project / "back" / "here" / "inner" / "note.txt").exists()


@pytest.mark.parametrize("to", ["../out", ".git/hooks/x", ".tongs/tools/x"])
def test_restore_stays_inside_and_off_what_is_protected(
    tongs: Run, place: Place, deleted: str, to: str
) -> None:
    assert tongs("trash", "restore", deleted, "--to", to).code == 1
    assert len(listed(tongs)) == 1


def test_unknown_id_is_refused(tongs: Run) -> None:
    done = tongs("trash", "restore", "nothing")

    assert done.code == 1
    assert "hint: tongs trash list" in done.stderr


def test_empty_needs_a_word(tongs: Run, place: Place, deleted: str) -> None:
    refused = tongs("trash", "empty")
    done = tongs("trash", "empty", "--yes", "--json")

    assert refused.code == 3
    assert "hint: tongs trash empty --yes" in refused.stderr
    assert json.loads(done.stdout) == {"deleted": [deleted]}
    assert listed(tongs) == []


def test_empty_asks_on_a_terminal(screen: Show, tongs: Run, deleted: str) -> None:
    shown = screen("trash", "empty")
    shown.wait_for("delete this for good?")
    shown.type("n\n")
    shown.wait_for("nothing was deleted")

    assert len(listed(tongs)) == 1


def test_empty_by_age_and_by_id(tongs: Run, deleted: str) -> None:
    young = tongs("trash", "empty", "--older-than", "1d", "--yes", "--json")
    wrong = tongs("trash", "empty", "--older-than", "long", "--yes")
    unknown = tongs("trash", "empty", "nothing", "--yes")
    named = tongs("trash", "empty", deleted, "--yes", "--json")

    assert json.loads(young.stdout) == {"deleted": []}
    assert (wrong.code, unknown.code) == (2, 1)
    assert json.loads(named.stdout) == {"deleted": [deleted]}


def test_hostile_name_does_not_reach_the_terminal(screen: Show, tongs: Run, place: Place) -> None:
    (place.project / "a\x1b[2Jb").touch()
    tongs("tool", "run", "delete_file", "path=a\x1b[2Jb", "--yes")

    shown = screen("trash", "list")
    shown.end()

    assert "a\\x1b[2Jb" in shown.text


def test_hostile_name_does_not_reach_a_pipe(tongs: Run, place: Place) -> None:
    (place.project / "a\x1b[2Jb").touch()
    tongs("tool", "run", "delete_file", "path=a\x1b[2Jb", "--yes")
    (entry,) = listed(tongs)
    about = place.project / ".tongs" / "trash" / entry["id"] / "about.json"
    about.write_text(json.dumps({"path": "a\x1b[2Jb", "deletedAt": "\x1b[1m\nnow"}))

    table = tongs("trash", "list").stdout
    done = tongs("trash", "restore", entry["id"])

    assert "\\x1b[1m now" in table
    assert "a\\x1b[2Jb" in table
    assert done.stderr == "restored a\\x1b[2Jb\n"
    assert "\x1b" not in table


def test_note_nested_without_end_is_left_out(tongs: Run, place: Place, deleted: str) -> None:
    (place.project / ".tongs" / "trash" / deleted / "about.json").write_text("[" * 60_000)

    done = tongs("trash", "list")

    assert (done.stderr, done.code) == ("the trash is empty\n", 0)


def test_what_else_lies_with_it_does_not_fail_a_restore(
    tongs: Run, place: Place, deleted: str
) -> None:
    stray = place.project / ".tongs" / "trash" / deleted / "stray"
    stray.touch()

    done = tongs("trash", "restore", deleted)

    assert (done.stderr, done.code) == ("restored old\n", 0)
    assert (place.project / "old" / "inner" / "note.txt").exists()
    assert stray.exists()
    assert listed(tongs) == []
