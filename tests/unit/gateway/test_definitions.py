"""What a server says of its tools, as far as it can be used."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.gateway import definitions
from tongs.gateway.definitions import Malformed, Room, checked, usable

SCHEMA = {"type": "object", "properties": {}}


def told(**changes: Any) -> dict[str, Any]:
    return {"name": "t", "inputSchema": SCHEMA, **changes}


def test_a_definition_keeps_what_counts_and_nothing_else() -> None:
    output = {"type": "array", "items": {"type": "integer"}}
    annotations = {"readOnlyHint": True, "title": "T\u200b", "evil": 1, "openWorldHint": "yes"}

    definition = checked(
        told(title="A", outputSchema=output, annotations=annotations, icons=[1], _meta={"x": 1})
    )

    assert definition == {
        "name": "t",
        "title": "A",
        "inputSchema": SCHEMA,
        "outputSchema": output,
        "annotations": {"title": "T\\u200b", "readOnlyHint": True},
    }


def test_a_schema_without_properties_has_none() -> None:
    assert checked(told(inputSchema={"type": "object"}))["inputSchema"] == SCHEMA


def test_a_long_description_is_cut() -> None:
    description = checked(told(description="x" * 100_000))["description"]

    assert len(description) < definitions.LONGEST_DESCRIPTION + 10
    assert description.endswith("[…]")


@pytest.mark.parametrize(
    "change",
    [
        {"name": ""},
        {"name": "a b"},
        {"name": "x" * 129},
        {"name": "ä"},
        {"name": 7},
        {"description": ["x"]},
        {"title": 7},
        {"inputSchema": None},
        {"inputSchema": {"type": "array"}},
        {"inputSchema": {"type": "object", "properties": 7}},
        {"inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}},
        {"inputSchema": {"type": "object", "properties": {}, "x": "y" * 300_000}},
        {"outputSchema": 7},
        {"annotations": []},
    ],
    ids=repr,
)
def test_what_makes_no_sense_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        checked(told(**change))


def test_a_list_is_bounded_and_says_what_it_leaves_out() -> None:
    problems: list[str] = []

    found = usable([told(name=f"t{number}") for number in range(600)], problems, Room())

    assert len(found) == definitions.MOST_TOOLS
    assert len(problems) == definitions.MOST_PROBLEMS


def test_a_list_is_bounded_over_all_of_its_pages() -> None:
    problems: list[str] = []
    room = Room()
    large = {"type": "object", "properties": {}, "description": "x" * 200_000}

    pages = [
        usable([told(name=f"t{page}.{number}", inputSchema=large) for number in range(8)], [], room)
        for page in range(8)
    ]
    again = usable([told(name="t0.0")], problems, room)

    assert sum(map(len, pages)) == definitions.LARGEST_LIST // 200_000
    assert room.full
    assert again == []
    assert "4 MiB" in problems[0]


def test_a_name_is_had_once_on_all_pages_together() -> None:
    room, problems = Room(), list[str]()

    assert [len(usable([told()], problems, room)) for _ in range(2)] == [1, 0]
    assert "has its name" in problems[0]
