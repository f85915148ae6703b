"""The schemas that ship are schemas, and what we show to people fits them."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest

from tongs.schema.check import violations
from tongs.schema.check_document import check_document
from tongs.schema.document import parse
from tongs.schema.files import load, path_of
from tongs.surfaces.cli.schema import SCHEMAS

ROOT = Path(__file__).parents[3]
NAMES = [file for file, _ in SCHEMAS.values()]
MANIFESTS = sorted(ROOT.glob("tests/acceptance/seed_004/*/tool.yml")) + sorted(
    ROOT.glob("examples/**/tool.yml")
)
EXECUTABLES = sorted(ROOT.glob("examples/executables/*"))
YAML_TOOLS = sorted(ROOT.glob("examples/.tongs/tools/*.yaml"))


def _inside(schema: Any) -> list[dict[str, Any]]:
    """Every schema within a schema."""
    if isinstance(schema, list):
        return [inner for each in schema for inner in _inside(each)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(inner for each in schema.values() for inner in _inside(each))]


def test_every_schema_file_has_a_name_of_its_own() -> None:
    shipped = {path.name for path in Path(path_of("config")).parent.glob("*.schema.json")}

    assert shipped == {f"{name}.schema.json" for name in NAMES}


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_schema_is_a_schema(name: str) -> None:
    schema = load(name)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema_rs.meta.validate(schema)
    jsonschema_rs.Draft202012Validator(schema)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_of_a_shipped_schema_says_what_it_is(name: str) -> None:
    top = load(name)["properties"]

    assert [key for key, entry in top.items() if not ({"description", "$ref"} & set(entry))] == []


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_in_a_shipped_schema_fit_it(name: str) -> None:
    schema = load(name)
    for inner in _inside(schema):
        examples = inner.get("examples")
        if not isinstance(examples, list):
            continue
        validator = jsonschema_rs.Draft202012Validator({**inner, "$defs": schema.get("$defs", {})})
        assert [example for example in examples if not validator.is_valid(example)] == []


def test_a_server_has_the_same_keys_wherever_it_is_written() -> None:
    config, tool, alone = (load(name) for name in ("config", "tool.yaml", "server"))
    inside, inline = config["$defs"]["server"], tool["$defs"]["server"]

    for key in ("properties", "if", "then", "else", "additionalProperties"):
        assert alone[key] == inside[key]
    named = {**inside["properties"], "name": inline["properties"]["name"]}
    assert inline["properties"] == named
    for name in ("permissions", "limits", "serverTool"):
        assert alone["$defs"][name] == config["$defs"][name]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.parent.name)
def test_a_manifest_that_we_show_fits_the_schema(file: Path) -> None:
    assert check_document(parse(file.read_bytes(), str(file)), "manifest") == []


@pytest.mark.parametrize("file", YAML_TOOLS, ids=lambda file: file.stem)
def test_a_yaml_tool_that_we_show_fits_the_schema(file: Path) -> None:
    assert check_document(parse(file.read_bytes(), str(file)), "tool.yaml") == []


def _blocks() -> list[tuple[str, str, str]]:
    """Definitions and config files printed in the documents."""
    found = []
    for page in (*sorted(ROOT.glob("docs/**/*.md")), ROOT / "README.md"):
        for text in re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
            keys = set(re.findall(r"^([\w-]+):", text, re.MULTILINE))
            if {"kind", "exec"} <= keys:
                found.append((page.name, text, "manifest"))
            elif "description" in keys and keys & {"bash", "run", "python", "script", "steps"}:
                found.append((page.name, text, "tool.yaml"))
            elif keys and keys <= set(load("config")["properties"]):
                found.append((page.name, text, "config"))
    return found


def test_what_the_documents_show_fits_the_schemas() -> None:
    blocks = _blocks()
    assert {schema for _, _, schema in blocks} >= {"tool.yaml", "config"}

    wrong = [
        (page, str(problem))
        for page, text, schema in blocks
        for problem in check_document(parse(text.encode(), page), schema)
    ]

    assert wrong == []


def test_a_description_of_the_seed_fits_the_schema() -> None:
    said = json.loads(
        """{"name": "hello", "description": "Say hello to a person", "input_schema": {
            "type": "object", "required": ["name"], "properties": {
            "name": {"type": "string", "description": "The name of the person"},
            "age": {"type": "integer", "description": "The age of the person"}}}}"""
    )
    assert jsonschema_rs.Draft202012Validator(load("description")).is_valid(said)


@pytest.mark.parametrize("file", EXECUTABLES, ids=lambda file: file.name)
def test_an_executable_that_we_show_describes_itself(file: Path) -> None:
    done = subprocess.run([file, "description"], capture_output=True, check=True, timeout=30)

    assert violations(load("description"), json.loads(done.stdout)) == []
