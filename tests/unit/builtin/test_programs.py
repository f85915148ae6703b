"""The small programs that run in the sandbox, here called as functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.builtin import output_program, search_program


def search(root: Path, *names: str, **more: object) -> dict[str, object]:
    request = {
        "root": str(root),
        "names": list(names),
        "pattern": "word",
        "globs": [],
        "ignoreCase": False,
        "includeHidden": False,
        "includeIgnored": False,
        "limit": 100,
    }
    return search_program.answer({**request, **more})


def test_search_starts_below_and_hears_what_is_ignored_above(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text("*.log\n")
    for name in ("x.log", "x.txt"):
        (tmp_path / "a" / "b" / name).write_text("word")

    assert search(tmp_path, "a", "b")["files"] == ["a/b/x.txt"]
    assert search(tmp_path, "a", "b", "x.log")["files"] == ["a/b/x.log"]
    assert search(tmp_path, pattern=None)["files"] == ["a/b/x.txt"]
    assert search(tmp_path, pattern=None, limit=1)["truncated"] is True


def test_search_counts_what_it_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search_program, "LARGEST_FILE", 10)
    (tmp_path / "raw").write_bytes(b"word\0")
    (tmp_path / "large").write_text("word" * 10)

    assert search(tmp_path)["skipped"] == {
        "binary": 1,
        "large": 1,
        "unreadable": 0,
        "secret": 0,
    }


def test_nested_repository_has_its_own_ignore_files(tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("x\n")
    (tmp_path / "inner" / ".git" / "info").mkdir(parents=True)
    (tmp_path / "inner" / ".git" / "info" / "exclude").write_text("y\n")
    for name in ("x", "y"):
        (tmp_path / "inner" / name).write_text("word")

    assert search(tmp_path)["files"] == ["inner/x"]


def test_utf_16_and_byte_order_marks_are_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes("one\nword".encode("utf-16"))
    (tmp_path / "b").write_bytes(b"\xef\xbb\xbfword")

    found = search(tmp_path, pattern="^word")

    assert [(each["path"], each["line"]) for each in found["matches"]] == [("a", 2), ("b", 1)]  # type: ignore[attr-defined]


def test_match_over_a_line_end_is_none(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("word\nword\n")

    assert search(tmp_path, pattern=r"d\sw")["matches"] == []
    assert len(search(tmp_path, pattern=r"\w+$")["matches"]) == 2  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        ("raise Error", "raise Error"),
        (r"[a-z]+Error\b.*from", "Error"),
        (r"a|b", ""),
        (r"(?i)word", ""),
        (r"\d+", ""),
        (r"x?abc", "abc"),
        (r"a\nb", ""),
    ],
)
def test_literal_is_in_every_match(pattern: str, literal: str) -> None:
    assert search_program.literal_in(pattern) == literal


def test_grep_goes_on_where_it_stopped() -> None:
    text = "a1\nb\na2\na3\n"
    request = {"grep": "A", "ignoreCase": True, "offset": 0, "limit": 2}

    first = output_program.answer(request, text)
    rest = output_program.answer({**request, "offset": first["next"]}, text)

    assert first == {
        "matches": [{"line": 1, "text": "a1"}, {"line": 3, "text": "a2"}],
        "next": 3,
        "lines": 4,
    }
    assert rest["matches"] == [{"line": 4, "text": "a3"}]


def test_long_line_is_cut_around_what_was_found() -> None:
    text = "x" * 10_000 + "needle" + "y" * 10_000
    request = {"grep": "needle", "ignoreCase": False, "offset": 0, "limit": 2}

    (match,) = output_program.answer(request, text)["matches"]

    assert len(match["text"]) < 2100
    assert "needle" in match["text"]


def test_lines_of_json_are_a_list_and_other_text_is_refused() -> None:
    assert output_program.answer({"path": ".[1].a"}, '{"a": 1}\n{"a": 2}\n')["value"] == 2
    assert "not JSON" in output_program.answer({"path": "."}, "text")["refused"]


def test_large_part_is_cut() -> None:
    found = output_program.answer({"path": "."}, '["' + "x" * 200_000 + '"]')

    assert found["truncated"] is True
    assert len(found["text"]) == output_program.MOST_TEXT
