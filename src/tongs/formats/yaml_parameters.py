"""`parameters:` of a YAML tool: the JSON Schema models see, and the slots templates use."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import Problem
from tongs.schema.check import SchemaInvalid, check_schema, violations
from tongs.schema.document import Document, PathTuple
from tongs.template.values import Slot

_OURS = frozenset({"required", "true-value", "false-value"})


def input_schema(parameters: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Any]:
    """A parameter is required unless it has a default or says `required: false`."""
    properties: dict[str, Any] = {}
    required = []
    for name, entry in parameters.items():
        declared = entry or {}
        keywords = {key: value for key, value in declared.items() if key not in _OURS}
        needed = declared.get("required", True)
        if isinstance(needed, list):
            # JSON Schema's own keyword, for the keys of an object; the parameter itself is needed.
            keywords["required"] = needed
        properties[name] = {"type": "string", **keywords}
        if needed is not False and "default" not in declared:
            required.append(name)
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        schema["required"] = required
    return {**schema, "additionalProperties": False}


def slots(parameters: Mapping[str, Mapping[str, Any] | None]) -> dict[str, Slot]:
    return {name: _slot(name, entry or {}) for name, entry in parameters.items()}


def problems(document: Document, path: PathTuple, schema: Mapping[str, Any]) -> list[Problem]:
    """Keywords that make no sense, and defaults that their own parameter would refuse."""
    found = []
    for name, keywords in schema["properties"].items():
        try:
            check_schema(keywords)
        except SchemaInvalid as invalid:
            found.append(document.problem((*path, name, *invalid.path), invalid.message))
            continue
        if "default" in keywords:
            hint = "quote it to make it text" if keywords["type"] == "string" else ""
            found += [
                document.problem(
                    (*path, name, "default"), f"the default {violation.message}", hint=hint
                )
                for violation in violations(keywords, keywords["default"])
            ]
    return found


def _slot(name: str, entry: Mapping[str, Any]) -> Slot:
    kind = entry.get("type", "string")
    return Slot(
        name=name,
        type=kind if isinstance(kind, str) else "string",
        true_value=entry.get("true-value"),
        false_value=entry.get("false-value"),
        closed="enum" in entry or "const" in entry,
        patterned="pattern" in entry,
    )
