"""What can be mended by itself, and what is left alone."""

from __future__ import annotations

import pytest

from tongs.authoring.lint.fixes import Edit, applied, edits, positions, rank
from tongs.authoring.lint.loading import named
from tongs.core.errors import DefinitionInvalid, Problem, Severity
from tongs.schema.document import parse


def _mended(text: str, schema: str = "tool.yaml") -> str:
    try:
        document, problems = parse(text.encode(), "t.yaml"), []
    except DefinitionInvalid as invalid:
        document, problems = None, named(invalid.problems)
    return applied(text, edits(text, document, problems, schema))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("timeout: 30s  # half a minute\n", "timeout: 30000  # half a minute\n"),
        ('timeout: "1m30s"\n', "timeout: 90000\n"),
        ("timeout: '500'\n", "timeout: 500\n"),
        ("steps: [{bash: ls, timeout: 2s}]\n", "steps: [{bash: ls, timeout: 2000}]\n"),
        ("description: 1.10\n", 'description: "1.10"\n'),
        ("bash: true # nothing\n", 'bash: "true" # nothing\n'),
        ("environment: {A: ls}\nrun: 0x1F\n", 'environment: {A: ls}\nrun: "0x1F"\n'),
        ('approval: {required: "true", reason: x}\n', "approval: {required: true, reason: x}\n"),
        ("permissions:\n  network: off\n", "permissions:\n  network: false\n"),
        ("approval: {required: Yes, reason: x}\n", "approval: {required: true, reason: x}\n"),
        ("tags:\n  - 1\n  # why\n  - x\n", 'tags:\n  - "1"\n  # why\n  - x\n'),
        ("# é\ndescription: é\ntimeout: 1s\n", "# é\ndescription: é\ntimeout: 1000\n"),
        ("description: x\r\ntimeout: 1s\r\n", "description: x\r\ntimeout: 1000\r\n"),
    ],
)
def test_a_value_of_the_wrong_type_is_written_as_what_it_was_meant_to_be(
    before: str, after: str
) -> None:
    assert _mended(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "timeout: soon\n",
        "timeout: [1]\n",
        "description: {a: 1}\n",
        "description:\n",
        "tagz: [read]\n",
        "approval: {required: maybe}\n",
        "permissions: {network: 1}\n",
        "bash: ls\n",
        "a: &x 30s\ntimeout: *x\n",
    ],
)
def test_what_would_be_a_guess_is_left_alone(text: str) -> None:
    assert _mended(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("kind: http # odd\nexec:\n  command: {}\n", "kind: command # odd\nexec:\n  command: {}\n"),
        ("exec: {python: {}}\nkind: 'cmd'\n", "exec: {python: {}}\nkind: python\n"),
        (
            "exec: {http: {timeout_ms: 5s}}\nkind: http\n",
            "exec: {http: {timeout_ms: 5000}}\nkind: http\n",
        ),
    ],
)
def test_the_kind_of_a_manifest_is_what_it_executes(before: str, after: str) -> None:
    assert _mended(before, "manifest") == after


@pytest.mark.parametrize(
    "text",
    [
        "kind: http\nexec: {http: {}, command: {}}\n",
        "kind: http\nexec: {nonsense: {}}\n",
        "kind: http\nexec: []\n",
        "exec: {http: {}}\n",
        "- kind\n",
    ],
)
def test_a_kind_that_could_be_either_is_left_alone(text: str) -> None:
    assert _mended(text, "manifest") == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("bash: echo a: b\ntags: [read]\n", "bash: |\n  echo a: b\ntags: [read]\n"),
        (
            "steps:\n  - name: x\n    bash: echo 'a: b' | jq '{c: d}'\n\n  - bash: ls\n",
            "steps:\n  - name: x\n    bash: |\n      echo 'a: b' | jq '{c: d}'\n\n  - bash: ls\n",
        ),
        ("steps:\n  - bash: echo a: b\n", "steps:\n  - bash: |\n      echo a: b\n"),
        ("bash: echo a: b\r\ntags: [x]\r\n", "bash: |\r\n  echo a: b\r\ntags: [x]\r\n"),
        ("bash: echo a: b", "bash: |\n  echo a: b"),
    ],
)
def test_a_text_with_a_colon_becomes_a_block(before: str, after: str) -> None:
    assert _mended(before) == after
    assert parse(after.encode(), "t.yaml").data


@pytest.mark.parametrize("text", ["bash: echo a: b # why\n", "bash: echo a: b\n  and more\n"])
def test_a_block_that_would_swallow_something_is_not_made(text: str) -> None:
    assert _mended(text) == text


def test_every_value_is_found_where_it_stands() -> None:
    text = "a: é\nb: [1, 'x', {c: d}]\n? e\n: f\nempty:\n"

    found = {path: text[at.start : at.end] for path, at in positions(text).items()}

    assert found == {
        ("a",): "é",
        ("b", 0): "1",
        ("b", 1): "'x'",
        ("b", 2, "c"): "d",
        ("e",): "f",
        ("empty",): "",
    }


def test_overlapping_changes_are_not_both_made() -> None:
    changes = [Edit(0, 3, "x", 1, ""), Edit(2, 4, "y", 1, ""), Edit(4, 5, "z", 1, "")]

    assert applied("abcde", changes) == "abyz"


def test_a_file_is_better_the_further_it_gets() -> None:
    def of(*rules: str) -> tuple[int, int, int]:
        return rank([Problem("f", "m", rule=rule) for rule in rules])

    assert of() < of("definition", "template") < of("schema") < of("yaml") < of("yaml", "yaml")
    assert rank([Problem("f", "m", rule="raw", severity=Severity.WARNING)]) == of()
