"""Definitions side by side."""

from __future__ import annotations

from tests.unit.authoring.lint_run import FORMAT

from tongs.authoring.lint.names import check_calls, check_names
from tongs.authoring.lint.view import definitions
from tongs.core.errors import Problem
from tongs.core.scope import Scope
from tongs.registry import Entry
from tongs.schema.document import parse


def _names(*entries: Entry) -> list[tuple[str, str, str]]:
    return [(p.file, p.severity.value, p.rule) for p in check_names(entries, {})]


def _calls(texts: dict[str, str], known: frozenset[str] = frozenset()) -> list[Problem]:
    documents = {name: parse(text.encode(), f"{name}.yaml") for name, text in texts.items()}
    views = [
        (name, view)
        for name, document in documents.items()
        for view in definitions(document, FORMAT)
    ]
    return list(check_calls(views, known | frozenset(texts)))


def test_two_definitions_of_one_name_in_one_scope_are_errors_in_both() -> None:
    assert _names(Entry("x", path="/a/one.yaml"), Entry("x", path="/a/two.yaml")) == [
        ("/a/one.yaml", "error", "duplicate-name"),
        ("/a/two.yaml", "error", "duplicate-name"),
    ]


def test_one_stem_with_both_endings_is_an_error_of_its_own() -> None:
    assert _names(Entry("x", path="/a/x.yaml"), Entry("x", path="/a/x.yml")) == [
        ("/a/x.yaml", "error", "duplicate-file"),
        ("/a/x.yml", "error", "duplicate-file"),
    ]


def test_a_hidden_tool_is_a_note() -> None:
    near = Entry("x", path="/a/x.yaml")
    far = Entry("x", path="/u/x.yaml", scope=Scope.USER)

    assert _names(near, far) == [("/u/x.yaml", "note", "shadowed-tool")]


def test_a_built_in_name_is_a_warning_and_names_the_qualified_one() -> None:
    entry = Entry("shell", path="/a/shell.yaml")
    document = parse(b"description: x\nname: shell\nbash: ls\n", entry.path)

    assert [(p.line, p.rule, p.hint) for p in check_names([entry], {entry.path: document})] == [
        (2, "reserved-name", "choose another name, or call it as yaml:shell")
    ]


def test_a_tool_that_does_not_exist_is_a_warning() -> None:
    found = _calls({"a": "tool: weathr\n"}, frozenset({"weather"}))

    assert [(p.rule, p.hint) for p in found] == [("unknown-tool", "did you mean `weather`?")]


def test_private_qualified_and_server_tools_are_known() -> None:
    texts = {
        "a": "tool: inner\nwith: {tools: [{name: inner, bash: ls}]}\n",
        "b": "tool: yaml:a\n",
        "c": "tool: anything\nmcp: server\n",
    }
    assert _calls(texts) == []


def test_a_circle_of_calls_is_an_error_in_each_of_them() -> None:
    texts = {"a": "tool: yaml:b\n", "b": "steps: [{tool: c}]\n", "c": "tool: a\n", "d": "tool: a\n"}

    assert [(p.rule, p.message) for p in _calls(texts)] == [
        ("tool-cycle", "a calls itself: a > b > c > a"),
        ("tool-cycle", "b calls itself: b > c > a > b"),
        ("tool-cycle", "c calls itself: c > a > b > c"),
    ]


def test_a_private_tool_that_calls_the_one_around_it_is_a_circle() -> None:
    found = _calls({"a": "tool: x\nwith: {tools: [{name: x, tool: a}]}\n"})

    assert [(p.field, p.rule) for p in found] == [("with.tools[0].tool", "tool-cycle")]


def test_names_in_uses_must_exist_too() -> None:
    found = _calls({"a": "bash: ls\nuses: {tool: x, tools: [a, y]}\n"})

    assert [(p.field, p.rule) for p in found] == [
        ("uses.tool", "unknown-tool"),
        ("uses.tools[1]", "unknown-tool"),
    ]
