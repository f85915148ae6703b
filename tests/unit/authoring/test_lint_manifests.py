"""Manifests: each rule with a text that breaks it and one that does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.authoring.manifest_run import GOOD, HTTP, PYTHON, problems, project, rules

from tongs.authoring.lint import RULES
from tongs.core.errors import Severity

SECRETS = "  secrets: {TOKEN: {type: string}}\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return project(tmp_path)


@pytest.mark.parametrize("text", [GOOD, PYTHON])
def test_a_careful_manifest_has_no_findings(root: Path, text: str) -> None:
    assert rules(text, root) == []


def test_a_careful_request_has_no_findings(root: Path) -> None:
    assert rules(HTTP, root, loads=False) == []


@pytest.mark.parametrize(
    ("old", "new", "line", "rule"),
    [
        ("kind: command", "kind: python", 3, "definition"),
        ("name: scan", "name: other", 1, "definition"),
        ("${path}", "${paht}", 15, "unknown-name"),
        ("./scan.sh", "./missing.sh", 14, "missing-file"),
        ("tags: [read]", "tagz: [read]", 20, "schema"),
        ("type: string, description", "type: text, description", 9, "definition"),
        ("tags: [read]", "requires: ['jq >>']", 20, "schema"),
    ],
)
def test_what_loading_says_is_an_error_with_its_line(
    root: Path, old: str, new: str, line: int, rule: str
) -> None:
    found = [
        (p.line, p.severity, p.rule)
        for p in problems(GOOD.replace(old, new), root)
        if p.severity is Severity.ERROR
    ]

    assert found[0] == (line, Severity.ERROR, rule)


def test_every_problem_of_a_manifest_says_what_to_do_about_manifests(root: Path) -> None:
    text = GOOD.replace('default: "."', "default: 1").replace("network: false", "network: 1")

    found = problems(text, root) + problems(GOOD.replace('default: "."', "default: 1"), root)

    assert [(p.rule, "manifest" in p.hint) for p in found] == [
        ("schema", True),
        ("definition", True),
    ]


def test_a_module_that_is_not_there_is_an_error(root: Path) -> None:
    assert rules(PYTHON.replace("tools.scan", "tools.nowhere"), root) == [
        (14, "error", "missing-file")
    ]


def test_an_entrypoint_needs_the_executable_bit(root: Path) -> None:
    (root / "scan.sh").chmod(0o644)

    assert rules(GOOD, root) == [(14, "error", "not-executable")]


def test_an_entrypoint_that_is_text_needs_an_interpreter_line(root: Path) -> None:
    (root / "scan.sh").write_text("echo\n")

    assert rules(GOOD, root) == [(14, "warning", "no-interpreter-line")]


@pytest.mark.parametrize("start", [b"\x7fELF\x02", b"#!/bin/sh\n", b"ab\0"])
def test_a_program_needs_no_interpreter_line(root: Path, start: bytes) -> None:
    (root / "scan.sh").write_bytes(start)

    assert rules(GOOD, root) == []


def test_a_program_of_the_path_is_not_looked_at(root: Path) -> None:
    assert rules(GOOD.replace("./scan.sh", "grep"), root) == []


def test_a_venv_that_is_not_there_is_a_warning(root: Path) -> None:
    text = PYTHON.replace("function: run", "function: run\n    venv: .venv")
    assert rules(text, root) == [(16, "warning", "missing-venv")]

    (root / ".venv" / "bin").mkdir(parents=True)
    (root / ".venv" / "bin" / "python").write_text("")
    assert rules(text, root) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("async def run(path): ...", False),
        ("from elsewhere import run", False),
        ("from elsewhere import *", False),
        ("run = print", False),
        ("def __getattr__(name): ...", False),
        ("def other(): ...", True),
        ("def run(:", True),
        ("\0", True),
    ],
)
def test_a_function_that_its_module_lacks_is_a_warning(
    root: Path, source: str, found: bool
) -> None:
    (root / "tools" / "scan.py").write_text(source)

    assert rules(PYTHON, root) == ([(15, "warning", "missing-function")] if found else [])


def test_a_secret_in_the_arguments_is_a_warning(root: Path) -> None:
    text = GOOD.replace('["${path}"]', '["${path}", "--key=${TOKEN}"]')
    text = text.replace("approval:", SECRETS + "approval:")

    assert rules(text, root) == [(15, "warning", "secret-in-args")]


def test_a_secret_in_the_environment_or_on_stdin_is_none(root: Path) -> None:
    given = 'args: ["${path}"]\n    stdin: "${TOKEN}"'
    text = GOOD.replace('args: ["${path}"]', given).replace("approval:", SECRETS + "approval:")

    assert rules(text, root) == []


def test_an_input_that_nothing_uses_is_a_warning(root: Path) -> None:
    assert rules(GOOD.replace('["${path}"]', "[]"), root) == [(9, "warning", "unused-input")]
    assert rules(GOOD.replace("${path}", "$${path}"), root) == [(9, "warning", "unused-input")]


def test_a_secret_that_nothing_uses_is_a_warning(root: Path) -> None:
    text = GOOD.replace("approval:", SECRETS + "approval:")
    assert rules(text, root) == [(19, "warning", "unused-secret")]

    (root / "scan.sh").write_text('#!/bin/sh\ncurl -H "$TOKEN"\n')
    assert rules(text, root) == []
    # What a program of the machine reads from its environment, nobody can tell.
    assert rules(text.replace("./scan.sh", "gh"), root) == []


def test_a_request_gets_its_secrets_by_name_only(root: Path) -> None:
    approval = "approval: {required: true, reason: Sends it.}"
    text = HTTP.replace("approval: {required: false}", SECRETS + approval)

    assert rules(text, root, loads=False) == [(19, "warning", "unused-secret")]
    used = text.replace("query:", "headers: {Authorization: '${TOKEN}'}\n    query:")
    assert rules(used, root, loads=False) == []


def test_a_request_needs_only_its_host(root: Path) -> None:
    found = problems(HTTP.replace("[api.example.org]", "true"), root, loads=False)

    assert [(p.line, p.severity, p.rule, p.hint) for p in found] == [
        (17, Severity.NOTE, "wide-network", "write `network: [api.example.org]`")
    ]


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://x.org:8080/a", "x.org:8080"),
        ("https://x.org", "x.org"),
        ("https://x.org?a", "x.org"),
    ],
)
def test_the_host_is_named_with_its_port(root: Path, url: str, host: str) -> None:
    text = HTTP.replace("[api.example.org]", "true").replace("https://api.example.org/v1", url)

    (found,) = problems(text, root, loads=False)

    assert found.hint == f"write `network: [{host}]`"


def test_a_host_that_is_no_plain_name_is_left_to_loading(root: Path) -> None:
    text = HTTP.replace("[api.example.org]", "true").replace("api.example.org", "${path}")

    assert rules(text, root, loads=False) == []


def test_an_input_needs_a_description(root: Path) -> None:
    assert rules(GOOD.replace("description: Where to look., ", ""), root) == [
        (9, "note", "missing-description")
    ]


def test_inputs_should_be_closed(root: Path) -> None:
    assert rules(GOOD.replace("    additionalProperties: false\n", ""), root) == [
        (5, "note", "open-inputs")
    ]
    assert rules(GOOD.replace("Properties: false", "Properties: true"), root) == []


def test_a_manifest_should_have_examples(root: Path) -> None:
    assert rules(GOOD.partition("examples:")[0], root) == [(1, "note", "no-examples")]


@pytest.mark.parametrize(
    ("timeout", "severity"),
    [(30, "warning"), (600, "warning"), (7_200_000, "note"), (10**9, "note")],
)
def test_an_odd_timeout_is_mentioned(root: Path, timeout: int, severity: str) -> None:
    text = GOOD.replace("./scan.sh\n", f"./scan.sh\n    timeout_ms: {timeout}\n")

    assert rules(text, root) == [(15, severity, "suspicious-timeout")]


def test_an_ordinary_timeout_is_not(root: Path) -> None:
    assert rules(GOOD.replace("./scan.sh\n", "./scan.sh\n    timeout_ms: 30000\n"), root) == []


def test_not_to_be_asked_needs_a_tag(root: Path) -> None:
    assert rules(GOOD.replace("tags: [read]\n", ""), root) == [(19, "note", "no-security-tag")]
    asked = GOOD.replace("tags: [read]\n", "").replace(
        "{required: false}", "{required: true, reason: Because.}"
    )
    assert rules(asked, root) == []


def test_every_rule_that_is_found_is_in_the_table(root: Path) -> None:
    bad = GOOD.replace("./scan.sh", "./no.sh").replace("[read]", "[]").partition("examples")[0]

    assert {p.rule for p in problems(bad, root)} <= set(RULES)
