"""Arguments that a schema would take, for showing what a call looks like."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.schema.resolve import plain

_BY_TYPE: Mapping[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1,
    "boolean": True,
    "array": [],
    "object": {},
    "null": None,
}


def arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A value for everything that is required; they need not fit a pattern."""
    properties = schema.get("properties") or {}
    return {
        name: value(plain(properties.get(name), schema))
        for name in schema.get("required") or ()
        if isinstance(name, str)
    }


def value(schema: Any) -> Any:
    """What the schema itself suggests, or else something of its type."""
    if not isinstance(schema, Mapping):
        return "text"
    for key in ("default", "const"):
        if key in schema:
            return schema[key]
    for key in ("examples", "enum"):
        if isinstance(schema.get(key), list) and schema[key]:
            return schema[key][0]
    kind = schema.get("type", "string")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    if kind == "object":
        return arguments(schema)
    if kind == "array" and schema.get("minItems"):
        return [value(schema.get("items"))] * int(schema["minItems"])
    if kind in ("integer", "number"):
        return _number(schema)
    if kind == "string":
        return "text".ljust(int(schema.get("minLength") or 0), "x")[: schema.get("maxLength")]
    return _BY_TYPE.get(str(kind), "text")


def _number(schema: Mapping[str, Any]) -> Any:
    if "minimum" in schema:
        return schema["minimum"]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return min(1, schema.get("maximum", 1))
