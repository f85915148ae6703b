"""The hint for a call whose arguments were wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.tool import Tool
from tongs.schema.coerce import types
from tongs.schema.resolve import plain


def right_call(tool: Tool, violations: Sequence[Mapping[str, Any]]) -> str:
    """The command with the arguments that were wrong, each with a value that would do."""
    if tool.is_own:
        # No command knows it.
        return f"{tool.name} takes {', '.join(tool.input_schema['properties']) or 'no arguments'}"
    properties = tool.input_schema["properties"]
    wrong = dict.fromkeys(violation["path"][0] for violation in violations if violation["path"])
    examples = [
        f" --param {name}={_example(plain(properties[name], tool.input_schema))}"
        for name in wrong
        if name in properties
    ]
    if not examples:
        return f"tongs tool get {tool.name} shows its parameters"
    return f"tongs tool run {tool.name}{''.join(examples)}"


def _example(schema: Mapping[str, Any]) -> str:
    for value in (schema.get("default"), schema.get("const"), *schema.get("enum", ())):
        if isinstance(value, str | int | float):
            return str(value).lower() if isinstance(value, bool) else str(value)
    kinds = {"integer": "3", "number": "3", "boolean": "true", "array": "'[…]'", "object": "'{…}'"}
    return kinds.get(types(schema)[0], "TEXT")
