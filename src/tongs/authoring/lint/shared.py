"""The keys that mean the same in every shape: permissions, approval, examples, inputs."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterator, Mapping

from tongs.authoring.lint.rules import RULES
from tongs.core.annotations import Any
from tongs.core.errors import Problem, Severity
from tongs.core.record import dataclass
from tongs.schema.check import SchemaInvalid, check_schema, violations, with_defaults
from tongs.schema.document import Document, PathTuple, field_name

# `[1, ...]` and `{"a": 1, ...}`: what may follow, outside of any string.
_STRING_OR_DOTS = re.compile(r'"(?:[^"\\]|\\.)*"|[,:]?\s{0,99}\.\.\.\s{0,99},?')
_ANYTHING = "..."


@dataclass(frozen=True, slots=True)
class Declared:
    """One tool of any shape. `document` gives the lines; what an executable prints has none."""

    file: str
    data: Mapping[str, Any]
    inputs: Mapping[str, Any]
    document: Document | None = None

    def finding(
        self,
        rule: str,
        path: PathTuple,
        message: str,
        *,
        fix: str = "",
        severity: Severity | None = None,
    ) -> Problem:
        """A Problem at `path` with what its rule says."""
        return Problem(
            file=self.file,
            message=message,
            line=0 if self.document is None else self.document.line_of(path),
            field=field_name(path),
            rule=rule,
            severity=severity or RULES[rule].severity,
            hint=fix or RULES[rule].fix,
        )

    @property
    def permissions(self) -> Mapping[str, Any]:
        return self.data.get("permissions") or {}

    @property
    def secrets(self) -> Mapping[str, Any]:
        return self.permissions.get("secrets") or {}

    @property
    def properties(self) -> Mapping[str, Any]:
        """The inputs by name, as far as they are schemas."""
        found = self.inputs.get("properties")
        return found if isinstance(found, Mapping) else {}


def shared_problems(declared: Declared) -> Iterator[Problem]:
    """What is odd about the keys that every shape knows."""
    yield from wide_permissions(declared)
    yield from unasked_secrets(declared)
    for number, example in enumerate(declared.data.get("examples") or ()):
        yield from _params(declared, number, example)
        yield from _output(declared, number, example)


def wide_permissions(declared: Declared) -> Iterator[Problem]:
    written = (declared.permissions.get("fs") or {}).get("write") or ()
    for number, path in enumerate(written):
        where = ("permissions", "fs", "write", number)
        plain = os.path.normpath(path)
        if plain == ".":
            message = "every file of the project may be changed"
            yield declared.finding("wide-write", where, message)
        elif plain in ("/", "//", "~") or plain.split("/")[0] == "..":
            message = f"`{path}` reaches beyond the project"
            yield declared.finding("wide-write", where, message, severity=Severity.WARNING)


def unasked_secrets(declared: Declared) -> Iterator[Problem]:
    """A tool that says `read` asks nobody on purpose; so does one whose network is off."""
    if not declared.secrets or not declared.permissions.get("network"):
        return
    approval = declared.data.get("approval") or {}
    if approval.get("required") or "read" in (declared.data.get("tags") or ()):
        return
    names = ", ".join(declared.secrets)
    path = ("approval", "required") if "required" in approval else ("permissions", "secrets")
    message = f"it sends {names} over the network, and no person is asked"
    yield declared.finding("secrets-without-approval", path, message)


def input_descriptions(declared: Declared, path: PathTuple) -> Iterator[Problem]:
    """`path` leads to the properties of the input schema."""
    for name, entry in declared.properties.items():
        said = entry.get("description") if isinstance(entry, Mapping) else None
        if not str(said or "").strip():
            message = f"{name} has no description"
            yield declared.finding("missing-description", (*path, name), message)


def _params(declared: Declared, number: int, example: Mapping[str, Any]) -> Iterator[Problem]:
    where: PathTuple = ("examples", number, "params")
    params = example.get("params") or {}
    try:
        check_schema(declared.inputs)
        found = violations(declared.inputs, with_defaults(declared.inputs, params))
    except SchemaInvalid:
        return  # loading has said so
    for violation in found:
        path = (*where, *violation.path)
        yield declared.finding("example-params", path, f"the example is refused: {violation}")


def _output(declared: Declared, number: int, example: Mapping[str, Any]) -> Iterator[Problem]:
    outputs = declared.data.get("outputs") or {}
    expected = example.get("expected_output")
    if outputs.get("format") != "json" or expected is None:
        return
    where = ("examples", number, "expected_output")
    try:
        value = _read(expected) if isinstance(expected, str) else expected
    except (ValueError, RecursionError) as error:
        message = f"the output is JSON, but this is none: {error}"
        yield declared.finding("example-output", where, message)
        return
    if "schema" not in outputs or _has_dots(value):
        return
    try:
        check_schema(outputs["schema"])
        found = violations(outputs["schema"], value) if isinstance(outputs["schema"], dict) else []
    except SchemaInvalid:
        return
    for violation in found:
        message = f"does not fit outputs.schema: {violation}"
        yield declared.finding("example-output", where, message)


def _read(text: str) -> Any:
    """JSON in which `...` may stand for anything, also outside of a string."""
    if text.strip() == _ANYTHING:
        return _ANYTHING
    if "..." not in text:
        return json.loads(text)
    loose = _STRING_OR_DOTS.sub(_without_dots, text)
    # What was left out could be anything, so the rest proves nothing about a schema.
    return json.loads(loose) if loose == text else [_ANYTHING, json.loads(loose)]


def _without_dots(match: re.Match[str]) -> str:
    found = match[0]
    if found.startswith('"'):
        return found
    before, after = found.startswith(","), found.endswith(",")
    if found.startswith(":"):
        return f': "{_ANYTHING}"' + ("," if after else "")
    # A comma on one side belongs to the dots; between two items one of them stays.
    return "," if before and after else ""


def _has_dots(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_dots(entry) for entry in value.values()) or _ANYTHING in value
    if isinstance(value, list):
        return any(map(_has_dots, value))
    return isinstance(value, str) and _ANYTHING in value
