"""Booleans, values that look like options, and values in addresses."""

from __future__ import annotations

import pytest
from tests.unit.authoring.lint_run import findings, problems, rules, tool

from tongs.core.errors import Problem, Severity


def test_a_bare_boolean_without_mapping_is_a_warning_with_the_fix() -> None:
    found = problems(tool("bash: ls {ALL} .", ALL="boolean"))

    assert found == [
        Problem(
            file="t.yaml",
            line=3,
            field="bash",
            rule="bare-boolean",
            severity=Severity.WARNING,
            message="the boolean ALL has neither `true-value` nor `false-value`",
            hint="under parameters.ALL write the option itself, for example `true-value: --all`"
            " (then nothing is inserted for false), or `false-value:`, or both",
        )
    ]


@pytest.mark.parametrize(
    "body",
    [
        "run: grep -r {A} .",
        "bash: echo $(ls {A} .)",
        "bash: |\n  if true; then\n    ls {A} .\n  fi",
        "script: ls {A} .\nshell: sh",
    ],
)
def test_a_boolean_is_found_wherever_it_is_a_word_of_a_command(body: str) -> None:
    assert rules(body, A="boolean") == ["bare-boolean"]


@pytest.mark.parametrize(
    "body",
    [
        "bash: 'if {A}; then ls; fi'",
        "bash: 'if [ {A} = true ]; then ls; fi'",
        "bash: 'if [[ {A} == true ]]; then ls; fi'",
        "bash: echo {A}",
        "bash: make VERBOSE={A}",
        "bash: FLAG={A} make",
        "bash: convert --color={A} x",
        "bash: jq -n --argjson a {A} '$a'",
        'bash: ls "{A}"',
        "python: print({A})",
        "pwsh: Get-Item -Force {A}",
        "bash: 'for i in {A}; do echo $i; done'",
    ],
)
def test_a_boolean_that_is_meant_as_a_value_is_no_finding(body: str) -> None:
    assert rules(body, A="boolean") == []


@pytest.mark.parametrize("mapping", ["true-value: -a", "false-value: -a"])
def test_one_mapping_is_enough(mapping: str) -> None:
    assert rules("bash: ls {A} .", A=f"type: boolean, {mapping}") == []


@pytest.mark.parametrize(
    ("body", "program", "names"),
    [
        ("bash: rm -rf {A}", "rm", "A"),
        ("bash: cat {A}", "cat", "A"),
        ('bash: cat "{A}"', "cat", "A"),
        ("bash: cat '{A}/x'", "cat", "A"),
        ("bash: cp {A} {B}", "cp", "A, B"),
        ("bash: sudo rm -f {A}", "rm", "A"),
        ("bash: ls | xargs -n 1 grep {A}", "grep", "A"),
        ("bash: head -n 3 {A}", "head", "A"),
        ("bash: echo $(wc -l {A})", "wc", "A"),
        ("run: wc -l {A}", "wc", "A"),
        ("run: wc -l '{A}'", "wc", "A"),
        ("run: /usr/bin/wc -l {A}", "wc", "A"),
        ("bash: LC_ALL=C ls {A}", "ls", "A"),
    ],
)
def test_a_value_that_could_pass_for_an_option_is_a_note(
    body: str, program: str, names: str
) -> None:
    types = dict.fromkeys(names.split(", "), "string")
    found = problems(tool(body, **types))

    assert [(p.rule, p.severity, p.message) for p in found] == [
        (
            "missing-end-of-options",
            Severity.NOTE,
            f"{program} gets {names} with no `--` before",
        )
    ]


@pytest.mark.parametrize(
    ("body", "program"),
    [
        ("bash: ssh {A} uptime", "ssh"),
        ("bash: ssh -p 22 '{A}@host' uptime", "ssh"),
        ("bash: sudo ssh {A} uptime", "ssh"),
        ("run: ssh {A} uptime", "ssh"),
        ("bash: git checkout {A}", "git"),
        ("bash: git grep {A}", "git"),
        ("bash: tar xf x.tar {A}", "tar"),
        ("bash: rsync -av {A} /tmp", "rsync"),
        ("bash: sed -n 1p {A}", "sed"),
        ("bash: sed -e s/a/b/ {A}", "sed"),
        ("bash: LC_ALL=C sort {A}", "sort"),
        ("bash: python3.11 {A}", "python"),
        ("bash: perl -w {A}", "perl"),
        ("bash: node {A} x", "node"),
        ("bash: bash {A}", "bash"),
        ("bash: find {A} -type f", "find"),
        ("bash: find . {A} -type f", "find"),
        ("bash: make {A}", "make"),
    ],
)
def test_where_an_option_can_run_a_program_the_note_says_what_is_refused(
    body: str, program: str
) -> None:
    found = problems(tool(body, A="string"))

    assert [(p.rule, p.severity, p.message) for p in found] == [
        (
            "missing-end-of-options",
            Severity.NOTE,
            f"{program} gets A with no `--` before; a value that begins with `-` is refused",
        )
    ]


@pytest.mark.parametrize(
    "body",
    [
        "bash: ssh -- {A} uptime",
        "bash: ssh -l {A} host uptime",
        "bash: ssh -p 22 host cat < {A}",
        "bash: tar xf {A}",
        "bash: sed -i s/a/b/ -- {A}",
        "bash: python3 x.py {A}",
        "bash: python3 -m http.server {A}",
        "bash: python3 -c 'import sys' {A}",
        "bash: perl -w x.pl {A}",
        "bash: bash x.sh {A}",
        "bash: find . -name {A}",
        "bash: find ./{A} -type f",
        "bash: make -C {A} all",
    ],
)
def test_where_no_option_is_read_it_is_none(body: str) -> None:
    assert rules(body, A="string") == []


@pytest.mark.parametrize(
    "body",
    [
        "bash: rm -rf -- {A}",
        "bash: cat < {A}",
        "bash: ls > {A}",
        "bash: cat <<< {A}",
        "bash: ls --sort={A}",
        "bash: curl -o {A} x",
        "bash: tool --file {A}",
        "bash: grep -e {A} x",
        "bash: head -n {A} x",
        "bash: grep -rC {A} x",
        'bash: cat "./{A}"',
        "bash: cat ./{A}",
        "bash: X={A} make",
        "bash: echo {A}",
        "bash: printf '%s\\n' {A}",
        "bash: cd {A}",
        "bash: bash -c 'echo \"$1\"' _ {A}",
        "bash: jq --arg a {A} '$a' x.json",
        "bash: awk -v a={A} '{print a}' x",
        "bash: '[ -n {A} ]'",
        "bash: 'for i in {A}; do echo $i; done'",
        "bash: 'case {A} in x) ls;; esac'",
        "bash: sudo -u {A} id",
        "run: cat -- {A}",
        "run: rm ./{A}",
        "python: print({A})",
        "bash: 'ls # {A}'\ninput: '{A}'",
    ],
)
def test_a_value_that_is_no_argument_of_its_own_is_no_finding(body: str) -> None:
    assert rules(body, A="string") == []


@pytest.mark.parametrize(
    "keywords",
    [
        "type: integer",
        "enum: [a, b]",
        "pattern: '^[a-z]+$'",
        "pattern: '^\\w'",
        "type: boolean, true-value: -x",
    ],
)
def test_a_value_that_cannot_start_with_a_dash_is_no_finding(keywords: str) -> None:
    assert rules("bash: cat {A}", A=keywords) == []


def test_a_pattern_that_allows_a_dash_in_front_does_not_help() -> None:
    assert rules("bash: cat {A}", A="pattern: '^[a-z-]+$'") == ["missing-end-of-options"]


@pytest.mark.parametrize(
    "body",
    [
        "bash: curl -s 'https://example.org/{A}'",
        "bash: curl -s https://example.org/x?q={A}",
        "bash: curl -s wttr.in/{A}",
        "bash: curl -s 'localhost:8080/{A}'",
        "bash: wget -q example.org/x?q={A}",
        "run: curl -s https://example.org/x/{A}",
        "python: |\n  import urllib.request as r\n  r.urlopen('http://example.org/{A}')",
        "bash: ls\nenvironment: {ADDRESS: 'https://example.org/{A}'}",
    ],
)
def test_a_text_inside_an_address_needs_encoding(body: str) -> None:
    assert rules(body, A="string") == ["url-without-encoding"]


@pytest.mark.parametrize(
    "body",
    [
        "bash: curl -s 'https://example.org/{URL:A}'",
        "bash: curl -s https://{A}/x",
        "bash: 'curl -s -- {A}'",
        'bash: curl -s "{A}/x" --',
        "bash: curl -sG --data-urlencode q={A} https://example.org/",
        "bash: echo 'see https://example.org/ for {A}'",
        "bash: ls -- a.b/{A}",
    ],
)
def test_a_value_outside_of_path_and_query_needs_no_encoding(body: str) -> None:
    assert "url-without-encoding" not in rules(body, A="string")


@pytest.mark.parametrize("keywords", ["type: integer", "enum: [a]", "pattern: '^[a-z0-9-]+$'"])
def test_a_value_that_is_safe_in_an_address_needs_no_encoding(keywords: str) -> None:
    assert rules("bash: curl -s https://example.org/{A}", A=keywords) == []


def test_one_finding_for_each_address_names_all_values() -> None:
    text = tool("bash: curl -s 'https://x.org/{A}?b={B}' https://y.org/{A}", A="string", B="string")

    assert [problem.message for problem in problems(text)] == [
        "A goes into an address as written",
        "A, B go into an address as written",
    ]


def test_lines_are_those_of_the_script() -> None:
    text = """
        description: Does it.
        tags: [run]
        bash: |
          ls
          cat {A}
          ls {B}
        parameters:
          A: {description: One.}
          B: {description: Two., type: boolean}
        """
    assert findings(text) == [
        (5, "note", "missing-end-of-options"),
        (6, "warning", "bare-boolean"),
    ]
