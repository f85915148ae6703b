"""Made-up arguments are what a schema itself suggests, or something of its type."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.authoring.made_up import arguments, value
from tongs.schema.check import violations


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        ({"type": "string", "default": "x"}, "x"),
        ({"const": 7}, 7),
        ({"enum": ["b", "a"]}, "b"),
        ({"type": "string", "examples": ["Lima"]}, "Lima"),
        ({"type": "string"}, "text"),
        ({"type": "string", "minLength": 6}, "textxx"),
        ({"type": "string", "maxLength": 2}, "te"),
        ({"type": "integer"}, 1),
        ({"type": "integer", "minimum": 10}, 10),
        ({"type": "number", "exclusiveMinimum": 2}, 3),
        ({"type": "number", "maximum": -1}, -1),
        ({"type": "boolean"}, True),
        ({"type": ["null", "string"]}, None),
        ({"type": "array"}, []),
        ({"type": "array", "minItems": 2, "items": {"type": "integer"}}, [1, 1]),
        ({"type": "object", "required": ["a"], "properties": {"a": {}}}, {"a": "text"}),
        (True, "text"),
    ],
)
def test_a_value_fits_its_schema(schema: Any, made: Any) -> None:
    assert value(schema) == made
    assert violations({"type": "object", "properties": {"v": schema}}, {"v": made}) == []


def test_only_what_is_required_is_made_up() -> None:
    schema = {"type": "object", "required": ["a", "c"], "properties": {"a": {}, "b": {}}}

    assert arguments(schema) == {"a": "text", "c": "text"}
