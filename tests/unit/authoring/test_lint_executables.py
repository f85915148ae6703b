"""What executables say of themselves."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.authoring.lint.executables import lint_description, not_asked, not_executable
from tongs.core.tool import Origin
from tongs.formats.executable import Defaults, Described, load

GOOD: dict[str, Any] = {
    "name": "hello",
    "description": "Say hello.",
    "input_schema": {
        "type": "object",
        "properties": {"name": {"type": "string", "description": "Whom."}},
    },
}


def _found(said: dict[str, Any], path: str = "/t/hello") -> list[tuple[str, str, str]]:
    origin = Origin(path=path, format="exec")
    problems = lint_description(path, said, lambda: load(Described(said), origin, b"", Defaults()))
    return [(p.rule, p.severity.value, p.field) for p in problems]


@pytest.mark.parametrize("path", ["/t/hello", "/t/hello.py"])
def test_a_careful_description_has_no_findings(path: str) -> None:
    assert _found(GOOD, path) == []


def test_a_name_that_differs_from_the_file_is_a_warning() -> None:
    assert _found(GOOD, "/t/greet") == [("name-differs", "warning", "name")]


def test_an_unknown_key_is_a_warning_if_another_was_meant_else_a_note() -> None:
    assert _found({**GOOD, "permission": {}, "colour": "red"}) == [
        ("ignored-key", "warning", "permission"),
        ("ignored-key", "note", "colour"),
    ]


def test_a_parameter_needs_a_description() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}, "b": True}}

    assert _found({**GOOD, "input_schema": schema}) == [
        ("missing-description", "note", "input_schema.properties.a"),
        ("missing-description", "note", "input_schema.properties.b"),
    ]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"input_schema": {"type": "array"}}, "input_schema"),
        ({"input_schema": {"type": "object", "properties": {"a": {"type": "x"}}}}, None),
        ({"description": ""}, "description"),
        ({"name": "a b"}, "name"),
        ({"requires": ["jq >>"]}, "requires[0]"),
    ],
)
def test_what_is_no_description_is_an_error(change: dict[str, Any], field: str | None) -> None:
    ((rule, severity, where),) = _found({**GOOD, **change})

    assert (rule, severity) == ("description", "error")
    assert field is None or where == f"description.{field}"


def test_the_shared_keys_are_checked() -> None:
    said = {**GOOD, "permissions": {"fs": {"write": ["."]}}, "examples": [{"params": {"name": 1}}]}

    assert [rule for rule, _, _ in _found(said)] == ["wide-write", "example-params"]


def test_files_that_are_not_run_are_mentioned() -> None:
    assert [
        (p.rule, p.severity.value, bool(p.hint)) for p in (not_asked("a"), not_executable("a"))
    ] == [
        ("not-asked", "note", True),
        ("no-executable-bit", "warning", True),
    ]
