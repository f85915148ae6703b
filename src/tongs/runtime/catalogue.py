"""The tools of one place: which one a name means, whether it may run, and what it calls."""

from __future__ import annotations

import os
import time

from tongs.builtin import Builtins
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Origin, Tool, Trust
from tongs.registry import SERVED, Entry, find, not_found
from tongs.runtime.rows import shown
from tongs.runtime.shapes import EXECUTABLE, MANIFEST
from tongs.runtime.tool_folders import ToolFolders
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.runtime.bundle import Bundle
    from tongs.runtime.later import Served

# Seconds for which nobody looks whether another file answers to a name by now.
_RECENT = 0.2


class Catalogue:
    """Everything defined for one place. Runs nothing that the person has not trusted."""

    def __init__(
        self,
        folders: ToolFolders,
        trust: TrustStore,
        builtins: Builtins,
        served: Served | None = None,
        prefix: str = "",
    ) -> None:
        self.folders = folders
        self._trust = trust
        self._builtins = builtins
        self._served = served
        # Before the names by which models know executables.
        self._prefix = prefix
        # Where a name led a moment ago.
        self._recent: dict[tuple[str, Scope], tuple[float, Entry, Origin]] = {}
        # Each with the same tool as it is when its trust is known.
        self._judged: dict[tuple[str, str], tuple[Tool, Tool]] = {}

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope, usable or not, sorted by name and lookup order.

        What comes with Tongs is no definition, and is listed only where it is asked for.
        """
        if scope is Scope.BUILTIN:
            tools = map(self._builtins.get, self._builtins.names())
            return [shown(tool) for tool in tools if tool is not None]
        files = self.folders.files(scope)
        if not self._served:
            return files
        served = self._served()
        own = [
            replace(entry, shadowed=True) if served.owner(entry.name) else entry for entry in files
        ]
        # A file of the same name comes after what it does not take the name from.
        return sorted([*served.entries(scope), *own], key=lambda entry: entry.name)

    def find(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to a name, with the tools it calls linked to it."""
        return self.linked(self._found(name, scope))

    def is_served(self, name: str) -> bool:
        """Whether a name is one of an MCP server's."""
        return self._served is not None and self._served().owner(name) is not None

    def linked(self, tool: Tool) -> Tool:
        """The tool with the tools it calls."""
        return self._linked(tool, ())

    def entry(self, name: str, scope: Scope = Scope.ANY) -> Entry:
        """What a name stands for, usable or not; ToolError if there is nothing."""
        short = name.rpartition(":")[2]
        for place in SEARCH_ORDER:
            # Nobody looks further than the first scope that has the name.
            if scope.covers(place) and (here := list(self.folders.in_scope(place, short))):
                try:
                    return find(here, name, place)
                except ToolError as error:
                    if error.code is not ErrorCode.TOOL_NOT_FOUND:
                        raise
        everything = list(self.folders.every())
        if self._served:
            everything += self._served().entries()
        if scope.covers(Scope.BUILTIN):
            everything += self.entries(Scope.BUILTIN)
        # Models know executables by a prefix (seed 003); a tool whose own name has it comes first.
        for prefix in (self._prefix, "custom_tool_"):
            plain = name.removeprefix(prefix)
            if plain != name and any(entry.name == plain for entry in everything):
                name = plain
                break
        # The nearest names are found among all of them.
        return find(everything, name, scope)

    def at(self, path: str) -> Tool:
        """The tool of one file, also where another has its name; as `--load-tool` elsewhere."""
        entry = self.folders.entry_at(path)
        return self._usable(entry, self.folders.origin_of(entry))

    def bundle(self, tool: Tool) -> Bundle:
        """Everything that defines a tool, as it is now; of a server's, what was accepted."""
        if tool.origin.format == SERVED:
            from tongs.registry.changes import as_text  # noqa: PLC0415 - servers only
            from tongs.runtime.bundle import Bundle  # noqa: PLC0415 - as above

            return Bundle(tool.origin.digest, as_text(tool.plan.definition).encode())
        return self.folders.bundle(tool)

    def _found(self, name: str, scope: Scope) -> Tool:
        """The tool of a name: of a server, a definition in a folder, or one that comes with Tongs.

        Names that begin with that of a server are the server's, so that no file takes one over.
        """
        if self._served and (tool := self._served().find(name, scope)) is not None:
            return tool
        own = self._builtins.get(name) if scope.covers(Scope.BUILTIN) else None
        if own is None:
            return self._defined(name, scope)
        if self._builtins.insists(name):
            return own
        try:
            tool = self._defined(name, scope)
        except ToolError as error:
            if error.code is not ErrorCode.TOOL_NOT_FOUND:
                raise
            return own
        # What nobody has accepted takes no name away from a tool that people rely on.
        return tool if tool.trust.holds else own

    def _defined(self, name: str, scope: Scope) -> Tool:
        """The tool itself is read anew each time; where its name leads, hardly ever changes."""
        now = time.monotonic()
        recent = self._recent.get((name, scope))
        if recent is not None and now - recent[0] <= _RECENT and os.path.lexists(recent[1].path):
            return self._usable(recent[1], recent[2])
        entry = self.entry(name, scope)
        if entry.scope is Scope.BUILTIN:
            raise not_found(name, ())  # no definition has the name
        origin = self.folders.origin_of(entry)
        if entry.broken:
            self._recent.pop((name, scope), None)
        else:
            self._recent[name, scope] = (now, entry, origin)
        return self._usable(entry, origin)

    def _usable(self, entry: Entry, origin: Origin) -> Tool:
        try:
            tool = self.folders.load(entry.path, origin)
        except DefinitionInvalid as invalid:
            raise invalid.as_tool_error(entry.name) from None
        if entry.broken:
            # The file itself is fine; where it lies, or what lies beside it, is not.
            problems = [Problem(entry.path, problem) for problem in entry.problems]
            raise DefinitionInvalid(problems).as_tool_error(entry.name)
        return self._trusted(tool)

    def _trusted(self, tool: Tool) -> Tool:
        state = self.trust_of(tool.origin)
        if state is Trust.PLACE:
            return tool
        creation = self._trust.creation(tool.origin.path, anew=False)
        creator = "" if creation is None else creation.creator
        place = (tool.origin.path, tool.origin.member)
        before = self._judged.get(place)
        known = before is not None and (before[1].trust, before[1].creator) == (state, creator)
        if known and before is not None and before[0] is tool:
            return before[1]  # the same object, by which others remember what they know of it
        helpers = {name: replace(inner, trust=state) for name, inner in tool.helpers.items()}
        judged = replace(tool, trust=state, helpers=helpers)
        if creator:
            # Whatever its file says by now.
            judged = replace(
                judged,
                creator=creator,
                requires_approval=True,
                approval_reason=tool.approval_reason or f"created by {creator}",
                permissions=tool.permissions or Permissions(),
            )
        self._judged[place] = (tool, judged)
        return judged

    def confirm(self, tool: Tool) -> None:
        """Look again at what is run where it lies: somebody may have taken long to approve it."""
        if tool.trust is not Trust.ACCEPTED or tool.origin.format not in (MANIFEST, EXECUTABLE):
            return
        try:
            now = self.bundle(tool).digest
        except DefinitionInvalid as invalid:
            raise invalid.as_tool_error(tool.name) from None
        if now != tool.origin.digest or self.trust_of(tool.origin) is not Trust.ACCEPTED:
            raise ToolError(
                ErrorCode.UNTRUSTED,
                f"{tool.name} was not run: {tool.origin.path} changed while it was being approved",
                blocked_by=BlockedBy.TRUST,
                hint=f"read it, then: tongs trust {tool.name}",
            )

    def trust_of(self, origin: Origin) -> Trust:
        """Whether a definition may run. User and global folders are trusted for their place."""
        if origin.scope is not Scope.LOCAL:
            return Trust.PLACE
        return self._trust.state_of(origin.path, origin.digest)

    def _linked(self, tool: Tool, above: tuple[str, ...]) -> Tool:
        """The tool with every tool that its steps name; a cycle is a mistake in the definition."""
        names = (*getattr(tool.plan, "nested_names", ()), *getattr(tool.plan, "uses", ()))
        linked = {n: self._linked(h, (*above, tool.name)) for n, h in tool.helpers.items()}
        if self._served is not None and getattr(tool.plan, "calls_servers", False):
            linked.update(self._served().used_by(tool))
        for name in names:
            if name in linked:
                continue
            if name in (*above, tool.name):
                chain = " > ".join((*above, tool.name, name))
                raise ToolError(ErrorCode.INVALID_DEFINITION, f"{tool.name} calls itself: {chain}")
            linked[name] = self._named(tool, name, above)
        return replace(tool, helpers=linked) if linked else tool

    def _named(self, tool: Tool, name: str, above: tuple[str, ...]) -> Tool:
        try:
            return self._linked(self._found(name, Scope.ANY), (*above, tool.name))
        except ToolError as error:
            if error.code is not ErrorCode.TOOL_NOT_FOUND:
                raise
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"{tool.name} uses the tool `{name}`, which does not exist",
                details=error.details,
            ) from None
