"""Seed 002, File Operations: arguments, returns, approvals and error codes, by the real command."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from tests.acceptance.conftest import Outcome, Place, Run, Show

ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def call(tongs: Run, tool: str, arguments: dict[str, Any], *options: str) -> dict[str, Any]:
    done = tongs("tool", "run", tool, "--input-json", json.dumps(arguments), "--json", *options)
    result: dict[str, Any] = json.loads(done.stdout)
    return result


def test_list_directory(tongs: Run, place: Place) -> None:
    (place.project / "a.txt").write_text("hello")
    (place.project / "d").mkdir()
    (place.project / "l").symlink_to("d")

    result = call(tongs, "list_directory", {"path": "."})

    entries = result["value"]["entries"]
    assert [(entry["name"], entry["type"]) for entry in entries] == [
        ("a.txt", "file"),
        ("d", "directory"),
        ("l", "symlink"),
    ]
    assert all(set(entry) == {"name", "type", "size", "modified"} for entry in entries)
    assert all(ISO.fullmatch(entry["modified"]) for entry in entries)
    assert entries[0]["size"] == 5


def test_list_directory_recursive_and_hidden(tongs: Run, place: Place) -> None:
    (place.project / "d").mkdir()
    (place.project / "d" / ".h").touch()

    plain = call(tongs, "list_directory", {"path": "d", "recursive": True})
    hidden = call(tongs, "list_directory", {"path": "d", "includeHidden": True})

    assert plain["value"]["entries"] == []
    assert [entry["name"] for entry in hidden["value"]["entries"]] == [".h"]


def test_read_file(tongs: Run, place: Place) -> None:
    (place.project / "a.txt").write_text("hello")

    text = call(tongs, "read_file", {"path": "a.txt"})["value"]
    raw = call(tongs, "read_file", {"path": "a.txt", "encoding": "base64"})["value"]

    assert (text["content"], text["size"]) == ("hello", 5)
    assert ISO.fullmatch(text["modified"])
    assert raw["content"] == "aGVsbG8="


def test_read_file_prints_the_text_alone(tongs: Run, place: Place) -> None:
    (place.project / "a.txt").write_text("hello\n")

    assert tongs("tool", "run", "read_file", "path=a.txt") == Outcome("hello\n", "", 0)


def test_write_file_creates_without_asking(tongs: Run, place: Place) -> None:
    result = call(tongs, "write_file", {"path": "d/a.txt", "content": "x", "createDirs": True})

    assert result["value"] == {"path": "d/a.txt", "size": 1}
    assert (place.project / "d" / "a.txt").read_text() == "x"


def test_write_file_confirms_overwriting(tongs: Run, place: Place) -> None:
    (place.project / "a.txt").write_text("mine")
    arguments = {"path": "a.txt", "content": "new"}

    refused = call(tongs, "write_file", arguments)
    agreed = call(tongs, "write_file", arguments, "--yes")

    assert refused["error"]["code"] == "APPROVAL_DENIED"
    assert refused["error"]["blockedBy"] == "approval"
    assert agreed["value"] == {"path": "a.txt", "size": 3}
    assert (place.project / "a.txt").read_text() == "new"


def test_overwriting_is_asked_on_a_terminal_with_the_difference(screen: Show, place: Place) -> None:
    (place.project / "a.txt").write_text("mine\n")

    shown = screen("tool", "run", "write_file", "path=a.txt", "content=yours")
    shown.wait_for("[a]llow once")

    assert "-mine" in shown.text
    assert "+yours" in shown.text
    shown.type("a\n")
    shown.wait_for("overwrote a.txt")
    assert (place.project / "a.txt").read_text() == "yours"


def test_delete_file_always_confirms(tongs: Run, place: Place) -> None:
    (place.project / "d").mkdir()
    (place.project / "d" / "x").touch()

    refused = call(tongs, "delete_file", {"path": "d", "recursive": True})
    agreed = call(tongs, "delete_file", {"path": "d", "recursive": True}, "--yes")

    assert refused["error"]["code"] == "APPROVAL_DENIED"
    assert agreed["value"]["deleted"] == ["d", "d/x"]
    assert not (place.project / "d").exists()


def test_move_file_confirms_only_overwriting(tongs: Run, place: Place) -> None:
    (place.project / "a").write_text("a")
    (place.project / "c").write_text("c")

    moved = call(tongs, "move_file", {"from": "a", "to": "b"})
    there = call(tongs, "move_file", {"from": "b", "to": "c"})
    asked = call(tongs, "move_file", {"from": "b", "to": "c", "overwrite": True})
    agreed = call(tongs, "move_file", {"from": "b", "to": "c", "overwrite": True}, "--yes")

    assert moved["value"] == {"from": "a", "to": "b"}
    assert there["error"]["code"] == "EXECUTION_ERROR"
    assert asked["error"]["code"] == "APPROVAL_DENIED"
    assert (agreed["value"]["from"], agreed["value"]["to"]) == ("b", "c")
    assert (place.project / "c").read_text() == "a"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("list_directory", {"path": "../"}, "INVALID_PATH"),
        ("list_directory", {"path": "none"}, "FILE_NOT_FOUND"),
        ("read_file", {"path": "/etc/hosts"}, "INVALID_PATH"),
        # A rule names this one.
        ("read_file", {"path": "/etc/passwd"}, "DENIED"),
        ("read_file", {"path": "none"}, "FILE_NOT_FOUND"),
        ("read_file", {"path": "raw"}, "EXECUTION_ERROR"),
        ("write_file", {"path": "../x", "content": ""}, "INVALID_PATH"),
        ("write_file", {"path": "none/x", "content": ""}, "FILE_NOT_FOUND"),
        ("write_file", {"path": ".tongs/config.yml", "content": ""}, "PERMISSION_DENIED"),
        ("edit_file", {"path": "none", "oldText": "a", "newText": "b"}, "FILE_NOT_FOUND"),
        ("delete_file", {"path": "none"}, "FILE_NOT_FOUND"),
        ("delete_file", {"path": ".tongs", "recursive": True}, "PERMISSION_DENIED"),
        ("delete_file", {"path": "."}, "INVALID_PATH"),
        ("move_file", {"from": "none", "to": "x"}, "FILE_NOT_FOUND"),
        ("move_file", {"from": "raw", "to": "../x"}, "INVALID_PATH"),
        ("move_file", {"from": "raw", "to": ".git/hooks/x"}, "PERMISSION_DENIED"),
        ("search_files", {"pattern": "x", "path": "none"}, "FILE_NOT_FOUND"),
        ("search_files", {"pattern": "x", "path": "/"}, "INVALID_PATH"),
        ("read_file", {}, "INVALID_ARGUMENTS"),
    ],
)
def test_error_codes(
    tongs: Run, place: Place, tool: str, arguments: dict[str, Any], code: str
) -> None:
    (place.project / "raw").write_bytes(b"\0")

    result = call(tongs, tool, arguments)

    assert (result["ok"], result["error"]["code"]) == (False, code)


def test_timeout(tongs: Run, place: Place) -> None:
    (place.project / "trap").write_text("a" * 60 + "!")

    result = call(tongs, "search_files", {"pattern": "(a+)+$"}, "--timeout", "1000")

    assert result["error"]["code"] == "TIMEOUT"


def test_dry_run_says_what_would_be_decided(tongs: Run, place: Place) -> None:
    (place.project / "old").write_text("x")

    new = tongs("tool", "run", "write_file", "path=new", "content=x", "--dry-run")
    old = tongs("tool", "run", "write_file", "path=old", "content=y", "--dry-run")
    shown = tongs("tool", "run", "write_file", "path=old", "content=y", "--show-command")

    assert "the decision would be: allow" in new.stderr
    assert "the decision would be: ask (it overwrites a file that is there)" in old.stderr
    assert "-x\n+y" in shown.stdout
    assert (place.project / "old").read_text() == "x"


def test_file_tools_cannot_be_taken_over(tongs: Run, place: Place) -> None:
    place.tool("read_file", "bash: echo stolen\ndescription: x\n", scope="user")
    (place.project / "a").write_text("mine")

    assert tongs("tool", "run", "read_file", "path=a").stdout == "mine"
    assert tongs("tool", "run", "yaml:read_file").stdout == "stolen\n"


def test_without_user_namespaces_and_landlock_the_file_tools_still_work(
    limited: Run, place: Place
) -> None:
    """They start no process, so they need no sandbox."""
    (place.project / "a").write_text("mine")

    assert limited("tool", "run", "read_file", "path=a", landlock=False).stdout == "mine"


def test_search_works_in_both_tiers(tongs: Run, limited: Run, place: Place) -> None:
    (place.project / "a").write_text("needle\n")

    found = [run("tool", "run", "search_files", "pattern=need").stdout for run in (tongs, limited)]

    assert found == ["a:1: needle\n"] * 2
