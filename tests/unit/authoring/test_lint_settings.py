"""Timeouts, environment, descriptions, tags, platforms and keys without effect."""

from __future__ import annotations

import pytest
from tests.unit.authoring.lint_run import findings, problems, rules, tool

from tongs.core.errors import Severity


@pytest.mark.parametrize("timeout", [1, 10, 30, 60, 99, 300, 600, 3600])
def test_a_timeout_that_looks_like_seconds_is_a_warning(timeout: int) -> None:
    found = problems(tool(f"bash: ls\ntimeout: {timeout}"))

    assert [(p.line, p.rule, p.severity, p.hint) for p in found] == [
        (
            4,
            "suspicious-timeout",
            Severity.WARNING,
            f"if seconds are meant: `timeout: {timeout * 1000}`",
        )
    ]


@pytest.mark.parametrize("timeout", [100, 500, 1000, 10000, 60000, 3600000])
def test_an_ordinary_timeout_is_no_finding(timeout: int) -> None:
    assert rules(f"bash: ls\ntimeout: {timeout}") == []


def test_more_than_an_hour_is_a_note() -> None:
    found = problems(tool("bash: ls\ntimeout: 7200000"))

    assert [(p.rule, p.severity, p.message) for p in found] == [
        ("suspicious-timeout", Severity.NOTE, "7200000 milliseconds are 2.0 hours")
    ]


@pytest.mark.parametrize(
    ("own", "said"),
    [("", "the tool's default of 60000"), ("timeout: 70000", "the tool's 70000")],
)
def test_a_step_cannot_outlast_its_tool(own: str, said: str) -> None:
    found = problems(tool(f"steps: [{{bash: ls, timeout: 90000}}]\n{own}"))

    assert [(p.rule, p.message) for p in found] == [
        ("suspicious-timeout", f"90000 ms is longer than {said} ms, which covers all steps")
    ]


def test_a_step_shorter_than_its_tool_is_no_finding() -> None:
    assert rules("steps: [{bash: ls, timeout: 20000}]") == []


@pytest.mark.parametrize("name", ["LD_PRELOAD", "PATH", "PYTHONPATH", "GIT_SSH_COMMAND"])
def test_a_value_in_a_variable_that_loads_code_is_an_error(name: str) -> None:
    body = f"bash: ls\nenvironment: {{{name}: '{{A}}'}}"

    assert rules(body, A="string") == ["environment-from-caller"]
    assert rules(body, A="enum: [x]") == []


def test_the_authors_own_text_in_such_a_variable_is_no_finding() -> None:
    assert rules('bash: ls\nenvironment: {PATH: "${PATH}:/x", GITHUB_TOKEN: x}') == []


def test_an_authors_bash_env_is_replaced() -> None:
    assert rules("bash: ls\nenvironment: {BASH_ENV: x}") == ["environment-name"]
    body = "steps: [{bash: ls, environment: {BASH_ENV: x}}]"
    assert rules(body) == ["environment-name"]


def test_missing_descriptions_and_tags_are_notes() -> None:
    text = """
        bash: echo {A} {B}
        parameters:
          A:
          B: {description: Yes.}
        """
    assert findings(text) == [
        (1, "note", "missing-description"),
        (1, "note", "no-security-tag"),
        (3, "note", "missing-description"),
    ]


def test_a_tool_inside_another_needs_neither() -> None:
    text = """
        description: Does it.
        tags: [run]
        tool: inner
        with:
          tools:
            - {name: inner, bash: 'ls {A} .', parameters: {A: {type: boolean}}}
        """
    assert findings(text) == [(6, "warning", "bare-boolean")]


@pytest.mark.parametrize("tags", ["[read]", "[x, write]", "[run]"])
def test_one_security_tag_is_enough(tags: str) -> None:
    assert findings(f"description: Does it.\ntags: {tags}\nbash: ls\n") == []


@pytest.mark.parametrize(
    "body",
    [
        "bash: ls",
        "script: ls\nshell: sh",
        "python: print(1)",
        "pwsh: Get-Item .",
        "cmd: dir\nplatforms: [windows]",
        "script: ls\nshell: zsh {0}",
    ],
)
def test_arguments_that_no_script_reads_are_a_warning(body: str) -> None:
    assert rules(f"{body}\narguments: {{x: 1}}") == ["arguments-unused"]


@pytest.mark.parametrize(
    "body",
    [
        'bash: ls "$@"',
        "bash: ls $1",
        "bash: ls ${1:-x}",
        "bash: ls ${@:2}",
        "bash: 'while getopts a x; do :; done'",
        "bash: ls $#",
        "python: |\n  import sys\n  print(sys.argv)",
        "python: import argparse",
        "pwsh: Get-Item $args",
        "cmd: dir %1\nplatforms: [windows]",
        "script: ls\nshell: zsh {0} {1}",
        "run: ls",
        "tool: other",
    ],
)
def test_arguments_that_are_read_are_no_finding(body: str) -> None:
    assert rules(f"{body}\narguments: {{x: 1}}") == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ("steps: [{bash: ls}]\ninput: x", "input"),
        ("steps: [{bash: ls}]\narguments: [x]", "arguments"),
        ("bash: ls\nshell: sh", "shell"),
        ("bash: ls\nmcp: x", "mcp"),
        ("steps: [{bash: ls, continue-on-error: true}]", "steps[0].continue-on-error"),
    ],
)
def test_a_key_without_effect_is_a_warning(body: str, field: str) -> None:
    assert [(p.rule, p.field) for p in problems(tool(body))] == [("ignored-key", field)]


def test_words_for_true_on_something_else_have_no_effect() -> None:
    assert rules("bash: echo {A}", A="true-value: -x") == ["ignored-key"]


def test_a_step_named_like_a_parameter_is_a_note() -> None:
    assert rules("steps: [{name: A, bash: 'echo {A}'}]", A="string") == ["step-name"]


@pytest.mark.parametrize(
    ("body", "severity"),
    [
        ("cmd: dir\nplatforms: [windows, linux]", "warning"),
        ("cmd: dir", "note"),
        ("bash: ls\ncmd: dir\nplatforms: [linux]", "warning"),
        ("bash: ls\npwsh: dir\nplatforms: [linux, macos]", "warning"),
    ],
)
def test_platforms_that_do_not_fit_the_scripts_are_found(body: str, severity: str) -> None:
    assert [(s, r) for _, s, r in findings(tool(body))] == [(severity, "platform")]


@pytest.mark.parametrize(
    "body",
    [
        "bash: ls\nplatforms: [windows, linux, macos]",
        "bash: ls\npwsh: dir",
        "bash: ls\ncmd: dir\nplatforms: [windows, linux]",
        "cmd: dir\nplatforms: [windows]",
        "pwsh: dir\nplatforms: [linux]",
    ],
)
def test_platforms_that_fit_are_no_finding(body: str) -> None:
    assert rules(body) == []
