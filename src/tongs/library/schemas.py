"""The schema of a tool's arguments, written by hand (seed 001)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError


def create_json_schema(
    properties: Mapping[str, Mapping[str, Any]],
    required: Iterable[str] | None = None,
    *,
    additional_properties: bool | None = None,
) -> dict[str, Any]:
    """A schema whose root is an object, as every model API wants it.

    Raises ToolError INVALID_DEFINITION where a property is no schema, or a required one is none of
    the properties.
    """
    for name, entry in properties.items():
        if not isinstance(entry, Mapping):
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"the property `{name}` must be a schema, got {entry!r:.80}",
                hint='"NAME": {"type": "string", "description": "…"}',
            )
    wanted = list(required or ())
    if unknown := [name for name in wanted if name not in properties]:
        raise ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"`{unknown[0]}` is required and not among the properties",
            hint=f"the properties are {', '.join(properties) or 'none'}",
        )
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: dict(entry) for name, entry in properties.items()},
        "required": wanted,
    }
    if additional_properties is not None:
        schema["additionalProperties"] = additional_properties
    return schema
