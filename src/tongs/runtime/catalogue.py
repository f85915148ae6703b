"""The tools of all folders: listed from the cache, loaded from their own bytes."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from tongs.builtin import Builtins
from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.config.settings import CustomTools
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.digest import digest_of
from tongs.core.errors import BlockedBy, DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.permissions import Permissions
from tongs.core.record import replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Origin, Tool, Trust
from tongs.registry import SERVED, Entry, find, marked, not_found
from tongs.runtime.rows import (
    entries_of,
    parts_beside,
    row_beside,
    row_of,
    row_of_file,
    shown,
)
from tongs.runtime.shape_readers import Shapes
from tongs.runtime.shapes import (
    ENDINGS,
    EXECUTABLE,
    MANIFEST,
    MANIFESTS,
    OF_FAMILY,
    PYTHON,
    YAML,
    listed,
    manifest_in,
    shape_at,
)
from tongs.store.cache import DefinitionCache
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.runtime.bundle import Bundle
    from tongs.runtime.describing import Describer
    from tongs.runtime.later import Served
    from tongs.runtime.python_files import PythonFiles


# Seconds for which nobody looks whether another file answers to a name by now.
_RECENT = 0.2
# Seconds for which nobody looks whether other tools belong to the project by now.
_LISTED = 1.0


class Catalogue:
    """Everything defined for one place. Runs nothing that the person has not trusted."""

    def __init__(
        self,
        places: Places,
        trust: TrustStore,
        cache: DefinitionCache,
        shapes: Shapes,
        builtins: Builtins,
        *,
        custom_tools: CustomTools | None = None,
        loaded: Sequence[str] = (),
        served: Served | None = None,
    ) -> None:
        self._places = places
        self._trust = trust
        self._shapes = shapes
        self._builtins = builtins
        self._custom_tools = custom_tools or CustomTools()
        self._loaded = loaded
        self._served = served
        self._cache = cache
        # The newest tool of each path, so that a running process compiles a definition once.
        self._tools: dict[tuple[str, str], Tool] = {}
        # Where a name led a moment ago.
        self._recent: dict[tuple[str, Scope], tuple[float, Entry]] = {}
        # Each with the same tool as it is when its trust is known.
        self._judged: dict[tuple[str, str], tuple[Tool, Tool]] = {}
        # What the accepted tools of each of the project's folders consist of beside it.
        self._beside: dict[str, tuple[float, tuple[str, ...]]] = {}
        # Threads may look for tools at the same time.
        self._lock = _thread.RLock()

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope, usable or not, sorted by name and lookup order.

        What comes with Tongs is no definition, and is listed only where it is asked for.
        """
        if scope is Scope.BUILTIN:
            tools = map(self._builtins.get, self._builtins.names())
            return [shown(tool) for tool in tools if tool is not None]
        files = self.files(scope)
        if not self._served:
            return files
        served = self._served()
        own = [
            replace(entry, shadowed=True) if served.owner(entry.name) else entry for entry in files
        ]
        # A file of the same name comes after what it does not take the name from.
        return sorted([*served.entries(scope), *own], key=lambda entry: entry.name)

    def files(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope that lies in a folder."""
        return [entry for entry in marked(self._all()) if scope.covers(entry.scope)]

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
            if scope.covers(place) and (here := list(self._in_scope(place, short))):
                try:
                    return find(here, name, place)
                except ToolError as error:
                    if error.code is not ErrorCode.TOOL_NOT_FOUND:
                        raise
        everything = list(self._all())
        if self._served:
            everything += self._served().entries()
        if scope.covers(Scope.BUILTIN):
            everything += self.entries(Scope.BUILTIN)
        # Models know executables by a prefix (seed 003); a tool whose own name has it comes first.
        for prefix in (self._custom_tools.prefix, "custom_tool_"):
            plain = name.removeprefix(prefix)
            if plain != name and any(entry.name == plain for entry in everything):
                name = plain
                break
        # The nearest names are found among all of them.
        return find(everything, name, scope)

    def beside(self) -> tuple[str, ...]:
        """What the project's accepted tools run that does not lie in a tool folder."""
        custom = self._custom_tools
        for folder, family in self._places.tool_folders(Scope.LOCAL, local_dir=custom.local_dir):
            known = self._beside.get(folder)
            if known is None or time.monotonic() - known[0] > _LISTED:
                self._beside[folder] = (time.monotonic(), ())
                for _ in self._folder(folder, family, Scope.LOCAL):
                    break  # to look at the first one lists them all
        return tuple(path for _, paths in self._beside.values() for path in paths)

    def at(self, path: str) -> Tool:
        """The tool of one file, also where another has its name; as `--load-tool` elsewhere."""
        return self._usable(self.entry_at(path))

    def entry_at(self, path: str) -> Entry:
        """What lies at a path, usable or not."""
        real = os.path.realpath(path)
        for entry in self._all():
            if real in (os.path.realpath(entry.path), os.path.realpath(_directory(entry))):
                return entry
        # Elsewhere this name is a manifest's; in a tool folder it is a tool called `tool`.
        if os.path.basename(real) in MANIFESTS:
            return next(self._given(os.path.dirname(real)))
        return next(self._given(os.path.abspath(path)))

    def origin_of(self, entry: Entry) -> Origin:
        """Where an entry comes from, for loading it."""
        origin = self._origin(entry.scope, entry.format, entry.family)
        return replace(origin, member=entry.member) if entry.member else origin

    def read(self, path: str) -> bytes:
        """The bytes of a file; ToolError if it cannot be read."""
        return self._shapes.read(path)

    def describer(self) -> Describer:
        """Who asks executables what they are."""
        shape: Any = self._shapes[EXECUTABLE]
        asked: Describer = shape.describer
        return asked

    def python_files(self) -> PythonFiles:
        """Who asks Python files which tools they have."""
        shape: Any = self._shapes[PYTHON]
        asked: PythonFiles = shape.files
        return asked

    def bundle(self, tool: Tool) -> Bundle:
        """Everything that defines a tool, as it is now; of a server's, what was accepted."""
        if tool.origin.format == SERVED:
            from tongs.registry.changes import as_text  # noqa: PLC0415 - servers only
            from tongs.runtime.bundle import Bundle  # noqa: PLC0415 - as above

            return Bundle(tool.origin.digest, as_text(tool.plan.definition).encode())
        return self._shapes[tool.origin.format].bundle(tool)

    def load(self, path: str, origin: Origin, data: bytes | None = None) -> Tool:
        """The tool of a file, or of these bytes in its place; raises DefinitionInvalid."""
        known = self._tools.get((path, origin.member))
        tool = self._shapes[origin.format].load(path, origin, data, known)
        self._tools[path, origin.member] = tool
        return tool

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
        when, entry = self._recent.get((name, scope), (0.0, None))
        if entry is None or now - when > _RECENT or not os.path.lexists(entry.path):
            entry = self.entry(name, scope)
            if entry.scope is Scope.BUILTIN:
                raise not_found(name, ())  # no definition has the name
            if entry.broken:
                self._recent.pop((name, scope), None)
            else:
                self._recent[name, scope] = (now, entry)
        return self._usable(entry)

    def _usable(self, entry: Entry) -> Tool:
        if entry.scope is Scope.BUILTIN and (own := self._builtins.get(entry.name)) is not None:
            return own
        try:
            tool = self.load(entry.path, self.origin_of(entry))
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

    def _all(self, name: str | None = None) -> Iterator[Entry]:
        """Every definition; with `name` at least those that have it."""
        for scope in SEARCH_ORDER:
            yield from self._in_scope(scope, name)

    def _in_scope(self, scope: Scope, name: str | None) -> Iterator[Entry]:
        custom = self._custom_tools
        folders = self._places.tool_folders(
            scope, global_dir=custom.global_dir, local_dir=custom.local_dir
        )
        for folder, family in folders:
            yield from self._folder(folder, family, scope, name)
        for given in self._loaded if scope is Scope.LOCAL else ():
            path = os.path.abspath(given)
            if os.path.isdir(path) and manifest_in(path) is None:
                yield from self._folder(path, "tongs", Scope.LOCAL, name)
            else:
                yield from self._given(path)

    def _given(self, path: str) -> Iterator[Entry]:
        shape = shape_at(path)
        path = (manifest_in(path) or path) if shape == MANIFEST else path
        origin = self._origin(Scope.LOCAL, shape, "tongs")
        row = self._row(path, origin)
        trust = self._trust.state_of(path, row.get("digest", ""))
        yield from self._entries_of(path, row, origin, trust)

    def _origin(self, scope: Scope, shape: str, family: str) -> Origin:
        project = self._places.project if scope is Scope.LOCAL else None
        if scope is Scope.LOCAL and project is None:
            project = self._places.root  # named by hand, where there is no project around it
        return Origin(scope=scope, format=shape, family=family, project=project)

    def _rows(self, folder: str, family: str, scope: Scope) -> list[tuple[str, dict[str, Any]]]:
        """What a listing shows of each file of a folder; OSError where it cannot be read."""
        shapes = [s for s in OF_FAMILY[family] if s != EXECUTABLE or self._custom_tools.enabled]

        def make(found: list[tuple[str, str]]) -> list[dict[str, Any]]:
            return self._shapes.together(found, made)

        def made(path: str, shape: str) -> dict[str, Any]:
            return {**self._row(path, self._origin(scope, shape, family)), "shape": shape}

        with self._lock:
            return self._cache.rows(folder, lambda: listed(folder, shapes), make)

    def _folder(
        self, folder: str, family: str, scope: Scope, name: str | None = None
    ) -> Iterator[Entry]:
        try:
            rows = self._rows(folder, family, scope)
        except OSError as error:
            if name is None:
                unread = str(Problem(folder, f"cannot be read: {error.strerror}"))
                yield Entry(folder, scope=scope, family=family, path=folder, problems=(unread,))
            return
        twins = _twins(path for path, _ in rows)
        origins: dict[str, Origin] = {}
        local = scope is Scope.LOCAL
        trust_of = self._trust.states_in(folder) if local and rows else _by_place
        if local:
            spread = [(path, row) for path, row in rows if row.get("parts")]
            accepted = [row for path, row in spread if trust_of(path, row["digest"]).holds]
            self._beside[folder] = (time.monotonic(), parts_beside(accepted))
        # User and global folders are trusted for their place, so the place must be the person's.
        distrust = None if local else why_not_own(folder)
        for path, row in rows:
            known = not row.get("unknown") and "members" not in row
            if name is not None and row["name"] != name and known:
                continue
            trust = trust_of(path, row.get("digest", ""))
            problem = distrust or (None if local else _not_own(path, row["shape"]))
            if path in twins:
                files = " and ".join(map(os.path.basename, twins[path]))
                problem = f"{path}: {files} define the same tool; keep one"
            shape = row["shape"]
            if (origin := origins.get(shape)) is None:
                origin = origins[shape] = self._origin(scope, shape, family)
            for entry in self._entries_of(path, row, origin, trust):
                if name is None or entry.name == name:
                    yield replace(entry, problems=(*entry.problems, problem)) if problem else entry

    def _row(self, path: str, origin: Origin) -> dict[str, Any]:
        """What a listing shows of a definition, as JSON for the cache."""
        shape: Any = self._shapes[origin.format]
        name = shape.name(path)
        try:
            if origin.format == PYTHON:
                return row_of_file(name, shape.all(path, origin))
            tool = self.load(path, origin)
        except DefinitionInvalid as invalid:
            row = {"name": name, "problems": [str(problem) for problem in invalid.problems]}
            if origin.format == PYTHON:
                # What it imports may be there next time.
                row |= {"unknown": True, "digest": digest_of(self.read(path))}
            return row
        except ToolError as error:
            return {"name": name, "problems": [error.message]}
        row = row_of(tool)
        if tool.trust is Trust.UNTRUSTED and origin.format == EXECUTABLE:
            row["unknown"] = True
        if origin.format == YAML and (also := self._shapes.configs_of(tool)):
            row["also"] = also
        if origin.format == MANIFEST:
            row |= row_beside(tool)
        return row

    def _entries_of(
        self, path: str, row: dict[str, Any], origin: Origin, trust: Trust
    ) -> list[Entry]:
        if row.get("unknown") and trust.holds:
            # It was not asked before; now it may be.
            self._cache.forget(os.path.dirname(path), os.path.basename(path))
            row = self._row(path, origin)
        return entries_of(path, row, origin, trust)


def _by_place(path: str, digest: str) -> Trust:
    return Trust.PLACE


def _not_own(path: str, shape: str) -> str | None:
    """Why a definition cannot be trusted for its place."""
    return why_not_own(path) or (why_not_own(os.path.dirname(path)) if shape == MANIFEST else None)


def _directory(entry: Entry) -> str:
    """What a person may name instead of a manifest."""
    return os.path.dirname(entry.path) if entry.format == MANIFEST else entry.path


def _twins(paths: Iterable[str]) -> dict[str, list[str]]:
    """Files that differ from another in their ending only, each with all of those."""
    by_stem: dict[str, list[str]] = {}
    for path in paths:
        if path.endswith(ENDINGS):
            by_stem.setdefault(path.rpartition(".")[0], []).append(path)
    several = [sorted(same) for same in by_stem.values() if len(same) > 1]
    return {path: same for same in several for path in same}
