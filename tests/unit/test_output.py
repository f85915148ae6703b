"""Output never moves a cursor or hides a character."""

from __future__ import annotations

import pytest

from tongs.core.execution import Kept
from tongs.output import decoded, kept, visible


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


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert decoded(b"ok\xff") == "ok\ufffd"


def test_output_is_cut_where_there_is_no_spool() -> None:
    assert kept(b"abc", 3, None, "1") == Kept(b"abc")
    assert kept(b"abcd", 3, None, "1") == Kept(b"abc", None, 1)
