"""What a person does to MCP servers: add and remove them, look at them, accept what they tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from tongs.config.servers import is_name, server_of
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.digest import digest_of
from tongs.core.driving import drive
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.core.servers import Listing, ServerSpec, definition_digest
from tongs.registry.changes import difference, in_words
from tongs.runtime.configuring import Configuring
from tongs.runtime.definitions import refusals_said, refuse_inside_a_call
from tongs.schema.document import MAX_BYTES
from tongs.schema.nearest import did_you_mean
from tongs.store.files import read_whole
from tongs.store.pins import Pinned

if TYPE_CHECKING:
    from tongs.runtime import Runtime


@dataclass(frozen=True, slots=True)
class Change:
    """One tool that its server tells otherwise than it was accepted."""

    tool: str
    words: tuple[str, ...]
    # `-` and `+` lines.
    text: str
    # What would be accepted; None where the tool is gone.
    told: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class Known:
    """A server, and what is known of it without starting it."""

    spec: ServerSpec
    pinned: Pinned | None
    # False: only tools that name it in `uses.mcp` use it.
    offered: bool = True

    @property
    def state(self) -> str:
        if not self.spec.enabled:
            return "off"
        if self.pinned is None:
            return "never connected"
        return "changed" if self.pinned.held else "pinned"


@dataclass(frozen=True, slots=True)
class Inspected:
    """A server that was just asked."""

    spec: ServerSpec
    listing: Listing
    pinned: Pinned
    # Whether this was its first connection.
    first: bool

    @property
    def changes(self) -> list[Change]:
        return changes_of(self.pinned, self.listing)

    @property
    def held(self) -> list[Change]:
        """What waits for a person: a tool that is gone is simply gone."""
        return [change for change in self.changes if change.told is not None]


@dataclass(frozen=True, slots=True)
class ServerDesk:
    runtime: Runtime

    def known(self) -> list[Known]:
        """Every server, those of the config first. Starts none."""
        tools = self.runtime.server_tools
        found = [Known(spec, tools.pins.of(spec)) for spec in tools.servers.values()]
        for name in self.runtime.settings_files.servers().names():
            # One that nobody has accepted, or that cannot be used, is what `tongs lint` tells.
            with suppress(ToolError, DefinitionInvalid):
                spec = None if name in tools.servers else tools.named(name)
                if spec is not None:
                    found.append(Known(spec, tools.pins.of(spec), offered=False))
        return found

    def spec(self, name: str) -> ServerSpec:
        """The server of a name; `TOOL.SERVER` is one that a tool brings along."""
        tools = self.runtime.server_tools
        found = tools.named(name)
        tool, dot, server = name.rpartition(".")
        if found is None and dot:
            owner = self.runtime.find(tool)
            found = getattr(owner.plan, "servers", {}).get(server)
            if found is not None and not owner.trust.holds:
                raise ToolError(
                    ErrorCode.UNTRUSTED,
                    f"`{name}` belongs to {tool}, and nobody has accepted {owner.origin.path} yet",
                    blocked_by=BlockedBy.TRUST,
                    hint=f"read it, then: tongs trust {tool}",
                )
        if found is None:
            known = [each.spec.name for each in self.known()]
            raise ToolError(
                ErrorCode.TOOL_NOT_FOUND,
                f"there is no MCP server `{name}`{did_you_mean(name, known)}",
                details={"known": known},
                hint="tongs mcp list shows the servers there are",
            )
        return found

    def inspect(self, name: str) -> Inspected:
        """Ask a server what it is and has. Its first connection pins that."""
        return self._asked(self.spec(name))

    def add(
        self, name: str, entry: Mapping[str, Any], scope: Scope, *, force: bool = False
    ) -> tuple[Inspected, str]:
        """Start a server, write it down, pin what it tells; what it told, and the file.

        Nothing is written where it cannot be started.
        """
        refuse_inside_a_call("add an MCP server")
        self.refuse_to_add(name, force=force)
        places = self.runtime.places
        configuring = Configuring(places, self.runtime.settings_files)
        key = ("mcp", "servers", name)
        values: list[tuple[tuple[str, ...], Any]] = [((*key, k), v) for k, v in entry.items()]
        if name in self.runtime.settings.mcp.servers:
            values = [(key, dict(entry))]
        configuring.check(values, scope)
        spec = server_of(name, entry, source="", scope=scope, project=places.root)
        pins = self.runtime.server_tools.pins
        before = pins.of(spec)
        with refusals_said(f"{name} was not added"):
            pins.forget(spec)
        try:
            asked = self._asked(spec)
            vouched = scope is Scope.LOCAL and self._vouched(configuring.file(scope))
            self.runtime.audit.event("MCP_SERVER_ADDED", name=name, approver="user")
            file = configuring.put(values, scope)
        except (ToolError, DefinitionInvalid):
            with refusals_said(f"{name} was not added"):
                pins.restore(spec, before)
            raise
        if vouched:
            self._accept(file)
        return asked, file

    def refuse_to_add(self, name: str, *, force: bool) -> None:
        if not is_name(name):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{name!r} is no name for a server",
                hint="letters, digits, `-` and single `_` in between, at most 64",
            )
        known = self.runtime.settings.mcp.servers.get(name)
        if known is not None and not force:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"there is a server `{name}` already: {known.source}",
                hint="choose another name, or add --force to replace it",
            )

    def remove(self, name: str) -> str:
        """Take a server out of the config, and forget what was pinned of it; the file."""
        refuse_inside_a_call("remove an MCP server")
        spec = self.spec(name)
        configuring = Configuring(self.runtime.places, self.runtime.settings_files)
        where = spec.source.rpartition(":")[0]
        if name not in self.runtime.settings.mcp.servers or where != configuring.file(spec.scope):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"`{name}` stands in {spec.source}, which is not for this command to change",
                hint="edit or delete that file",
            )
        vouched = spec.scope is Scope.LOCAL and self._vouched(where)
        self.runtime.audit.event("MCP_SERVER_REMOVED", name=name, approver="user")
        file = configuring.remove(("mcp", "servers", name), spec.scope)
        with refusals_said(f"{name} was removed, but what was pinned of it is still there"):
            self.runtime.server_tools.pins.forget(spec)
        if vouched:
            self._accept(file)
        return file

    def accept(self, inspected: Inspected) -> Pinned:
        """Accept exactly what was shown."""
        refuse_inside_a_call("accept what an MCP server tells")
        spec, told = inspected.spec, inspected.listing.tools
        digest = "+".join(sorted(definition_digest(each)[:8] for each in told))[:64]
        self.runtime.audit.event(
            "MCP_SERVER_PINNED", name=spec.name, approver="user", digest=digest
        )
        with refusals_said(f"{spec.name} was not pinned"):
            return self.runtime.server_tools.pins.accept(spec, told)

    def _asked(self, spec: ServerSpec) -> Inspected:
        from tongs.sandbox.waiting import BlockingWaiter  # noqa: PLC0415 - starts a process

        pins = self.runtime.server_tools.pins
        first = pins.of(spec) is None
        listing = drive(self.runtime.servers.listed(spec, BlockingWaiter()))
        pinned = pins.of(spec)
        assert pinned is not None, "whoever was asked is pinned"
        return Inspected(spec, listing, pinned, first)

    def _vouched(self, file: str) -> bool:
        """Whether a project's config is one that the person has accepted, or not there yet."""
        with refusals_said(f"{file} was not changed"):
            before = read_whole(file, MAX_BYTES)
        if before is None:
            return True
        return self.runtime.definitions.trust.state_of(file, digest_of(before)).holds

    def _accept(self, file: str) -> None:
        """Who writes in a project's config that they trust has not lost their trust in it."""
        with refusals_said(f"{file} was not accepted"):
            written = read_whole(file, MAX_BYTES) or b""
        self.runtime.definitions.accept_config(file, written)


def changes_of(pinned: Pinned, listing: Listing) -> list[Change]:
    """What a person has to read before they accept what the server tells now."""
    told = {str(each["name"]): each for each in listing.tools}
    return list(_changes(pinned, told))


def _changes(pinned: Pinned, told: Mapping[str, Mapping[str, Any]]) -> Iterator[Change]:
    for name in sorted({*pinned.tools, *told}):
        pin, now = pinned.tools.get(name), told.get(name)
        accepted = None if pin is None else pin.accepted
        if accepted is None and now is None:
            continue
        words = in_words(accepted, now)
        if words:
            yield Change(name, tuple(words), difference(accepted, now), now)


def claims_of(definition: Mapping[str, Any]) -> Sequence[str]:
    """What a server says about its tool, which nobody here believes."""
    claims = definition.get("annotations") or {}
    return [f"{key}: {str(value).lower()}" for key, value in claims.items() if key != "title"]
