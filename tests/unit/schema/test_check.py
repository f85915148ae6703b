"""Violations in words a person can act on, all at once, and never a crash."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.core.errors import BlockedBy, ErrorCode
from tongs.schema import check
from tongs.schema.check import (
    Invalid,
    SchemaInvalid,
    Violation,
    check_root,
    check_schema,
    validated,
    violations,
    with_defaults,
)

TOOL = {
    "type": "object",
    "properties": {
        "DAYS": {"type": "integer"},
        "for": {"type": "string"},
        "UNIT": {"enum": ["metric", "imperial"]},
    },
    "required": ["DAYS", "for"],
    "additionalProperties": False,
}


def test_every_violation_is_reported_at_once() -> None:
    assert set(violations(TOOL, {"DAYS": "x", "foo": 1, "UNIT": "si"})) == {
        Violation(("for",), "is required", "required"),
        Violation(("DAYS",), 'must be an integer, got "x"', "type"),
        Violation(("UNIT",), 'must be one of metric, imperial, got "si"', "enum"),
        Violation(("foo",), "unknown key `foo` (did you mean `for`?)", "additionalProperties"),
    }


@pytest.mark.parametrize(
    ("schema", "value", "sentence"),
    [
        ({"type": "boolean"}, 1, "the value must be true or false, got 1"),
        ({"type": ["null", "string"]}, 1, "the value must be null or a string, got 1"),
        ({"enum": ["a b", 1, None]}, 3, 'the value must be one of "a b", 1, null, got 3'),
        ({"const": 3}, 4, "the value must be 3, got 4"),
        ({"pattern": "^a$"}, "b", 'the value must match the pattern `^a$`, got "b"'),
        (
            {"pattern": "^a$", "examples": ["a"]},
            "b",
            'the value must look like "a", got "b"',
        ),
        ({"minimum": 3}, 1, "the value must be at least 3, got 1"),
        ({"maximum": 3}, 4, "the value must be at most 3, got 4"),
        ({"exclusiveMinimum": 3}, 3, "the value must be more than 3, got 3"),
        ({"exclusiveMaximum": 3}, 3, "the value must be less than 3, got 3"),
        ({"multipleOf": 2}, 3, "the value must be a multiple of 2, got 3"),
        ({"minLength": 2}, "a", 'the value must have at least 2 characters, got "a"'),
        ({"maxLength": 1}, "ab", 'the value must have at most 1 character, got "ab"'),
        ({"minItems": 2}, [1], "the value must have at least 2 elements, got [1]"),
        ({"maxItems": 1}, [1, 2], "the value must have at most 1 element, got [1, 2]"),
        ({"minProperties": 1}, {}, "the value must have at least 1 key, got {}"),
        ({"maxProperties": 0}, {"a": 1}, 'the value must have at most 0 keys, got {"a": 1}'),
        ({"uniqueItems": True}, [1, 1], "the value must not contain the same element twice"),
        (
            {"contains": {"type": "string"}},
            [1],
            "the value contains no elements of the wanted kind",
        ),
        (
            {"contains": True, "maxContains": 1},
            [1, 2],
            "the value contains too many elements of the wanted kind",
        ),
        ({"not": {"type": "string"}}, "x", "the value does not fit `not` of its schema"),
        (
            {"not": {"required": ["a", "b"]}},
            {"a": 1, "b": 1},
            "the value must not have a and b together",
        ),
        ({"properties": {"a": False}}, {"a": 1}, "a is not allowed here"),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, "b is required"),
        (
            {"propertyNames": {"pattern": "^a"}},
            {"b": 1},
            "b is no allowed name: it must match the pattern `^a`",
        ),
        (
            {"properties": {"qq": True}, "unevaluatedProperties": False},
            {"q": 1},
            "unknown key `q` (did you mean `qq`?)",
        ),
        (
            {"properties": {"a": {"additionalProperties": False}}},
            {"a": {"x": 1}},
            "a takes no keys",
        ),
        (
            {"properties": {"a": {"properties": {}, "additionalProperties": False}}},
            {"a": {"x": 1}},
            "unknown key `x` in a",
        ),
        (
            {"additionalProperties": {"type": "string"}, "properties": {"a": {"type": "array"}}},
            {"a": [], "l": 1},
            "l must be a string, got 1",
        ),
        (
            {"if": {"type": "integer"}, "then": {"minimum": 5}},
            3,
            "the value must be at least 5, got 3",
        ),
        (
            {"oneOf": [{"type": "string"}, {"const": "a"}]},
            "a",
            "the value fits more than one of the forms, exactly one is allowed",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            None,
            "the value must be a string or an integer, got null",
        ),
        (
            {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "integer"}}]},
            ["a"],
            '[0] must be an integer, got "a"',
        ),
        (
            {"anyOf": [{"type": "string", "pattern": "^a"}, {"enum": ["b", "c"]}]},
            "x",
            'the value must match the pattern `^a` or must be one of b, c, got "x"',
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
            {"c": 1},
            "the value must have a or b",
        ),
        (
            {"anyOf": [{"required": ["a"]}, {"properties": {"b": {"type": "string"}}}]},
            {"b": 1},
            None,
        ),
        (
            {"anyOf": [{"properties": {"b": {"const": 2}}}, {"properties": {"b": {"const": 3}}}]},
            {"b": 1},
            'the value fits none of the 2 forms, got {"b": 1}',
        ),
        (
            {"$ref": "https://json-schema.org/draft/2020-12/schema"},
            {"$id": "a#b"},
            '$id must match the pattern `^[^#]*#?$`, got "a#b"',
        ),
        (
            {"maxLength": 1},
            "x" * 500,
            f'the value must have at most 1 character, got "{"x" * 56}...',
        ),
    ],
)
def test_a_violation_reads_as_a_sentence(schema: Any, value: Any, sentence: str | None) -> None:
    found = [str(violation) for violation in violations(schema, value)]

    assert found == [sentence] if sentence else len(found) == 1


def test_a_masked_message_repeats_no_value() -> None:
    schema = {
        "properties": {
            "a": {"type": "integer"},
            "b": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "c": {"pattern": "^x$", "examples": ["x"]},
            "d": {"anyOf": [{"pattern": "^a"}, {"enum": ["b"]}]},
        }
    }
    value = dict.fromkeys("abcd", "hunter2")

    found = violations(schema, value, mask=True)

    assert len(found) == 4
    assert "hunter2" not in str([str(violation) for violation in found])


@pytest.mark.parametrize(
    "value",
    [
        "\ud800",
        b"x",
        {1: 2},
        {"\udcff": 1},
        {"a": [b"x"]},
        {"a": {1, 2}},
        float("nan"),
        [float("inf")],
        object(),
    ],
)
@pytest.mark.parametrize("schema", [{}, {"type": "object"}, {"type": "string", "pattern": "x"}])
def test_what_json_cannot_carry_is_a_violation_and_no_crash(schema: Any, value: Any) -> None:
    assert {violation.keyword for violation in violations(schema, value)} == {"json"}


def test_a_value_that_is_nested_too_deeply_is_a_violation() -> None:
    deep: list[Any] = []
    for _ in range(50_000):
        deep = [deep]

    assert violations({"type": "array"}, deep) == [
        Violation((0, 0, 0), "is nested deeper than 100 levels", "depth")
    ]


def test_a_tuple_counts_as_a_list() -> None:
    assert violations({"type": "array", "items": {"type": "integer"}}, (1, 2)) == []


def test_a_list_of_thousands_of_mistakes_is_cut() -> None:
    assert len(violations({"items": {"type": "string"}}, [1] * 5000)) == 100


def test_defaults_fill_what_is_absent_and_leave_the_input_alone() -> None:
    schema = {
        "type": "object",
        "properties": {
            "a": {"type": "object", "properties": {"b": {"default": [1]}}, "default": {}},
            "l": {"items": {"properties": {"x": {"default": 1}}}},
            "plain": {"type": "array", "default": [{"k": "v"}]},
            "kept": {"default": "no"},
            "open": True,
        },
    }
    given = {"l": [{}, {"x": 2}, 5], "kept": "yes", "open": [1], "more": {}}

    filled = validated(schema, given)

    assert filled == {
        "l": [{"x": 1}, {"x": 2}, 5],
        "kept": "yes",
        "open": [1],
        "more": {},
        "a": {"b": [1]},
        "plain": [{"k": "v"}],
    }
    assert given == {"l": [{}, {"x": 2}, 5], "kept": "yes", "open": [1], "more": {}}
    filled["plain"][0]["k"] = filled["a"]["b"] = "changed"
    assert validated(schema, {})["plain"] == [{"k": "v"}]


def test_a_value_that_is_no_object_has_no_defaults() -> None:
    assert with_defaults({"properties": {"a": {"default": 1}}}, "x") == "x"
    assert with_defaults({"items": True}, [1]) == [1]
    assert with_defaults({}, {"a": 1}) == {"a": 1}


def test_invalid_arguments_carry_every_violation() -> None:
    with pytest.raises(Invalid) as caught:
        validated({"properties": {"A": {"type": "integer"}}, "required": ["B"]}, {"A": "x"})

    error = caught.value
    assert (error.code, error.blocked_by) == (ErrorCode.INVALID_ARGUMENTS, BlockedBy.SCHEMA)
    assert sorted(error.message.split("; ")) == ['A must be an integer, got "x"', "B is required"]
    assert error.details["violations"] == [violation.to_wire() for violation in error.violations]


@pytest.mark.parametrize(
    ("schema", "words", "path"),
    [
        ([], "a schema must be an object", ()),
        ({}, "the root of the schema must have the type `object`, got no type", ()),
        ({"type": "array"}, "must have the type `object`, got `array`", ()),
        (
            {"type": "object", "properties": {"a": {"type": "strin"}}},
            "properties.a.type",
            ("properties", "a", "type"),
        ),
        (
            {"type": "object", "properties": {"a": {"pattern": "("}}},
            "properties.a.pattern",
            ("properties", "a", "pattern"),
        ),
        ({"type": "object", "$ref": "#/nowhere"}, "does not exist", ()),
        ({"type": "object", "$ref": "http://127.0.0.1:1/x"}, "into the schema itself: http:", ()),
        ({"type": "object", "$ref": "file:///etc/hostname"}, "into the schema itself: file:", ()),
        ({"type": "object", "$ref": "urn:x"}, "into the schema itself: urn:x", ()),
        (
            {"type": "object", "$schema": "https://example.org/own"},
            "`$schema` may only name a version of JSON Schema itself: https://example.org/own",
            ("$schema",),
        ),
        ({"type": "object", "x": "\ud800"}, "the schema is no JSON", ()),
        ({"type": "object", 1: 2}, "the schema is no JSON", ()),
    ],
)
def test_a_schema_that_cannot_be_used_is_refused(schema: Any, words: str, path: Any) -> None:
    with pytest.raises(SchemaInvalid) as caught:
        check_root(schema)

    assert words in caught.value.message
    assert caught.value.path == path


@pytest.mark.parametrize(
    "dialect",
    [
        "https://json-schema.org/draft/2020-12/schema",
        "https://json-schema.org/draft/2019-09/schema#",
        "http://json-schema.org/draft-07/schema#",
        "http://json-schema.org/schema#",
    ],
)
def test_a_version_of_json_schema_may_be_named(dialect: str) -> None:
    check_root({"type": "object", "$schema": dialect})


def test_true_and_false_are_schemas() -> None:
    assert validated(True, {"a": 1}) == {"a": 1}
    with pytest.raises(Invalid):
        validated(False, {"a": 1})


def test_schemas_of_any_root_can_be_checked_too() -> None:
    check_root({"type": "object", "$defs": {"a": {}}, "properties": {"a": {"$ref": "#/$defs/a"}}})
    check_schema({"type": "array"})
    check_schema(True)
    with pytest.raises(SchemaInvalid):
        check_schema("object")


def test_validators_are_kept_but_not_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "_MAX_COMPILED", 3)
    schemas = [{"minimum": n} for n in range(5)]

    for _ in range(2):
        assert [len(violations(schema, -1)) for schema in schemas] == [1] * 5
    assert len(check._compiled) <= 3


def test_a_plain_call_does_not_load_the_engine() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from tongs.schema.check import validated;"
        "validated({'type': 'object', 'properties': {'a': {'type': 'integer'}},"
        " 'required': ['a'], 'additionalProperties': False}, {'a': 1});"
        "assert not {'jsonschema_rs', 'yaml', 'difflib'} & set(sys.modules), 'loaded'"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
