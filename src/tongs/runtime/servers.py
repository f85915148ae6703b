"""The tools of MCP servers, as tools of Tongs.

They come from the pins alone: a listing starts no server. What a server claims of its tools
decides nothing (ADR 30): a tool counts as what the walls around its server let it do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import Caller
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, replace
from tongs.core.scope import Scope
from tongs.core.servers import SEPARATOR, ServerSpec, ServerTool, ToolTerms
from tongs.core.tool import Level, Origin, Tool, Trust
from tongs.policy.permissions import too_broad
from tongs.registry import SERVED, Entry, not_found
from tongs.schema.nearest import did_you_mean, nearest
from tongs.store.pins import Pin, Pinned, PinStore

if TYPE_CHECKING:
    from tongs.config.servers import ServerFiles

_ANYTHING: Mapping[str, Any] = {"type": "object", "properties": {}}
_QUALIFIER = f"{SERVED}:"


def level_of(spec: ServerSpec) -> Level:
    """The most that its walls let it do. Nobody knows what one does that runs elsewhere."""
    may = spec.wanted
    if spec.remote or may.network:
        return Level.RUN
    return Level.WRITE if may.write else Level.READ


def walls_of(spec: ServerSpec, place: Place) -> Permissions:
    """What its process may touch, with absolute paths: the same for all of its callers."""
    project = spec.project or place.root
    if spec.permissions is None and not spec.remote and too_broad(project, place):
        return Permissions()
    return spec.wanted.resolved(project, place.home)


def walls_around(tool: Tool, granted: Permissions, caller: Caller, place: Place) -> Permissions:
    """The walls of a call: those of its server, which do not move for one of its callers.

    It does for each of them all that it may itself, so a call to which less is granted is refused.
    """
    walls = walls_of(tool.plan.server, place)
    lack = walls.beyond(granted)
    if lack == Permissions():
        return walls
    from tongs.policy.grants import line_of  # noqa: PLC0415 - only for the message

    who, named = (
        (f"{caller.name}, which calls it", caller.name)
        if caller.lacks(lack)
        else ("the tool", tool.name)
    )
    raise ToolError(
        ErrorCode.DENIED,
        f"{tool.name} was not run: its server may do more than {who}",
        details={"missing": lack.to_wire()},
        blocked_by=BlockedBy.CEILING,
        hint=f"to allow it, add to the permissions of {named}: {line_of(lack, tool, place)}",
    )


def full_name(server: str, tool: str) -> str:
    return f"{server}{SEPARATOR}{tool}"


@dataclass(frozen=True, slots=True)
class _Known:
    """A tool that was made, and of what: the same again while nothing has changed."""

    spec: ServerSpec
    pin: Pin | None
    tool: Tool


class ServerTools:
    """The tools of the servers of one place."""

    def __init__(
        self,
        servers: Mapping[str, ServerSpec],
        pins: PinStore,
        files: Callable[[], ServerFiles],
    ) -> None:
        self.servers = servers
        self.pins = pins
        self._files = files
        self._made: dict[tuple[str, str], _Known] = {}

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """What is known of each tool, by its name; nothing of a server that is switched off."""
        known = [(spec, self.pins.of(spec)) for spec in self._enabled(scope)]
        found = [
            _entry(self.tool(spec, pin.name, pinned))
            for spec, pinned in known
            for pin in (pinned.tools.values() if pinned is not None else ())
            if not pin.gone and terms_of(spec, pin.name).enabled
        ]
        return sorted(found, key=lambda entry: entry.name)

    def unconnected(self, scope: Scope = Scope.ANY) -> list[str]:
        """The servers of which nobody knows what they offer, since none was ever started."""
        return [spec.name for spec in self._enabled(scope) if self.pins.of(spec) is None]

    def owner(self, name: str) -> ServerSpec | None:
        """The server that all names beginning as this one belong to."""
        server, separator, _ = name.removeprefix(_QUALIFIER).partition(SEPARATOR)
        return self.servers.get(server) if separator else None

    def find(self, name: str, scope: Scope = Scope.ANY) -> Tool | None:
        """The tool of a name; None for a name that belongs to no server. Raises ToolError."""
        spec = self.owner(name)
        if spec is None or not scope.covers(spec.scope):
            if name.startswith(_QUALIFIER):
                raise self._no_server(name, scope)
            return None
        tool = name.removeprefix(_QUALIFIER).partition(SEPARATOR)[2]
        if not spec.enabled:
            raise _off(name, f"mcp.servers.{spec.name}", spec)
        return self.tool(spec, tool, self.pins.of(spec))

    def tool(
        self, spec: ServerSpec, name: str, pinned: Pinned | None, *, private: bool = False
    ) -> Tool:
        """One tool of a server. Before its first connection, anything may be called.

        Raises ToolError where the server has no such tool, or it is switched off.
        """
        full = full_name(spec.name, name)
        if not terms_of(spec, name).enabled:
            raise _off(full, f"mcp.servers.{spec.name}.tools.{name}", spec)
        pin = None if pinned is None else pinned.tools.get(name)
        if pinned is not None and (pin is None or pin.gone):
            raise _no_tool(full, spec, pinned)
        before = self._made.get((spec.source, full))
        if before is not None and before.pin is pin and before.spec is spec:
            return before.tool
        tool = replace(_made(spec, name, pin), private=private)
        self._made[spec.source, full] = _Known(spec, pin, tool)
        return tool

    def used_by(self, tool: Tool) -> dict[str, Tool]:
        """The tools of servers that its steps call, by the names they call them."""
        plan = tool.plan
        for name in plan.uses_servers:
            self._of(tool, name)
        found = {}
        for server, name in plan.nested_served:
            spec = self._of(tool, server)
            private = server in plan.servers
            try:
                inner = self.tool(spec, name, self.pins.of(spec), private=private)
            except ToolError as error:
                raise _unusable(tool, error) from None
            found[full_name(server, name)] = inner
        return found

    def named(self, name: str) -> ServerSpec | None:
        """The server that a tool means by a name: of the config, or of a file `mcp/NAME.yml`."""
        spec = self.servers.get(name)
        if spec is not None:
            return spec
        try:
            return self._files().find(name)
        except DefinitionInvalid as invalid:
            raise invalid.as_tool_error(f"the server `{name}`") from None

    def _of(self, tool: Tool, name: str) -> ServerSpec:
        inline: ServerSpec | None = tool.plan.servers.get(name)
        spec = inline or self.named(name)
        if spec is None:
            known = sorted({*tool.plan.servers, *self.servers, *self._files().names()})
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"{tool.name} uses the MCP server `{name}`, which does not exist"
                f"{did_you_mean(name, known)}",
                details={"known": known},
                hint=f"tongs mcp add {name} -- COMMAND, or write it in `with.mcps`",
            )
        if not spec.enabled:
            off = f"{tool.name} uses the MCP server `{name}`, which is switched off"
            raise ToolError(ErrorCode.INVALID_DEFINITION, off, hint=f"see {spec.source}")
        return spec

    def _enabled(self, scope: Scope) -> Iterable[ServerSpec]:
        servers = self.servers.values()
        return (spec for spec in servers if spec.enabled and scope.covers(spec.scope))

    def _no_server(self, name: str, scope: Scope) -> ToolError:
        if SEPARATOR not in name:
            return not_found(name, [entry.name for entry in self.entries(scope)], scope)
        server = name.removeprefix(_QUALIFIER).partition(SEPARATOR)[0]
        known = [spec.name for spec in self._enabled(scope)]
        return ToolError(
            ErrorCode.TOOL_NOT_FOUND,
            f"there is no MCP server `{server}`{did_you_mean(server, known)}",
            details={"nearest": known},
            hint="tongs mcp list shows the servers there are",
        )


def _unusable(tool: Tool, error: ToolError) -> ToolError:
    message = f"{tool.name} cannot call it: {error.message}"
    return ToolError(ErrorCode.INVALID_DEFINITION, message, details=error.details)


def terms_of(spec: ServerSpec, tool: str) -> ToolTerms:
    return spec.tools.get(tool) or ToolTerms()


def _made(spec: ServerSpec, name: str, pin: Pin | None) -> Tool:
    # A new or changed definition is nobody's to read but the person's who decides about it.
    definition = (None if pin is None else pin.accepted) or {}
    terms = terms_of(spec, name)
    digest = "" if pin is None else pin.digest
    schema = dict(definition.get("inputSchema") or _ANYTHING)
    schema.setdefault("properties", {})
    return Tool(
        name=full_name(spec.name, name),
        description=str(definition.get("description") or definition.get("title") or ""),
        input_schema=schema,
        output_schema=definition.get("outputSchema"),
        executor=SERVED,
        plan=ServerTool(spec, name, definition, digest),
        tags=terms.tags or (level_of(spec).value,),
        permissions=spec.wanted,
        timeout=spec.timeout if terms.timeout is None else terms.timeout,
        requires_approval=bool(terms.approval),
        approval_reason=f"mcp.servers.{spec.name}.tools.{name} asks for it"
        if terms.approval
        else "",
        origin=Origin(
            scope=spec.scope,
            path=spec.source,
            format=SERVED,
            digest=digest,
            project=spec.project,
            member=name,
        ),
        trust=Trust.CHANGED if pin is not None and pin.changed else Trust.ACCEPTED,
    )


def _entry(tool: Tool) -> Entry:
    permissions = tool.permissions or Permissions()
    return Entry(
        name=tool.name,
        description=tool.description,
        scope=tool.origin.scope,
        format=SERVED,
        path=tool.origin.path,
        tags=tool.tags,
        level=tool.level.value,
        network=bool(permissions.network),
        parameters=tuple(tool.input_schema["properties"]),
        digest=tool.origin.digest,
        trust=tool.trust,
    )


def _off(name: str, key: str, spec: ServerSpec) -> ToolError:
    return ToolError(
        ErrorCode.TOOL_NOT_FOUND,
        f"`{name}` is switched off: {key}, {spec.source}",
        details={"nearest": []},
        hint="take `enabled: false` away there",
    )


def _no_tool(name: str, spec: ServerSpec, pinned: Pinned) -> ToolError:
    there = [pin.name for pin in pinned.tools.values() if not pin.gone]
    close = [full_name(spec.name, n) for n in nearest(name.partition(SEPARATOR)[2], there, most=3)]
    return ToolError(
        ErrorCode.TOOL_NOT_FOUND,
        f"there is no tool `{name}`",
        details={"nearest": close},
        hint=f"did you mean {' or '.join(f'`{each}`' for each in close)}?"
        if close
        else f"tongs mcp inspect {spec.name} asks the server what it has",
    )
