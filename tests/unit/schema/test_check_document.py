"""The shipped schemas, and what they say about a file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tongs.core.errors import DefinitionInvalid, Problem
from tongs.schema.check import check_root
from tongs.schema.check_document import check_document, require_valid
from tongs.schema.document import parse
from tongs.schema.files import load, path_of

COMPLETE = """\
name: everything
description: Uses every key
parameters:
  A:
    type: string
    description: One
    required: true
    pattern: ^x
    true-value: -x
    false-value: ''
  B:
  C: {type: [integer, 'null'], default: 5, minimum: 0, required: false}
  D: {type: object, properties: {a: {}}, required: [a]}
platforms: [linux, macos, windows]
tags: [read, api]
uses: {config: a, configs: [b], profile: c, profiles: [d], mcp: e, mcps: [f], tool: g, tools: [h]}
with:
  config: {a: 1}
  mcps: [{name: x, command: y}]
  tools:
    - name: inner
      bash: echo
steps:
  - name: one
    bash: echo {A}
    arguments: {a: 1}
    input: text
    timeout: 5
    working-directory: ~/x
    environment: {A: "{A}", B: 1, C: true}
    continue-on-error: true
  - run: ls
    arguments: [a]
  - mcp: server
    tool: x
  - script: x
    shell: bash {0} {1}
  - python: print()
  - pwsh: x
  - cmd: x
timeout: 60000
working-directory: .
environment: {}
permissions:
  network: [a.example]
  fs: {read: [.], write: []}
  secrets: {KEY: {type: string, required: true}, OTHER: }
limits: {memory: 256MiB, processes: 64, cpu: 10s, file_size: 8MiB, open_files: 256, output: 1MiB}
approval: {required: true, reason: because}
outputs: {format: json, schema: {type: array}}
examples:
  - description: x
    params: {A: x}
    expected_output: ...
version: 1
idempotent: true
"""


@pytest.mark.parametrize("name", ["tool.yaml", "config"])
def test_a_shipped_schema_is_a_valid_schema_that_explains_every_key(name: str) -> None:
    schema = load(name)

    check_root(schema)
    assert re.fullmatch(r"urn:tongs:schema:[a-z-]+", schema["$id"])
    assert Path(path_of(name)).is_file()
    assert [path for path, node in _keys(schema, name) if not _explained(node)] == []


def _keys(node: Any, path: str) -> list[tuple[str, Any]]:
    found = []
    if isinstance(node, dict):
        for name, inner in (node.get("properties") or {}).items():
            found.append((f"{path}.{name}", inner))
            found += _keys(inner, f"{path}.{name}")
        for name, inner in node.get("$defs", {}).items():
            found += _keys(inner, f"{path}.{name}")
        found += _keys(node.get("items"), path) + _keys(node.get("additionalProperties"), path)
    return found


def _explained(node: Any) -> bool:
    return "$ref" in node or bool(node.get("description"))


def test_a_file_with_every_key_is_accepted() -> None:
    assert check_document(parse(COMPLETE.encode(), "x.yaml"), "tool.yaml") == []


def test_every_problem_has_line_field_message_and_often_a_hint() -> None:
    text = """\
name: 5
descripton: x
bash: {X}
run: true
input:
timeout: 30s
parameters:
  X:
    type: strin
    requird: true
  1X: {}
steps:
  - bash: [a]
    timeout: soon
  - foo
with:
  tools:
    - bash: x
limits: {memory: much}
permissions: {network: 5, fs: {red: []}}
tags: [1]
"""
    found = check_document(parse(text.encode(), "t.yaml"), "tool.yaml")

    types = "string, number, integer, boolean, array, object"
    assert found == [
        _problem(1, "name", "must be a string, got 5", 'to give it as text write `name: "5"`'),
        _problem(2, "descripton", "unknown key `descripton` (did you mean `description`?)"),
        _problem(
            3,
            "bash",
            'must be a string, got {"X": null}',
            "a text that starts with `{` needs quotes",
        ),
        _problem(4, "run", "must be a string, got true", 'to give it as text write `run: "true"`'),
        _problem(5, "input", "must be a string, got null", 'for an empty text write `input: ""`'),
        _problem(
            6,
            "timeout",
            'must be an integer, got "30s"',
            "this file counts in milliseconds: `timeout: 30000`",
        ),
        _problem(9, "parameters.X.type", f'must be one of {types}, got "strin"'),
        _problem(10, "parameters.X.requird", "unknown key `requird` (did you mean `required`?)"),
        _problem(
            11,
            "parameters.1X",
            "is no allowed name: it must match the pattern `^[A-Za-z_][A-Za-z0-9_-]*$`",
        ),
        _problem(
            13,
            "steps[0].bash",
            'must be a string, got ["a"]',
            "a text that starts with `[` needs quotes",
        ),
        _problem(
            14,
            "steps[0].timeout",
            'must be an integer, got "soon"',
            "give it in milliseconds, for example `timeout: 30000`",
        ),
        _problem(15, "steps[1]", 'must be an object, got "foo"'),
        _problem(18, "with.tools[0].name", "is required"),
        _problem(19, "limits.memory", 'must look like "256MiB" or "1GB", got "much"'),
        _problem(20, "permissions.network", "must be true or false or a list, got 5"),
        _problem(20, "permissions.fs.red", "unknown key `red` (did you mean `read`?)"),
        _problem(21, "tags[0]", "must be a string, got 1", 'to give it as text write `- "1"`'),
    ]


def _problem(line: int, field: str, message: str, hint: str = "") -> Problem:
    return Problem("t.yaml", message, line, field, "schema", hint=hint)


def test_a_file_that_is_no_mapping_is_refused() -> None:
    assert [str(p) for p in check_document(parse(b"- a", "t.yaml"), "tool.yaml")] == [
        't.yaml:1: the file must be an object, got ["a"]'
    ]


def test_a_checked_document_is_not_checked_again() -> None:
    document = require_valid(parse(b"bash: x", "t.yaml"), "tool.yaml")

    assert document.checked == "tool.yaml"
    assert require_valid(document, "tool.yaml") is document
    with pytest.raises(DefinitionInvalid):
        require_valid(document, "config")


@pytest.mark.parametrize(
    "host",
    [
        *("api.example.org", "API.example.org", "localhost", "my_service", "3par", "1-1"),
        *("*.example.org", "*.example.org:8443", "example.org:*", "example.org:443"),
        *("a.b-c.d:65535", "xn--bcher-kva.example", "0xyz"),
        *("192.0.2.7", "192.0.2.7:80", "[2001:db8::7]", "[::1]:8080", "[::1]:*"),
    ],
)
def test_host_of_a_list_is_a_name_or_an_address(host: str) -> None:
    tool = f"bash: x\npermissions: {{network: ['{host}']}}"
    config = (
        f"tools: {{t: {{permissions: {{network: ['{host}']}}}}}}\n"
        f"security: {{max_permissions: {{network: ['{host}']}}}}"
    )

    assert check_document(parse(tool.encode(), "x.yaml"), "tool.yaml") == []
    assert check_document(parse(config.encode(), "config.yml"), "config") == []


@pytest.mark.parametrize(
    "host",
    [
        *("", " ", "https://example.org", "example.org/path", "a b", "me@example.org", "a,b"),
        *("*", "*.", "**.example.org", "a.*.org", "*example.org", "*.0.0.1", "a..b", ".a", "-a"),
        *("a:", "a:0", "a:65536", "a:b", "a:80:81", "2001:db8::7", "[192.0.2.7]", "[::1"),
        *(
            "256.0.0.1",
            "010.0.0.1",
            "1.2.3",
            "0x7f000001",
            "127.1",
            "b\u00fccher.example",
            "a\u202e",
        ),
    ],
)
def test_what_is_no_host_is_refused_with_an_example(host: str) -> None:
    text = f'bash: x\npermissions: {{network: ["{host}"]}}'

    (problem,) = check_document(parse(text.encode(), "x.yaml"), "tool.yaml")

    assert problem.field == "permissions.network[0]"
    assert problem.message.startswith(
        'must look like "api.example.org" or "*.example.org:8443", got "'
    )


@pytest.mark.parametrize(
    ("entry", "fine"),
    [
        *((entry, True) for entry in ("localhost", "*.internal.example", "10.0.0.0/8", "::1")),
        *((entry, True) for entry in ("192.168.1.7", "[fd00::1]", "fd00::/8")),
        *((entry, False) for entry in ("localhost:8080", "http://localhost", "*", "10.0.0.0/x")),
        *((entry, False) for entry in ("localhost/8", "a b")),
    ],
)
def test_private_host_is_a_name_an_address_or_a_range(entry: str, fine: bool) -> None:
    text = f"security: {{allow_private_hosts: ['{entry}']}}"

    problems = check_document(parse(text.encode(), "config.yml"), "config")

    assert [problem.message for problem in problems] == (
        [] if fine else [f'must look like "localhost" or "10.0.0.0/8", got "{entry}"']
    )
