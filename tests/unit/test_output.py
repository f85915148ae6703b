"""Output never moves a cursor, hides a character or shows a secret."""

from __future__ import annotations

import pytest

from tongs.output import REDACTED, decoded, redacted, redacted_data, visible


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


def test_secret_is_redacted_wherever_it_stands() -> None:
    data = {"a": ["x hunter22 y"], "hunter22": 1}

    assert redacted_data(data, ["hunter22"]) == {"a": [f"x {REDACTED} y"], REDACTED: 1}


def test_longer_secret_is_redacted_before_its_own_part() -> None:
    assert redacted("abcdefgh", ["abcd", "abcdefgh"]) == REDACTED


def test_short_secret_would_redact_too_much_and_stays() -> None:
    assert redacted("abc", ["abc", ""]) == "abc"


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    assert decoded(b"ok\xff") == "ok\ufffd"


def test_without_secrets_nothing_is_touched() -> None:
    data = {"a": ["x"]}

    assert redacted_data(data, []) is data
    assert redacted_data(3, ["hunter22"]) == 3
