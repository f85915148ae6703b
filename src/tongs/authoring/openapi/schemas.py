"""The schemas of an OpenAPI document as JSON Schema 2020-12 that stands on its own."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.authoring.openapi.document import OpenApi
from tongs.core.annotations import Any

# What a schema is made of: schemas by name, in a list, or one.
_BY_NAME = ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions")
_LISTED = ("allOf", "anyOf", "oneOf", "prefixItems")
_SINGLE = (
    *("items", "additionalProperties", "not", "if", "then", "else", "contains"),
    *("propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
# Of OpenAPI alone; none of it says what fits.
_DROPPED = frozenset(("xml", "externalDocs", "discriminator", "nullable", "example", "$schema"))


class Schemas:
    """Converts schemas; what they refer to is collected in `definitions`."""

    def __init__(self, document: OpenApi) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self.definitions: dict[str, Any] = {}

    def converted(self, schema: Any) -> Any:
        """One schema; references point to `#/$defs` of whoever takes it in."""
        if not isinstance(schema, Mapping):
            return schema if isinstance(schema, bool) else {}
        if isinstance(schema.get("$ref"), str):
            reference = {"$ref": f"#/$defs/{self._defined(schema['$ref'])}"}
            beside = {key: entry for key, entry in schema.items() if key != "$ref"}
            # 3.0 ignores what stands beside a reference.
            return reference if self._document.is_30 else {**self.converted(beside), **reference}
        return self._plain(schema)

    def _defined(self, reference: str) -> str:
        if reference in self._names:
            return self._names[reference]
        stem = reference.rsplit("/", 1)[-1].replace("~1", "_").replace("~0", "_")
        name = "".join(letter if letter.isalnum() or letter == "_" else "_" for letter in stem)
        while name in self.definitions or not name:
            name += "_"
        self._names[reference] = name
        # First the name, then the schema: it may refer to itself.
        self.definitions[name] = True
        self.definitions[name] = self.converted(self._document.target(reference))
        return name

    def _plain(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, entry in schema.items():
            if key in _DROPPED or key.startswith("x-"):
                continue
            if key in _BY_NAME and isinstance(entry, Mapping):
                found[key] = {name: self.converted(each) for name, each in entry.items()}
            elif key in _LISTED and isinstance(entry, list):
                found[key] = [self.converted(each) for each in entry]
            elif key in _SINGLE and isinstance(entry, Mapping):
                found[key] = self.converted(entry)
            else:
                found[key] = entry
        if self._document.is_30:
            _modernized(found, schema)
        if "example" in schema and "examples" not in found:
            found["examples"] = [schema["example"]]
        return found


def _modernized(found: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """What 3.0 writes in its own way."""
    for bound in ("Minimum", "Maximum"):
        exclusive = found.pop(f"exclusive{bound}", None)
        if isinstance(exclusive, bool):
            if exclusive and bound.lower() in found:
                found[f"exclusive{bound}"] = found.pop(bound.lower())
        elif exclusive is not None:
            found[f"exclusive{bound}"] = exclusive
    if schema.get("nullable") is True and isinstance(found.get("type"), str):
        found["type"] = [found["type"], "null"]
        if isinstance(found.get("enum"), list) and None not in found["enum"]:
            found["enum"] = [*found["enum"], None]


def used_definitions(schema: Any, definitions: Mapping[str, Any]) -> dict[str, Any]:
    """The definitions that a schema needs, and those that they need."""
    used: dict[str, Any] = {}
    pending = [schema]
    while pending:
        one = pending.pop()
        if isinstance(one, Mapping):
            reference = one.get("$ref")
            name = reference.rpartition("/")[2] if isinstance(reference, str) else ""
            if name in definitions and name not in used:
                used[name] = definitions[name]
                pending.append(definitions[name])
            pending += one.values()
        elif isinstance(one, list):
            pending += one
    return {name: used[name] for name in definitions if name in used}
