"""Finding placeholders, and the modes that rewrite a value."""

import pytest

from tongs.template.placeholder import Literal, Mode, Placeholder, find, names, raw_names, written
from tongs.template.values import ABSENT, Slot

A = Slot("A")
OUTPUT = Slot("fetch-commits.output")
SLOTS = {"A": A, "fetch-commits.output": OUTPUT}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x{A}y", [Placeholder(A, Mode.SAFE, 1, 4)]),
        ("{RAW:A}{URL:A}", [Placeholder(A, Mode.RAW, 0, 7), Placeholder(A, Mode.URL, 7, 14)]),
        ("{JSON:A}", [Placeholder(A, Mode.JSON, 0, 8)]),
        ("{fetch-commits.output}", [Placeholder(OUTPUT, Mode.SAFE, 0, 22)]),
        ("{{A}} {{RAW:A}}", [Literal("{A}", 0, 5), Literal("{RAW:A}", 6, 15)]),
        ("${A} {B} {{B}} {{.Names}} { A } {} {A", []),
        ("{print {A}}", [Placeholder(A, Mode.SAFE, 7, 10)]),
        ("{XXX:A}", []),
    ],
)
def test_only_known_names_are_found(text: str, expected: list[Placeholder | Literal]) -> None:
    assert list(find(text, SLOTS)) == expected


def test_names_are_those_of_placeholders_only() -> None:
    items = list(find("{RAW:A} {{A}} {fetch-commits.output}", SLOTS))

    assert names(items) == frozenset({"A", "fetch-commits.output"})
    assert raw_names(items) == frozenset("A")


@pytest.mark.parametrize(
    ("mode", "value", "expected"),
    [
        (Mode.SAFE, [1], [1]),
        (Mode.RAW, [1], [1]),
        (Mode.URL, ABSENT, ABSENT),
        (Mode.URL, "New York/é\udcff\ud800", "New%20York%2F%C3%A9%FF%ED%A0%80"),
        (Mode.URL, 5.0, "5"),
        (Mode.JSON, 'a"\n\\é', 'a\\"\\n\\\\é'),
        (Mode.JSON, True, "true"),
    ],
)
def test_modes_rewrite_values(mode: Mode, value: object, expected: object) -> None:
    assert written(value, Placeholder(A, mode, 0, 0)) == expected
