"""What a program gives for a tool, looked at before anything is called: mistakes have a name."""

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.tool import Tool, as_tags


def checked(tool: Tool) -> Tool:
    """The tool as it is kept. Raises ToolError INVALID_DEFINITION."""
    _check_name(tool.name)
    for name, right, expected in (
        ("execute", tool.execute is None or callable(tool.execute), "a function"),
        ("timeout", _is_time(tool.timeout), "seconds as a number, or None"),
        ("requires_approval", _is_answer(tool.requires_approval), "True, False or a function"),
    ):
        if not right:
            given = getattr(tool, name)
            raise _wrong(f"{tool.name}: {name} must be {expected}, got {given!r:.80}")
    _check_schema(tool)
    changes: dict[str, Any] = {}
    if "properties" not in tool.input_schema:
        changes["input_schema"] = {**tool.input_schema, "properties": {}}
    if not isinstance(tool.tags, tuple):
        changes["tags"] = as_tags(tool.tags)
    if not isinstance(tool.permissions, Permissions | None):
        changes["permissions"] = Permissions.given(tool.permissions)
    return replace(tool, **changes) if changes else tool


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name:
        raise _wrong(f"a tool has a name, not {name!r}")
    if ":" in name:
        # `builtin:read_file` is how another tool is named: this one would answer for it.
        raise _wrong(
            f"the name {name!r} has a colon, which parts a scope from a name",
            f"name it {name.replace(':', '_')!r}",
        )


def _is_time(given: Any) -> bool:
    if given is None:
        return True
    return isinstance(given, int | float) and not isinstance(given, bool) and given > 0


def _is_answer(given: Any) -> bool:
    # A text as "no" is true in Python.
    return given is None or isinstance(given, bool) or callable(given)


def _check_schema(tool: Tool) -> None:
    from tongs.schema.check import SchemaInvalid, check_root  # noqa: PLC0415 - loads the engine

    try:
        check_root(tool.input_schema)
    except SchemaInvalid as invalid:
        where = "".join(f"/{part}" for part in invalid.path)
        raise _wrong(
            f"{tool.name}: {invalid.message}" + (f", at {where}" if where else ""),
            'use create_json_schema, or {"type": "object", "properties": {…}}',
        ) from None


def _wrong(message: str, hint: str = "") -> ToolError:
    return ToolError(ErrorCode.INVALID_DEFINITION, message, hint=hint)
