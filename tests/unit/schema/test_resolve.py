"""References inside a schema, followed for those who read a person's text or show one."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.schema.coerce import coerce
from tongs.schema.resolve import plain

ROOT: dict[str, Any] = {
    "type": "object",
    "$defs": {
        "N": {"type": "integer", "minimum": 3},
        "a/b~c": {"type": "boolean"},
        "Tree": {"type": "object", "properties": {"kids": {"$ref": "#/$defs/Trees"}}},
        "Trees": {"type": "array", "items": {"$ref": "#/$defs/Tree"}},
        "Loop": {"$ref": "#/$defs/Loop"},
    },
}


@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ({"$ref": "#/$defs/N"}, "5", 5),
        ({"$ref": "#/$defs/a~1b~0c"}, "yes", True),
        ({"$ref": "#/$defs/Tree"}, '{"kids": []}', {"kids": []}),
        ({"type": "array", "items": {"$ref": "#/$defs/N"}}, ["5", "6"], [5, 6]),
        ({"allOf": [{"type": "integer"}, {"minimum": 3}]}, "5", 5),
        ({"anyOf": [{"$ref": "#/$defs/N"}, {"type": "null"}]}, "null", None),
        ({"oneOf": [{"const": "a"}, {"const": 7}]}, "7", 7),
        ({"$ref": "#/$defs/N", "type": "string"}, "5", "5"),
        ({"$ref": "#/$defs/Loop"}, "5", "5"),
        ({"$ref": "#/nowhere"}, "5", "5"),
        ({"$ref": "other.json#/$defs/N"}, "5", "5"),
        (True, "5", "5"),
    ],
)
def test_text_becomes_what_stands_behind_the_reference(
    schema: Any, text: str | list[str], value: Any
) -> None:
    assert coerce(text, plain(schema, ROOT)) == value


def test_what_stands_beside_a_reference_wins() -> None:
    written = {"$ref": "#/$defs/N", "minimum": 4, "description": "d"}

    assert plain(written, ROOT) == {"type": "integer", "minimum": 4, "description": "d"}


def test_schema_that_refers_to_itself_ends() -> None:
    assert plain({"$ref": "#/$defs/Trees"}, ROOT)["items"]["type"] == "object"
