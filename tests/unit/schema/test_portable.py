"""Schemas in the spelling that every reader of tool schemas takes."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from tongs.schema.portable import portable

SCHEMAS: list[tuple[Any, Any]] = [
    ({"type": "object"}, {"type": "object"}),
    (True, True),
    ({"type": ["string"]}, {"type": "string"}),
    (
        {"type": ["string", "null"], "minLength": 2},
        {"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 2},
    ),
    (
        {"type": ["integer", "null"], "anyOf": [{"minimum": 3}, {"const": None}]},
        {
            "anyOf": [{"minimum": 3}, {"const": None}],
            "allOf": [{"anyOf": [{"type": "integer"}, {"type": "null"}]}],
        },
    ),
    (
        {"properties": {"type": {"type": ["string", "null"]}}, "default": {"type": ["a", "b"]}},
        {
            "properties": {"type": {"anyOf": [{"type": "string"}, {"type": "null"}]}},
            "default": {"type": ["a", "b"]},
        },
    ),
]
VALUES = [None, 1, 3, 4.5, "", "ab", [], {}, {"type": None}, {"type": 1}, True]


@pytest.mark.parametrize(("schema", "wanted"), SCHEMAS)
def test_one_type_at_a_time(schema: Any, wanted: Any) -> None:
    assert portable(schema) == wanted


@pytest.mark.parametrize("schema", [schema for schema, _ in SCHEMAS])
def test_it_accepts_exactly_the_same(schema: Any) -> None:
    accepted = [jsonschema_rs.is_valid(schema, value) for value in VALUES]

    assert [jsonschema_rs.is_valid(portable(schema), value) for value in VALUES] == accepted
