"""Values, slots, and the one way a value becomes text."""

from typing import Any

import pytest

from tongs.template.values import (
    ABSENT,
    Slot,
    TemplateError,
    ValueRefused,
    number_text,
    plain_text,
    utf8,
)

MAPPED = Slot("M", "boolean", true_value="-w")


def test_absent_says_so() -> None:
    assert repr(ABSENT) == "ABSENT"


@pytest.mark.parametrize(
    ("value", "expected"),
    [(5, "5"), (5.0, "5"), (-0.5, "-0.5"), (10**30, "1" + "0" * 30), (1e16, "1e+16"),
     (float("inf"), "inf"), (1e15, "1000000000000000")],
)  # fmt: skip
def test_numbers_print_as_written(value: float, expected: str) -> None:
    assert number_text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ABSENT, ""),
        (None, ""),
        ("a b", "a b"),
        (True, "true"),
        (False, "false"),
        (2.0, "2"),
        (["a", 1, True, ["b", None]], "a 1 true b "),
        ({"é": [1, 2]}, '{"é": [1, 2]}'),
    ],
)
def test_a_value_becomes_text(value: Any, expected: str) -> None:
    assert plain_text(value) == expected


def test_a_mapped_boolean_is_the_authors_text() -> None:
    assert plain_text(True, MAPPED) == "-w"
    assert plain_text(False, MAPPED) == ""
    assert plain_text(True, Slot("F", "boolean")) == "true"


def test_slots_know_whether_their_values_can_be_code() -> None:
    assert not Slot("A").harmless
    assert Slot("A", closed=True).harmless
    assert Slot("N", "integer").harmless
    assert not Slot("A", patterned=True).harmless
    assert (MAPPED.mapped, Slot("F", "boolean").mapped) == (True, False)
    assert not Slot("S", "string", true_value="x").mapped


@pytest.mark.parametrize(
    ("text", "expected"),
    [("é", b"\xc3\xa9"), ("\udcff", b"\xff"), ("\udcff\ud800", b"\xff\xed\xa0\x80")],
)
def test_any_text_has_bytes(text: str, expected: bytes) -> None:
    assert utf8(text) == expected


def test_errors_carry_what_a_message_needs() -> None:
    error = TemplateError("wrong", offset=3, hint="do", rule="r")
    refused = ValueRefused("A", "is bad")

    assert (str(error), error.message, error.offset, error.hint, error.rule) == (
        "wrong", "wrong", 3, "do", "r",
    )  # fmt: skip
    assert (str(refused), refused.name, refused.reason) == ("A is bad", "A", "is bad")
