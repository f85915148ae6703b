"""`tongs tool get`: everything about one tool."""

from __future__ import annotations

from collections.abc import Iterator

from tongs.approvers.terminal_question import as_json, permissions_line
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.scope import Scope
from tongs.core.tool import Tool, Trust
from tongs.schema.coerce import types
from tongs.schema.resolve import plain
from tongs.surfaces.cli.failure import result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.runtime import Runtime

_TRUST = {
    Trust.PLACE: "by its place",
    Trust.ACCEPTED: "accepted",
    Trust.DEV: "for a while, since its author works on it",
    Trust.UNTRUSTED: "no, it came with the project (tongs trust {name})",
    Trust.CHANGED: "no, it changed since it was accepted (tongs trust {name})",
    Trust.REVIEW: "no, an agent created it and it waits for review (tongs review {name})",
}


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    add_scope_options(parser, default="any")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    runtime = invocation.runtime
    tool = runtime.find(invocation.options.name, invocation.scope)
    if invocation.options.json:
        invocation.console.data(result_json(tool_wire(runtime, tool)))
        return 0
    for label, text in _facts(tool):
        # On one line, so that no fact can fake another.
        invocation.console.data(f"{label + ':':<14}{' '.join(text.splitlines())}\n")
    rows = [_parameter(tool, name) for name in tool.input_schema.get("properties", {})]
    if rows:
        invocation.console.data("\nparameters:\n")
        header = ("  NAME", "TYPE", "DEFAULT", "DESCRIPTION")
        for line in table(header, rows, invocation.console.width()):
            invocation.console.data(f"{line}\n")
    if tool.origin.scope is Scope.BUILTIN:
        return 0  # it lies in no file
    invocation.console.data("\ndefinition:\n")
    for line in runtime.definitions.text(tool).splitlines():
        invocation.console.data(f"  {line}\n" if line else "\n")
    return 0


def tool_wire(runtime: Runtime, tool: Tool) -> dict[str, Any]:
    """A tool as a program reads it."""
    return {
        "name": tool.name,
        "qualifiedName": tool.qualified_name,
        "description": tool.description,
        "inputSchema": dict(tool.input_schema),
        "tags": list(tool.tags),
        "platforms": list(tool.platforms),
        "requires": list(tool.requires),
        "level": str(tool.level),
        "permissions": None if tool.permissions is None else tool.permissions.to_wire(),
        "requiresApproval": bool(tool.requires_approval),
        "approvalReason": tool.approval_reason,
        "timeoutMs": None if tool.timeout is None else round(tool.timeout * 1000),
        "scope": str(tool.origin.scope),
        "kind": tool.origin.qualifier,
        "path": tool.origin.path,
        "digest": tool.origin.digest,
        "trust": str(tool.trust),
        "creator": tool.creator,
        "definition": "" if tool.origin.scope is Scope.BUILTIN else runtime.definitions.text(tool),
    }


def _facts(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "name", tool.name
    if tool.description:
        yield "description", one_line(tool.description)
    if tool.tags:
        yield "tags", ", ".join(tool.tags)
    if tool.platforms:
        yield "platforms", ", ".join(tool.platforms)
    yield "may", _may(tool)
    if tool.requires_approval:
        yield "approval", tool.approval_reason or "asked before every call"
    if tool.raw_parameters:
        yield "inserts raw", ", ".join(tool.raw_parameters)
    if tool.requires:
        yield "requires", ", ".join(tool.requires)
    if tool.timeout is not None:
        yield "timeout", f"{tool.timeout:g} s"
    if tool.creator:
        yield "created by", tool.creator
    yield "scope", str(tool.origin.scope)
    yield from _source(tool)


def _source(tool: Tool) -> Iterator[tuple[str, str]]:
    if tool.executor == "mcp":
        yield "server", f"{tool.plan.server.name} ({tool.origin.path})"
        yield "accepted", _accepted(tool)
    elif tool.origin.scope is not Scope.BUILTIN:
        yield "path", tool.origin.path
        yield "trusted", _TRUST[tool.trust].format(name=tool.name)


def _accepted(tool: Tool) -> str:
    """Of a server's tool: whether it still is what was pinned."""
    if not tool.trust.holds:
        return f"no, its server tells something else by now (tongs mcp pin {tool.plan.server.name})"
    return "yes" if tool.origin.digest else "when its server is first connected"


def _may(tool: Tool) -> str:
    if tool.permissions is None:
        return f"{tool.level} (permissions follow from its tags)"
    return f"{tool.level}; {permissions_line(tool.permissions)}"


def _parameter(tool: Tool, name: str) -> tuple[str, ...]:
    entry = plain(tool.input_schema["properties"][name], tool.input_schema)
    if "default" in entry:
        default = as_json(entry["default"])
    else:
        required = name in tool.input_schema.get("required", ())
        default = "(required)" if required else "(absent)"
    kind = entry.get("type") or ("string" if "enum" in entry else types(entry))
    shown = kind if isinstance(kind, str) else "|".join(map(str, kind))
    if "enum" in entry:
        shown += " of " + ", ".join(map(str, entry["enum"]))
    return f"  {name}", one_line(shown), default, one_line(str(entry.get("description", "")))
