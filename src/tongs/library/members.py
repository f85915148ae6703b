"""The tools that a module defines, and what is told of each before it runs."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.tool import Tool, as_tags
from tongs.library.base import BaseTool


def members(module: ModuleType) -> dict[str, Tool]:
    """Its functions with `@tool`, BaseTools and Tools, by name. Raises ToolError.

    What it imports is another module's, and what starts with `_` is its own affair.
    """
    found: dict[str, Tool] = {}
    for tool in _tools(module):
        if tool.name in found:
            raise ToolError(ErrorCode.INVALID_DEFINITION, f"two tools are called `{tool.name}`")
        found[tool.name] = tool
    return found


def _tools(module: ModuleType) -> Iterator[Tool]:
    instances = {type(value) for value in vars(module).values() if isinstance(value, BaseTool)}
    for name, value in list(vars(module).items()):
        if name.startswith("_"):
            continue
        if isinstance(value, Tool):
            yield value
        elif isinstance(value, BaseTool):
            yield value.as_tool()
        elif getattr(value, "__module__", None) != module.__name__:
            continue
        elif isinstance(value, type):
            # A class of which the module has an object is that object's.
            if issubclass(value, BaseTool) and value not in instances and _is_whole(value):
                yield value().as_tool()
        elif hasattr(value, "as_tool"):
            yield value.as_tool()


def _is_whole(kind: type[BaseTool]) -> bool:
    """A class that lacks `execute` is meant to be made into others."""
    return kind.execute is not BaseTool.execute


def description(tool: Tool) -> dict[str, Any]:
    """In the form that an executable's `description` has (seed 003)."""
    said: dict[str, Any] = {
        "name": tool.name,
        "description": tool.description,
        "input_schema": tool.input_schema,
        "tags": list(as_tags(tool.tags)),
        "platforms": list(tool.platforms),
        "examples": [dict(example) for example in tool.examples],
        "idempotent": tool.idempotent,
        "requires": list(tool.requires),
        "timeout": tool.timeout,
    }
    if tool.output_schema is not None:
        said["outputs"] = {"schema": tool.output_schema}
    if tool.permissions is not None:
        said["permissions"] = _written(tool.permissions)
    if tool.limits:
        said["limits"] = dict(tool.limits)
    if tool.version:
        said["version"] = tool.version
    # Whether a function would ask can only be found out where it runs, and that is after the call
    # has been decided: so it always asks.
    if tool.requires_approval:
        reason = tool.approval_reason or "its author wants every call approved"
        said["approval"] = {"required": True, "reason": reason}
    return said


def _written(permissions: Permissions) -> dict[str, Any]:
    secrets = {each.name: {"required": each.required} for each in permissions.secrets}
    return {**permissions.to_wire(), "secrets": secrets}
