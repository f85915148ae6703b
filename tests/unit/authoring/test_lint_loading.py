"""What makes a definition unusable, under the linter's names."""

from __future__ import annotations

import pytest
from tests.unit.authoring.lint_run import findings, problems, rules, tool

from tongs.authoring.lint import RULES
from tongs.authoring.lint.loading import named
from tongs.core.errors import DefinitionInvalid, Severity
from tongs.schema.document import parse


def test_every_second_interpreter_of_a_script_is_reported() -> None:
    body = "bash: |\n  awk '{A}' x\n  ls\n  sed '{B}' x\n  bash -c 'echo {A}'"

    assert findings(tool(body, A="string", B="string")) == [
        (4, "error", "second-interpreter"),
        (6, "error", "second-interpreter"),
        (7, "error", "second-interpreter"),
    ]


def test_a_refused_definition_is_still_checked_for_the_rest() -> None:
    assert rules("bash: |\n  {A} x\n  ls {B} .", A="string", B="boolean") == [
        "program-name",
        "bare-boolean",
    ]


@pytest.mark.parametrize(
    ("body", "rule"),
    [
        ("bash: ls\nnonsense: 1", "schema"),
        ("bash: ls\npython: pass", "definition"),
        ("bash: echo '{A}", "shell-syntax"),
        ("script: echo {A}\nshell: zsh {0}", "unknown-shell"),
        ("script: echo {L}\nshell: sh", "array-in-sh"),
    ],
)
def test_every_way_to_be_unusable_is_an_error_with_a_fix(body: str, rule: str) -> None:
    types = {
        name: kind for name, kind in (("A", "string"), ("L", "array")) if f"{{{name}}}" in body
    }
    found = problems(tool(body, **types))

    assert [(p.rule, p.severity, bool(p.hint)) for p in found] == [(rule, Severity.ERROR, True)]


def test_raw_in_a_read_tool_is_an_error_beside_the_warning() -> None:
    text = tool("bash: echo {RAW:A}", A="string").replace("[run]", "[read]")

    assert findings(text) == [(2, "error", "raw-in-read-tool"), (3, "warning", "raw")]


def test_the_colon_trap_has_a_name_of_its_own() -> None:
    with pytest.raises(DefinitionInvalid) as caught:
        parse(b"bash: echo a: b\npython: [\n", "t.yaml")

    assert [p.rule for p in named(caught.value.problems)] == ["colon-trap", "yaml"]


def test_every_rule_says_what_it_finds_why_and_what_to_do() -> None:
    incomplete = [
        name
        for name, rule in RULES.items()
        if not (rule.finds and rule.why and rule.fix) or rule.why.endswith(".")
    ]
    assert incomplete == []
