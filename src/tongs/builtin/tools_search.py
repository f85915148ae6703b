"""`tools_search`: finds tools by words, for a model that was offered a few of many."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.execution import Context, World
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.registry.export import described

_MOST = 20
_FEW = 5

SCHEMA = {
    "type": "object",
    "properties": {
        "query": {
            "type": "string",
            "minLength": 1,
            "description": "Words for what the tool should do, such as `resize image`",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST,
            "default": _FEW,
            "description": "How many tools to name at most",
        },
    },
    "required": ["query"],
    "additionalProperties": False,
}


FOUND = {
    "type": "object",
    "properties": {
        "tools": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "description": {"type": "string"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "parameters": {"type": "object"},
                },
                "required": ["name", "description", "tags", "parameters"],
            },
        }
    },
    "required": ["tools"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Find tools that are not in the list, by what they do. The tools it names can"
        " be called from then on.",
        input_schema=SCHEMA,
        output_schema=FOUND,
        executor="builtin",
        plan=ToolsSearch(),
        tags=("read",),
        automatic=True,
        permissions=Permissions(),
        timeout=30.0,
        idempotent=True,
    )


class ToolsSearch:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"look for tools: {visible(str(arguments['query']))}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        found = context.search(arguments["query"], arguments["limit"])
        tools = [
            {
                "name": name,
                "description": described(each),
                "tags": list(each.tags),
                "parameters": each.input_schema,
            }
            for name, each in found
        ]
        if not tools:
            said = "no tool has any of these words; try others\n"
            return ToolResult(output=said, value={"tools": []})
        lines = [f"{each['name']}: {each['description']}" for each in tools]
        return ToolResult(output="\n\n".join(lines) + "\n", value={"tools": tools})
