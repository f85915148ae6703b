"""Names in braces."""

from __future__ import annotations

import pytest
from tests.unit.authoring.lint_run import findings, problems, rules, tool

from tongs.core.errors import Problem, Severity


def test_an_unknown_name_in_capitals_is_a_warning_with_the_nearest_name() -> None:
    found = problems(tool("bash: |\n  echo {CITY}\n  echo {CTIY}", CITY="string"))

    assert found == [
        Problem(
            file="t.yaml",
            line=5,
            field="bash",
            rule="unknown-placeholder",
            severity=Severity.WARNING,
            message="{CTIY} names no parameter and stays as it is",
            hint="did you mean {CITY}?",
        )
    ]


@pytest.mark.parametrize(
    "body",
    [
        "bash: echo {NOBODY}",
        "bash: echo {RAW:nobody}",
        "bash: echo {URL:nobody}",
        "run: echo {NOBODY}",
        "python: print('{NOBODY}')",
        "bash: cat\ninput: '{NOBODY}'",
        "bash: ls\nenvironment: {X: '{NOBODY}'}",
        "bash: ls\nworking-directory: ./{NOBODY}",
        "bash: echo $1\narguments: [a, '{NOBODY}']",
    ],
)
def test_unknown_names_are_found_in_every_text(body: str) -> None:
    assert rules(body) == ["unknown-placeholder"]


@pytest.mark.parametrize(
    "body",
    [
        "bash: echo ${HOME} {a,b} {1..3}",
        "bash: awk '{print}' x",
        "bash: jq '{name}' x",
        "bash: docker ps --format '{{.Names}}' '{{NAME}}'",
        "bash: curl -w '%{HTTP_CODE}' x",
        "bash: git log HEAD@{U}",
        "bash: perl -e 'print $ENV{PATH}'",
        "bash: |\n  # uses {NAME}\n  ls",
        "python: |\n  NAME = 1\n  print(f'{NAME}')",
        "bash: xargs -I {} echo {}",
        "script: ls\nshell: zsh {0} {1}",
    ],
)
def test_braces_of_other_languages_are_no_finding(body: str) -> None:
    assert rules(body) == []


def test_a_parameter_without_placeholder_is_unused() -> None:
    found = problems(tool("bash: ls", A="string"))

    assert [(p.line, p.rule, p.field, p.hint) for p in found] == [
        (5, "unused-parameter", "parameters.A", "use {A} somewhere, or remove it")
    ]


def test_a_parameter_read_as_a_variable_gets_the_right_spelling() -> None:
    found = problems(tool('bash: echo "$A"', A="string"))

    assert [p.hint for p in found] == ["write {A} instead of $A, which is not set"]


@pytest.mark.parametrize(
    "body",
    [
        "bash: echo {A}",
        "bash: echo {JSON:A}",
        "bash: echo \"$@\"\narguments: {x: '{A}'}",
        "bash: cat\ninput: '{A}'",
        "bash: ls\nenvironment: {X: '{A}'}",
        "bash: ls\nworking-directory: '{A}'",
        "bash: ls\npwsh: echo {A}",
        "tool: t\narguments: {deep: [{x: '{A}'}]}",
        "steps: [{bash: ls}, {bash: ls, environment: {X: '{A}'}}]",
    ],
)
def test_a_placeholder_in_any_text_is_a_use(body: str) -> None:
    assert "unused-parameter" not in rules(body, A="string")


@pytest.mark.parametrize("body", ["bash: 'ls # {A}'", "bash: echo '{{A}}'"])
def test_a_comment_and_an_escape_are_no_use(body: str) -> None:
    assert rules(body, A="string") == ["unused-parameter"]


def test_raw_is_a_warning_and_where_bounded_a_note() -> None:
    body = "bash: echo {RAW:A} {RAW:B} {RAW:C}"
    found = problems(tool(body, A="string", B="enum: [x]", C="pattern: '^x$'"))

    assert [(p.rule, p.severity, p.message) for p in found] == [
        ("raw", Severity.WARNING, "the value of A is inserted as it is"),
        ("raw", Severity.NOTE, "the value of B is inserted as it is, bounded by its parameter"),
        ("raw", Severity.NOTE, "the value of C is inserted as it is, bounded by its parameter"),
    ]


def test_references_to_later_unknown_and_own_steps_are_warnings() -> None:
    text = """
        description: Does it.
        tags: [run]
        steps:
          - name: one
            bash: echo {two.output} {one.output}
          - name: two
            bash: echo {one.outptu} {on.stdout} {one.exit-code}
          - bash: echo {step3.output} {step9.output} {config.output} {x.y}
        environment: {X: "{one.output}"}
        """
    assert [(p.line, p.message, p.hint) for p in problems(text)] == [
        (5, "{one.output} names a step that has not run yet", "move that step before this one"),
        (5, "{two.output} names a step that has not run yet", "move that step before this one"),
        (7, "a step has no `outptu`", "did you mean {one.output}?"),
        (7, "{on.stdout} names no step", "did you mean {one.stdout}?"),
        (8, "{step3.output} names a step that has not run yet", "move that step before this one"),
        (8, "{step9.output} names no step", "earlier steps are: one, two"),
        (9, "{one.output} names a step that has not run yet", "move that step before this one"),
    ]
    assert {rule for _, _, rule in findings(text)} == {"unknown-step"}


def test_a_dotted_name_without_steps_belongs_to_another_language() -> None:
    assert rules("bash: echo {a.output}") == []
