"""Tools as MCP describes them. What a description promises is what Tongs holds the tool to."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.call import BACKGROUND
from tongs.core.permissions import Permissions
from tongs.core.scope import Scope
from tongs.core.tool import Level, Tool
from tongs.output import visible
from tongs.registry.export import described, plain_schema
from tongs.runtime.holding import Held
from tongs.schema.portable import portable

# Beyond this a client has its own limits, and most cut.
_LONGEST_TITLE = 80
# Tools that come with Tongs and change what no permission is about.
_ENDS = frozenset({"job_stop"})


def wire_tool(name: str, tool: Tool, held: Held) -> dict[str, Any]:
    """`name` is what the client calls it."""
    made: dict[str, Any] = {
        "name": name,
        "title": title_of(tool),
        "description": described(tool),
        "inputSchema": portable(plain_schema(tool.input_schema)),
        "annotations": hints(tool, held),
    }
    if (promised := promised_output(tool)) is not None:
        made["outputSchema"] = portable(plain_schema(promised))
    return made


def hints(tool: Tool, held: Held) -> dict[str, Any]:
    """From what its walls let it do, not from what its author says of it."""
    reads = held.stands and _changes_nothing(tool, held.permissions)
    made = {
        "title": title_of(tool),
        "readOnlyHint": reads,
        "openWorldHint": bool(held.permissions.network) or not held.stands,
    }
    if not reads:
        made["destructiveHint"] = True
        made["idempotentHint"] = tool.idempotent
    return made


def _changes_nothing(tool: Tool, permissions: Permissions) -> bool:
    """A request may change something at its other end, unless the tool is one that reads."""
    if permissions.write or (tool.origin.scope is Scope.BUILTIN and tool.name in _ENDS):
        return False
    return tool.level is Level.READ or not permissions.network


def promised_output(tool: Tool) -> Mapping[str, Any] | None:
    """The schema that every answer without an error keeps; None where there is none to keep.

    Clients take an object only. A tool that can go on in the background answers with a job then.
    """
    schema = tool.output_schema
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        return None
    if tool.input_schema.get("properties", {}).get("background") == BACKGROUND:
        return {key: value for key, value in schema.items() if key != "required"}
    return schema


def title_of(tool: Tool) -> str:
    words = tool.name.replace("_", " ").replace("-", " ").split()
    title = " ".join(words) or tool.name
    return visible(title[:1].upper() + title[1:])[:_LONGEST_TITLE]
