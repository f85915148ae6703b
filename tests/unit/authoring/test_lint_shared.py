"""The keys that mean the same in every shape."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.authoring.lint_run import rules

from tongs.authoring.lint.shared import Declared, shared_problems

INPUTS = {
    "type": "object",
    "properties": {"n": {"type": "integer", "default": 1}, "who": {"type": "string"}},
    "required": ["n", "who"],
    "additionalProperties": False,
}


def _found(data: dict[str, Any], inputs: dict[str, Any] = INPUTS) -> list[tuple[str, str, str]]:
    declared = Declared("tool", data, inputs)
    return [(p.rule, p.severity.value, p.field) for p in shared_problems(declared)]


@pytest.mark.parametrize(
    ("path", "severity"),
    [
        (".", "note"),
        ("./", "note"),
        ("src/..", "note"),
        ("/", "warning"),
        ("~", "warning"),
        ("..", "warning"),
        ("../other", "warning"),
    ],
)
def test_writing_everywhere_is_mentioned(path: str, severity: str) -> None:
    data = {"permissions": {"fs": {"write": ["out", path]}}}

    assert _found(data) == [("wide-write", severity, "permissions.fs.write[1]")]


@pytest.mark.parametrize("path", ["out", ".tongs/cache", "~/.cache/x", "/srv/data"])
def test_writing_to_a_folder_is_not(path: str) -> None:
    assert _found({"permissions": {"fs": {"write": [path]}}}) == []


SECRET = {"network": True, "secrets": {"TOKEN": None}}


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"permissions": SECRET}, "permissions.secrets"),
        ({"permissions": SECRET, "approval": {"required": False}}, "approval.required"),
    ],
)
def test_secrets_and_network_without_approval_are_a_warning(
    data: dict[str, Any], field: str
) -> None:
    assert _found(data) == [("secrets-without-approval", "warning", field)]


@pytest.mark.parametrize(
    "data",
    [
        {"permissions": SECRET, "approval": {"required": True, "reason": "x"}},
        {"permissions": SECRET, "tags": ["read"]},
        {"permissions": {**SECRET, "network": False}},
        {"permissions": {"network": True}},
    ],
)
def test_secrets_that_stay_or_are_asked_for_are_not(data: dict[str, Any]) -> None:
    assert _found(data) == []


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"who": 1}, "examples[0].params.who"),
        ({}, "examples[0].params.who"),
        ({"who": "x", "m": 1}, "examples[0].params.m"),
    ],
)
def test_an_example_that_the_tool_refuses_is_a_warning(params: dict[str, Any], field: str) -> None:
    assert _found({"examples": [{"params": params}]}) == [("example-params", "warning", field)]


def test_defaults_are_applied_to_examples() -> None:
    assert _found({"examples": [{"params": {"who": "x"}}]}) == []


def test_examples_of_yaml_tools_are_checked_too() -> None:
    assert rules("bash: echo {N}\nexamples: [{params: {N: x}}]", N="integer") == ["example-params"]
    assert rules("bash: echo {N}\nexamples: [{params: {N: 1}}]", N="integer") == []


def _output(expected: object, schema: object = None) -> list[str]:
    outputs: dict[str, Any] = {"format": "json"}
    if schema is not None:
        outputs["schema"] = schema
    example = {"params": {"who": "x"}, "expected_output": expected}
    return [rule for rule, _, _ in _found({"outputs": outputs, "examples": [example]})]


@pytest.mark.parametrize(
    "expected",
    [
        '{"a": 1}',
        "...",
        "[1, ...]",
        "[..., 1]",
        "[1, ..., 2]",
        '{"a": 1, ...}',
        '{"a": ..., "b": 2}',
        '[{"title": "..."}, ...]',
        '"a \\" ... b"',
        {"a": 1},
        None,
    ],
)
def test_json_with_gaps_is_an_output(expected: object) -> None:
    assert _output(expected) == []


@pytest.mark.parametrize("expected", ["Scan complete.", "{a: 1}", "[1", "[" * 100_000, "x ..."])
def test_text_is_no_output_of_a_tool_that_gives_json(expected: str) -> None:
    assert _output(expected) == ["example-output"]


def test_an_output_has_to_fit_its_schema() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}

    assert _output("[1]", schema) == []
    assert _output('["x"]', schema) == ["example-output"]
    # What stands for anything fits anywhere.
    assert _output('["..."]', schema) == []
    assert _output("[...]", schema) == []


def test_a_schema_that_is_none_is_left_to_loading() -> None:
    broken = {"type": "object", "properties": {"a": {"type": "nonsense"}}}
    data = {
        "examples": [{"params": {"a": 1}, "expected_output": "1"}],
        "outputs": {"format": "json", "schema": {"type": "nonsense"}},
    }
    assert _found(data, broken) == []


def test_text_needs_no_json() -> None:
    assert _found({"examples": [{"params": {"who": "x"}, "expected_output": "Done."}]}) == []
