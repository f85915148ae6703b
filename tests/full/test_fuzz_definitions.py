"""Mutated definitions, descriptions and configs load, or are refused with file and reason.

What the linter and its mends make of them is part of it: an author meets those first.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.unit.authoring.lint_run import FORMAT

from tongs.authoring.lint import RULES, lint_document
from tongs.authoring.lint.executables import lint_description
from tongs.authoring.lint.fixes import applied, edits
from tongs.authoring.lint.loading import named
from tongs.authoring.lint.manifests import ManifestPlace, lint_manifest
from tongs.authoring.lint.sarif import sarif
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.execution import Completed
from tongs.core.tool import Origin
from tongs.formats import executable, manifest
from tongs.formats.yaml import load
from tongs.formats.yaml_steps import Host
from tongs.runtime.describing import read_description
from tongs.schema.check_document import check_document
from tongs.schema.document import Document, parse

pytestmark = pytest.mark.full

MUTANTS = 10_000
ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples" / ".tongs" / "tools"
SEED_004 = ROOT / "tests" / "acceptance" / "seed_004"
PIECES = (
    *(b"{", b"}", b"[", b"]", b": ", b"\n", b"\n  ", b"- ", b"'", b'"', b"|", b">", b"#", b"&a "),
    *(b"*a", b"!!x ", b"<<: ", b"\t", b"\r", b"\x00", b"\xff", b"\xe2\x80\xa8", b"\xef\xbb\xbf"),
    *(b"{A}", b"{RAW:A}", b"$(", b"`", b"<<'E'", b"steps:", b"bash: ", b"null", b"1e999", b"~"),
    *(b"${path}", b"${", b"$${x}", b"exec:", b"kind: ", b"command:", b"http:", b"true", b"yes"),
    *(b"...", b"-1", b"1" * 40, b"30s", b'"\\ud800"', b"properties", b"secrets: {A: }"),
)
# What executables print: the seed's own, and one with every key.
DESCRIPTIONS = (
    {
        "name": "hello",
        "description": "Say hello to a person",
        "input_schema": {
            "type": "object",
            "properties": {
                "name": {"type": "string", "description": "The name of the person"},
                "age": {"type": "integer", "description": "The age of the person"},
            },
            "required": ["name"],
        },
    },
    {
        "name": "all",
        "description": "Everything",
        "input_schema": {"type": "object", "properties": {"a": {"enum": [1, None, "x"]}}},
        "permissions": {"network": ["x.org"], "fs": {"read": ["."]}, "secrets": {"T": {}}},
        "limits": {"memory": "1GiB", "cpu": "10s"},
        "outputs": {"format": "json", "schema": {"type": "array", "items": {"type": "string"}}},
        "examples": [{"params": {"a": 1}, "expected_output": '["...", ...]'}],
        "approval": {"required": True, "reason": "Because."},
        "tags": ["read"],
        "platforms": ["linux"],
        "version": 1,
        "idempotent": True,
        "requires": ["jq", "git>=2.30"],
    },
)

Record = Callable[[str, object], None]


def mutated(data: bytes, chance: random.Random) -> bytes:
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(data) + 1)
        end = at + chance.choice((0, 0, 1, 3, 20))
        piece = chance.choice((chance.choice(PIECES), data[at : at + 30], chance.randbytes(2)))
        data = data[:at] + piece + data[end:]
    return data


def moved(data: object, chance: random.Random) -> object:
    """JSON with one of its values somewhere else: what a mutation of the text rarely gives."""
    spare = [None, True, -1, 1e300, "", "${path}", [], {}, [[{}]], {"type": "object"}, "x" * 300]
    if chance.random() < 0.2:
        return chance.choice(spare)
    if isinstance(data, dict) and data:
        key = chance.choice(list(data))
        changed = {**data, key: moved(data[key], chance)}
        if chance.random() < 0.2:
            changed[chance.choice(["type", "$ref", "allOf", "nam", "\ud800"])] = changed.pop(key)
        return changed
    if isinstance(data, list) and data:
        at = chance.randrange(len(data))
        return [*data[:at], moved(data[at], chance), *data[at + 1 :]]
    return chance.choice(spare)


def unexplained(problems: Iterable[Problem], name: str) -> list[Problem]:
    return [
        problem
        for problem in problems
        if problem.file != name or not problem.message or problem.rule not in RULES
    ]


def mended(text: bytes, document: Document | None, problems: list[Problem], schema: str) -> None:
    """Mending a text never fails, and gives a text."""
    try:
        written = text.decode()
    except UnicodeDecodeError:
        return
    applied(written, edits(written, document, problems, schema)).encode()


def test_mutated_definitions_never_break_the_reader(record_property: Record) -> None:
    chance = random.Random(20261115)
    sources = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.yaml"))]
    assert sources
    refused = 0

    for number in range(MUTANTS):
        text = mutated(chance.choice(sources), chance)
        name = f"mutant-{number}.yaml"
        document = None
        try:
            document = parse(text, name)
            check_document(document, "config")
            load(document, Origin(), Host())
        except DefinitionInvalid as invalid:
            refused += 1
            problems = named(invalid.problems)
        else:
            problems = []
        assert unexplained(problems, name) == [], text
        if document is not None:
            problems = lint_document(document, FORMAT)
            assert unexplained(problems, name) == [], text
        mended(text, document, problems, "tool.yaml")

    assert 0 < refused < MUTANTS
    record_property("mutants", MUTANTS)
    record_property("refused", refused)


def test_mutated_manifests_never_break_the_reader(record_property: Record, tmp_path: Path) -> None:
    chance = random.Random(20261116)
    files = sorted(SEED_004.glob("*/tool.yml"))
    assert len(files) == 4
    for script in ("scripts/scan_todos.sh", "tools/repo_stats.py"):
        (tmp_path / script).parent.mkdir()
        (tmp_path / script).write_text("#!/bin/sh\n")
        (tmp_path / script).chmod(0o755)
    refused = 0

    for number in range(MUTANTS):
        source = chance.choice(files)
        name = str(tmp_path / source.parent.name / "tool.yml")
        if number % 2:
            text = mutated(source.read_bytes(), chance)
        else:
            # JSON is YAML, whatever stands in its strings.
            data = moved(parse(source.read_bytes(), name).data, chance)
            text = json.dumps(data).encode()
        origin = Origin(path=name, format="manifest", project=str(tmp_path))
        place = ManifestPlace(lambda each, at=origin: manifest.load(each, at), str(tmp_path))
        document = None
        try:
            document = parse(text, name)
        except DefinitionInvalid as invalid:
            problems = named(invalid.problems)
        else:
            problems = lint_manifest(document, place)
        refused += any(problem.severity.value == "error" for problem in problems)
        assert unexplained(problems, name) == [], text
        mended(text, document, problems, "manifest")
        json.dumps(sarif(problems, str(tmp_path), "1"), ensure_ascii=False).encode()

    assert 0 < refused < MUTANTS
    record_property("mutants", MUTANTS)
    record_property("refused", refused)


def test_mutated_descriptions_never_break_the_reader(record_property: Record) -> None:
    chance = random.Random(20261117)
    refused = 0

    for number in range(MUTANTS):
        source: object = chance.choice(DESCRIPTIONS)
        if number % 2:
            printed = mutated(json.dumps(source).encode(), chance)
        else:
            printed = json.dumps(moved(source, chance)).encode()
        name = f"/mutant-{number}"
        origin = Origin(path=name, format="exec")
        completed = Completed(0, None, False, 0.0, printed, b"", printed, stdout_size=len(printed))
        problem, said = read_description(completed)
        if problem:
            refused += 1
            continue

        described = executable.Described(said)
        problems = lint_description(
            name,
            said,
            lambda it=described, at=origin: executable.load(it, at, b"", executable.Defaults()),
        )
        refused += any(each.severity.value == "error" for each in problems)
        assert unexplained(problems, name) == [], printed
        json.dumps(sarif(problems, "/", "1"), ensure_ascii=False).encode()

    assert 0 < refused < MUTANTS
    record_property("mutants", MUTANTS)
    record_property("refused", refused)
