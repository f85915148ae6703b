"""Output never moves a cursor or hides a character."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.core.execution import Kept
from tongs.output import decoded, kept, unmistakable, visible
from tongs.store.spool import Spool


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain\ttext\n", "plain\ttext\n"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\rb", "a\\x0db"),
        ("\x9b2J", "\\x9b2J"),
        ("user\u202egnp.exe", "user\\u202egnp.exe"),
        ("zero\u200bwidth", "zero\\u200bwidth"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("lone\udc80", "lone\\udc80"),
        ("Zürich 東京 🎉", "Zürich 東京 🎉"),
    ],
)
def test_control_and_hidden_characters_are_written_out(raw: str, shown: str) -> None:
    assert visible(raw) == shown


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        # Cyrillic, Greek, and letters that only look like Latin ones, in words that have both.
        ("\u0441at x", "\\u0441at x"),
        ("/bin/l\u0455", "/bin/l\\u0455"),
        ("delete_\u0430ll", "delete_\\u0430ll"),
        ("g\u03bft", "g\\u03bft"),
        ("\u0261it \uff43at \u0131s \U0001d41cat", "\\u0261it \\uff43at \\u0131s \\U0001d41cat"),
        # A mark above a letter divides no word; neither does what is hidden pass.
        ("\u0441\u0308at", "\\u0441\u0308at"),
        ("\u202e\u0441at\x1b", "\\u202e\\u0441at\\x1b"),
    ],
)
def test_letters_that_may_pass_for_others_are_written_out(written: str, shown: str) -> None:
    # Nothing of it is hidden, and so it would be shown.
    assert "\u202e" in written or visible(written) == written
    assert unmistakable(written) == shown


@pytest.mark.parametrize(
    "honest",
    [
        "cat plain.txt",
        "cp отчёт_final.txt /home/проект/файл2",
        "git commit -m 'σήμερα και αύριο'",
        "Zürich Łódź Straße Việt ơ nº µs m² H₂O re\u0301sume\u0301",
        "Tシャツ 東京API 한글x 🎉",
        'print("\\nПривет, мир\\tтам")',
    ],
)
def test_words_of_one_alphabet_stay_readable(honest: str) -> None:
    assert unmistakable(honest) == honest


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert decoded(b"ok\xff") == "ok\ufffd"


def test_large_output_is_kept_whole_elsewhere(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))

    found = kept(b"abcdef", 3, spool, "call-1")

    assert (found.data, found.lost) == (b"abc", 0)
    assert found.handle
    assert any(path.read_bytes() == b"abcdef" for path in tmp_path.rglob("*") if path.is_file())


def test_spool_that_cannot_be_opened_costs_the_tail_of_the_output(tmp_path: Path) -> None:
    in_the_way = tmp_path / "spool"
    in_the_way.write_text("")

    assert kept(b"abcdef", 3, Spool(str(in_the_way)), "call-1") == Kept(b"abc", None, 3)


def test_output_is_cut_where_there_is_no_spool() -> None:
    assert kept(b"abc", 3, None, "1") == Kept(b"abc")
    assert kept(b"abcd", 3, None, "1") == Kept(b"abc", None, 1)
