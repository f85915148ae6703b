"""Text from a command line becomes what the schema asks for, or stays text."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.schema.coerce import coerce


@pytest.mark.parametrize(
    ("text", "schema", "value"),
    [
        ("5", {"type": "string"}, "5"),
        ("5", {}, "5"),
        ("5", True, "5"),
        ("5", {"type": "integer"}, 5),
        ("-05", {"type": "integer"}, -5),
        ("1" * 40, {"type": "integer"}, int("1" * 40)),
        ("5.0", {"type": "integer"}, "5.0"),
        ("9" * 5000, {"type": "integer"}, "9" * 5000),
        ("five", {"type": "integer"}, "five"),
        ("5", {"type": "number"}, 5),
        ("5.0", {"type": "number"}, 5.0),
        (".5e1", {"type": "number"}, 5.0),
        ("nan", {"type": "number"}, "nan"),
        ("inf", {"type": "number"}, "inf"),
        ("9e999", {"type": "number"}, "9e999"),
        ("1_000", {"type": "number"}, "1_000"),
        ("٣", {"type": "integer"}, "٣"),
        ("true", {"type": "boolean"}, True),
        ("YES", {"type": "boolean"}, True),
        ("1", {"type": "boolean"}, True),
        ("False", {"type": "boolean"}, False),
        ("no", {"type": "boolean"}, False),
        ("0", {"type": "boolean"}, False),
        ("on", {"type": "boolean"}, "on"),
        ("a", {"type": "array"}, ["a"]),
        ("5", {"type": "array", "items": {"type": "integer"}}, [5]),
        ("[1, 2]", {"type": "array", "items": {"type": "integer"}}, [1, 2]),
        ("[x", {"type": "array"}, ["[x"]),
        ('{"a": 1}', {"type": "array"}, ['{"a": 1}']),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("[1]", {"type": "object"}, "[1]"),
        ("{a}", {"type": "object"}, "{a}"),
        ("[NaN]", {"type": "array"}, ["[NaN]"]),
        ("null", {"type": ["integer", "null"]}, None),
        ("null", {"type": ["string", "null"]}, "null"),
        ("x", {"type": "null"}, "x"),
        ("5", {"type": ["string", "integer"]}, 5),
        ("x", {"type": ["string", "integer"]}, "x"),
        ("1", {"type": ["boolean", "integer"]}, 1),
        ("true", {"type": ["boolean", "integer"]}, True),
        ("a", {"type": ["array", "string"]}, "a"),
        ('["a"]', {"type": ["array", "string"]}, ["a"]),
        ("2", {"enum": [1, 2]}, 2),
        ("b", {"enum": ["a", "b", 1.5, True, None]}, "b"),
        ("true", {"enum": [True, "x"]}, True),
        ("5", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 5),
        ("5", {"oneOf": [{"type": "string"}]}, "5"),
        ("[" * 100_000, {"type": "array"}, ["[" * 100_000]),
        (["a", "b"], {"type": "array"}, ["a", "b"]),
        (["1", "x"], {"type": "array", "items": {"type": "integer"}}, [1, "x"]),
        (["[1]", "[2]"], {"type": "array", "items": {"type": "array"}}, [[1], [2]]),
        (["1"], {"type": "integer"}, 1),
        (["1", "2"], {"type": "integer"}, ["1", "2"]),
        ([], {"type": "array"}, []),
    ],
)
def test_text_becomes_the_value_its_schema_asks_for(text: Any, schema: Any, value: Any) -> None:
    found = coerce(text, schema)

    assert found == value
    assert type(found) is type(value)
