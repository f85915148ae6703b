"""The tools about tools (seed 004): call one by its name, create one, list and find them.

`tongs_tool` is no call of its own: it is the call of the tool that it names. The others are tools
like any, known only to this surface.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tongs.core.annotations import Any, TypeAlias
from tongs.core.execution import Context, World
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.output import visible
from tongs.registry.export import described
from tongs.runtime import Runtime

CALL, CREATE, LIST, SEARCH = "tool", "tool_create", "tools_list", "tools_search"
OWN = "tongs"
# What the seed calls them, for `mcp.aliases`; it has no search.
_ALIASED = (CALL, CREATE, LIST)

Run: TypeAlias = Callable[[Mapping[str, Any], Context], ToolResult]
Offered: TypeAlias = Callable[[], list[tuple[str, Tool]]]
Find: TypeAlias = Callable[[str, int], list[tuple[str, Tool]]]

_NOTHING = Permissions()
_WRITES = Permissions(write=(".tongs/tools",))
# What it may do is what the tool may that it calls, so that this promises nothing.
_ANYTHING = Permissions(network=True, read=("/",), write=("/",))

_NAME = {"type": "string", "minLength": 1, "description": "The name of the tool"}
_NAMED = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "description": {"type": "string"}},
    "required": ["name", "description"],
}
_TOOLS = {
    "type": "object",
    "properties": {"tools": {"type": "array", "items": _NAMED}},
    "required": ["tools"],
}


@dataclass(frozen=True, slots=True)
class Plan:
    """What the executor of built-in tools is given."""

    deed: str
    run_now: Run

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        named = arguments.get("name") or arguments.get("query") or ""
        return f"{self.deed} {visible(str(named))}".rstrip()

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return self.run_now(arguments, context)


def meta_tools(runtime: Runtime, offered: Offered, find: Find, aliases: str) -> dict[str, Tool]:
    """By the names that clients call them by. `offered` are all tools that may be called."""
    made = {}
    for prefix in (OWN, aliases) if aliases else (OWN,):
        kinds = (CALL, CREATE, LIST, SEARCH) if prefix == OWN else _ALIASED
        for kind in kinds:
            name = f"{prefix}_{kind}"
            made[name] = _MAKERS[kind](name, runtime, offered, find)
    return made


def kind_of(name: str) -> str:
    return name.partition("_")[2]


def _call(name: str, runtime: Runtime, offered: Offered, find: Find) -> Tool:
    schema = {
        "type": "object",
        "properties": {
            "name": _NAME,
            "params": {"type": "object", "description": "Its parameters", "default": {}},
        },
        "required": ["name"],
        "additionalProperties": False,
    }
    about = "Execute a tool by its name: any that the list or the search names"
    return _tool(name, about, schema, Plan("call", _never), "run", _ANYTHING)


def _create(name: str, runtime: Runtime, offered: Offered, find: Find) -> Tool:
    def create(arguments: Mapping[str, Any], context: Context) -> ToolResult:
        creator = context.call.caller.name
        made = runtime.create_tool(arguments["name"], arguments["definition"], creator)
        said = f"{made.tool.name} was {'changed' if made.changed else 'created'} in {made.path}"
        review = f"it can be called after a person has read it: tongs review {made.tool.name}"
        value = made.to_wire()
        warnings = [str(finding) for finding in made.findings]
        return ToolResult(output=f"{said}\n{review}", value=value, warnings=warnings)

    schema = {
        "type": "object",
        "properties": {
            "name": _NAME,
            "definition": {
                "type": "object",
                "description": "As in tool.yml: description, kind (http or command), inputs,"
                " outputs, exec, permissions, approval",
            },
        },
        "required": ["name", "definition"],
        "additionalProperties": False,
    }
    about = (
        "Create a new tool from a definition. It cannot be called before a person has reviewed it"
    )
    # Nothing of it runs before the review, and it is written by Tongs itself.
    return _tool(name, about, schema, Plan("create", create), "write", _WRITES)


def _list(name: str, runtime: Runtime, offered: Offered, find: Find) -> Tool:
    def tools(arguments: Mapping[str, Any], context: Context) -> ToolResult:
        found = [
            {"name": called, "description": described(tool).partition("\n")[0]}
            for called, tool in offered()
        ]
        return ToolResult(output=_lines(found), value={"tools": found})

    schema = {"type": "object", "properties": {}, "additionalProperties": False}
    about = "List available tools"
    return _tool(name, about, schema, Plan("list tools", tools), "read", _NOTHING, output=_TOOLS)


def _search(name: str, runtime: Runtime, offered: Offered, find: Find) -> Tool:
    def tools(arguments: Mapping[str, Any], context: Context) -> ToolResult:
        found = [
            {"name": called, "description": described(tool), "parameters": tool.input_schema}
            for called, tool in find(arguments["query"], arguments["limit"])
        ]
        said = _lines(found) if found else "no tool has any of these words; try others"
        return ToolResult(output=said, value={"tools": found})

    schema = {
        "type": "object",
        "properties": {
            "query": {
                "type": "string",
                "minLength": 1,
                "description": "Words for what the tool should do, such as `resize image`",
            },
            "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 5},
        },
        "required": ["query"],
        "additionalProperties": False,
    }
    about = f"Find tools by what they do; call what it names with {OWN}_{CALL}"
    return _tool(
        name, about, schema, Plan("look for tools:", tools), "read", _NOTHING, output=_TOOLS
    )


_MAKERS: dict[str, Callable[[str, Runtime, Offered, Find], Tool]] = {
    CALL: _call,
    CREATE: _create,
    LIST: _list,
    SEARCH: _search,
}


def _tool(
    name: str,
    description: str,
    schema: Mapping[str, Any],
    plan: Plan,
    level: str,
    permissions: Permissions,
    *,
    output: Mapping[str, Any] | None = None,
) -> Tool:
    return Tool(
        name=name,
        description=description,
        input_schema=schema,
        output_schema=output,
        executor="builtin",
        plan=plan,
        tags=(level,),
        automatic=True,
        background=False,
        permissions=permissions,
        timeout=30.0,
        idempotent=level == "read",
        origin=Origin(Scope.BUILTIN, format="builtin"),
    )


def _lines(found: list[dict[str, Any]]) -> str:
    return "\n".join(f"{each['name']}: {each['description']}" for each in found)


def _never(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    raise AssertionError("it is called as the tool that it names")
