"""A schema in the spelling that every reader of tool schemas takes; it means the same."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any

# Below these stand values, not schemas.
_VALUES = frozenset(("const", "default", "enum", "example", "examples"))


def portable(schema: Any) -> Any:
    """The schema with one `type` at a time: several become an `anyOf`."""
    if isinstance(schema, list | tuple):
        return [portable(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    made = {key: each if key in _VALUES else portable(each) for key, each in schema.items()}
    types = made.get("type")
    if not isinstance(types, list):
        return made
    del made["type"]
    each_type = [{"type": one} for one in types]
    if len(each_type) == 1:
        return {**each_type[0], **made}
    if "anyOf" not in made:
        return {"anyOf": each_type, **made}
    return {**made, "allOf": [*made.get("allOf", ()), {"anyOf": each_type}]}
