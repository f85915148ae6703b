"""The required cases of the JSON Schema Test Suite, draft 2020-12, through our own entry point.

`make test-full` fetches the suite. Nothing is left out: a case that Tongs answers otherwise on
purpose is listed here with its reason, and the test asserts that very answer.
"""

from __future__ import annotations

import json
import socket
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tongs.schema.check import Invalid, SchemaInvalid, validated, violations, with_defaults
from tongs.schema.quick import certainly_valid

pytestmark = pytest.mark.full

SUITE = Path(__file__).resolve().parents[2] / ".suites" / "json-schema"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
SERVER = "http://localhost:1234/"

CASES = 1257

# A `$ref` into another document is refused, so that reading a tool never opens a connection. Who
# needs such a document embeds it under `$defs`, and then every one of these cases holds.
REMOTE = {"dynamicRef.json": 13, "refRemote.json": 31}

# A dialect of somebody's own cannot be read without fetching it, so it is refused.
OWN_DIALECT = {"vocabulary.json": 5}

# The suite asks that a default is never filled in; `validated` exists to fill it in. These values
# are valid as they are, and their schema's default is not.
BROKEN_DEFAULT = {
    ("invalid type for default", "still valid when the invalid default is used"),
    ("invalid string value for default", "still valid when the invalid default is used"),
    (
        "the default keyword does not do anything if the property is missing",
        "missing properties are not filled in with the default",
    ),
}

Record = Callable[[str, object], None]


@dataclass(frozen=True)
class Case:
    file: str
    group: str
    name: str
    schema: Any
    value: Any
    valid: bool


@cache
def suite() -> tuple[Case, ...]:
    files = sorted((SUITE / "tests" / "draft2020-12").glob("*.json"))
    assert files, "the suite is not here; hint: make suites"
    return tuple(
        Case(file.name, group["description"], test["description"], group["schema"], **its(test))
        for file in files
        for group in json.loads(file.read_bytes())
        for test in group["tests"]
    )


def its(test: dict[str, Any]) -> dict[str, Any]:
    return {"value": test["data"], "valid": test["valid"]}


def refused(case: Case) -> str:
    """Why the schema is refused, or nothing."""
    try:
        violations(case.schema, case.value)
    except SchemaInvalid as error:
        return error.message
    return ""


def accepted() -> Iterator[Case]:
    """The cases whose schema Tongs takes, those with remote documents in their embedded form."""
    for case in suite():
        if case.file in OWN_DIALECT:
            continue
        yield Case(**{**vars(case), "schema": whole(json.dumps(case.schema))})


@cache
def whole(text: str) -> Any:
    """The schema with every document it asks for embedded, as the error tells its author."""
    schema = json.loads(text)
    while True:
        try:
            violations(schema, None)
        except SchemaInvalid as error:
            schema = embedding(schema, error.message.rpartition(": ")[2])
        else:
            return schema


def embedding(schema: Any, reference: str) -> Any:
    uri = reference.partition("#")[0]
    assert uri.startswith(SERVER)
    assert uri not in schema.get("$defs", {}), "embedding it did not help"
    document = json.loads((SUITE / "remotes" / uri.removeprefix(SERVER)).read_bytes())
    named = document.get("$id", uri)
    embedded = {uri: {"$id": uri, **document}}
    if named != uri:
        # It says another name for itself than the one it is asked for by.
        embedded = {uri: {"$id": uri, "$ref": named}, named: document}
    return {**schema, "$defs": {**schema.get("$defs", {}), **embedded}}


def answer(schema: Any, value: Any) -> bool:
    try:
        validated(schema, value)
    except Invalid:
        return False
    return True


def test_every_required_case_gives_the_answer_of_the_suite(record_property: Record) -> None:
    cases = list(accepted())

    wrong = [case for case in cases if (not violations(case.schema, case.value)) != case.valid]

    assert wrong == []
    assert len(suite()) == CASES
    assert len(cases) == CASES - sum(OWN_DIALECT.values())
    record_property("cases", len(cases))
    record_property("wrong", 0)
    record_property("dialects refused", sum(OWN_DIALECT.values()))


def test_arguments_with_defaults_differ_only_where_a_default_breaks_its_own_schema() -> None:
    differing = {
        (case.group, case.name)
        for case in accepted()
        if answer(case.schema, case.value) != case.valid
    }

    assert differing == BROKEN_DEFAULT
    for case in accepted():
        if (case.group, case.name) in BROKEN_DEFAULT:
            assert violations(case.schema, with_defaults(case.schema, case.value)), case


def test_the_quick_answer_never_contradicts_the_suite(record_property: Record) -> None:
    quick = Counter[bool]()
    for case in suite():
        # The quick check knows no `$schema`, which every case of the suite carries.
        schema = case.schema
        if isinstance(schema, dict) and schema.get("$schema") == DIALECT:
            schema = {key: rule for key, rule in schema.items() if key != "$schema"}

        certain = certainly_valid(schema, case.value)

        assert not certain or case.valid, case
        quick[certain] += 1

    assert quick[True] > 0
    record_property("answered quickly", quick[True])


def test_a_foreign_document_is_refused_and_nothing_connects(record_property: Record) -> None:
    counted = Counter[str]()
    with socket.create_server(("localhost", 0)) as server:
        server.setblocking(False)
        here = f"http://localhost:{server.getsockname()[1]}/"
        for case in suite():
            schema = json.loads(json.dumps(case.schema).replace(SERVER, here))
            message = refused(Case(**{**vars(case), "schema": schema}))
            if message.startswith(f"a `$ref` may only point into the schema itself: {here}"):
                counted[case.file] += 1
            elif message:
                assert message.startswith("`$schema` may only name"), case
                assert here in message
        with pytest.raises(BlockingIOError):
            server.accept()

    assert counted == REMOTE
    record_property("cases", sum(counted.values()))
    record_property("connections", 0)


def test_a_dialect_of_somebodys_own_is_refused() -> None:
    counted = Counter(
        case.file for case in suite() if refused(case).startswith("`$schema` may only name")
    )

    assert counted == OWN_DIALECT
