"""The tools of all folders: listed from the cache, loaded from their own bytes."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence

from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.record import replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Level, Origin, Tool, Trust
from tongs.policy.permissions import NETWORK_TAGS
from tongs.registry import Entry, find, marked
from tongs.runtime.documents import Documents
from tongs.store.cache import DefinitionCache
from tongs.store.trust import TrustStore

ENDINGS = (".yaml", ".yml")


class Catalogue:
    """Everything defined for one place. Reads; never runs anything it finds."""

    def __init__(
        self,
        places: Places,
        trust: TrustStore,
        cache: DefinitionCache,
        *,
        platform: str,
        default_shell: str,
        loaded: Sequence[str] = (),
    ) -> None:
        self._places = places
        self._trust = trust
        self._platform = platform
        self._default_shell = default_shell
        self._loaded = loaded
        self._cache = cache
        self._documents = Documents(cache)
        # The newest tool of each path, so that a running process compiles a definition once.
        self._tools: dict[str, Tool] = {}

    def entries(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope, usable or not, sorted by name and lookup order."""
        return [entry for entry in marked(self._all()) if scope.covers(entry.scope)]

    def find(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to a name, with the tools it calls linked to it."""
        return self._linked(self._found(name, scope), ())

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
        # Models know executables by a prefix (seed 003); a tool whose own name has it comes first.
        plain = name.removeprefix("custom_tool_")
        if any(entry.name == plain for entry in everything):
            name = plain
        # The nearest names are found among all of them.
        return find(everything, name, scope)

    def at(self, path: str) -> Tool:
        """The tool of one file, also where another has its name; as `--load-tool` elsewhere."""
        real = os.path.realpath(path)
        for entry in self._all():
            if os.path.realpath(entry.path) == real:
                return self._usable(entry)
        return self._usable(self._given(path))

    def read(self, path: str) -> bytes:
        return self._documents.read(path)

    def load(self, path: str, origin: Origin, data: bytes) -> Tool:
        """A tool from these bytes; raises DefinitionInvalid."""
        from tongs.formats import yaml  # noqa: PLC0415 - a listing from the cache needs no format
        from tongs.formats.yaml_steps import Host  # noqa: PLC0415 - as above

        digest = digest_of(data)
        located = replace(origin, digest=digest, path=path)
        known = self._tools.get(path)
        if known is not None and known.origin == located:
            return known
        host = Host(self._platform, self._default_shell)
        document = self._documents.parsed(data, path, yaml.SCHEMA)
        checked = document.checked == yaml.SCHEMA
        tool = yaml.load(document, located, host, checked=checked)
        if not checked:
            self._documents.keep(document, yaml.SCHEMA)
        self._tools[path] = tool
        return tool

    def _found(self, name: str, scope: Scope) -> Tool:
        return self._usable(self.entry(name, scope))

    def _usable(self, entry: Entry) -> Tool:
        origin = Origin(
            scope=entry.scope,
            format=entry.format,
            family=entry.family,
            project=self._places.project if entry.scope is Scope.LOCAL else None,
        )
        try:
            tool = self.load(entry.path, origin, self._documents.read(entry.path))
        except DefinitionInvalid as invalid:
            raise invalid.as_tool_error(entry.name) from None
        if entry.broken:
            # The file itself is fine; where it lies, or what lies beside it, is not.
            problems = [Problem(entry.path, problem) for problem in entry.problems]
            raise DefinitionInvalid(problems).as_tool_error(entry.name)
        return self._trusted(tool)

    def _trusted(self, tool: Tool) -> Tool:
        if tool.origin.scope is not Scope.LOCAL:
            return tool
        state = self._trust.state_of(tool.origin.path, tool.origin.digest)
        helpers = {name: replace(inner, trust=state) for name, inner in tool.helpers.items()}
        return replace(tool, trust=state, helpers=helpers)

    def _linked(self, tool: Tool, above: tuple[str, ...]) -> Tool:
        """The tool with every tool that its steps name; a cycle is a mistake in the definition."""
        names = (*tool.plan.nested_names, *tool.plan.uses)
        linked = {n: self._linked(h, (*above, tool.name)) for n, h in tool.helpers.items()}
        for name in names:
            if name in linked or _is_on_server(tool, name):
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
        for folder, family in self._places.tool_folders(scope):
            yield from self._folder(folder, family, scope, name)
        for given in self._loaded if scope is Scope.LOCAL else ():
            path = os.path.abspath(given)
            if os.path.isdir(path):
                yield from self._folder(path, "tongs", Scope.LOCAL, name)
            else:
                yield self._given(path)

    def _given(self, path: str) -> Entry:
        row = self._row(path)
        trust = self._trust.state_of(path, row.get("digest", ""))
        return self._entry(path, row, "tongs", Scope.LOCAL, trust)

    def _folder(
        self, folder: str, family: str, scope: Scope, name: str | None = None
    ) -> Iterator[Entry]:
        try:
            rows = self._cache.rows(folder, _is_definition, self._row)
        except OSError as error:
            if name is None:
                unread = str(Problem(folder, f"cannot be read: {error.strerror}"))
                yield Entry(folder, scope=scope, family=family, path=folder, problems=(unread,))
            return
        present = {path for path, _ in rows}
        local = scope is Scope.LOCAL
        trust_of = self._trust.states_in(folder) if local else _by_place
        # User and global folders are trusted for their place, so the place must be the person's.
        distrust = None if local else why_not_own(folder)
        for path, row in rows:
            if name is not None and row["name"] != name:
                continue
            trust = trust_of(path, row.get("digest", ""))
            entry = self._entry(path, row, family, scope, trust)
            problem = distrust or (None if local else why_not_own(path))
            if len(twins := _twins(path, present)) > 1:
                files = " and ".join(os.path.basename(twin) for twin in sorted(twins))
                problem = f"{path}: {files} define the same tool; keep one"
            yield replace(entry, problems=(*entry.problems, problem)) if problem else entry

    def _row(self, path: str) -> dict[str, Any]:
        """What a listing shows of a definition, as JSON for the cache."""
        name = os.path.splitext(os.path.basename(path))[0]
        try:
            tool = self.load(path, Origin(), self._documents.read(path))
        except DefinitionInvalid as invalid:
            return {"name": name, "problems": [str(problem) for problem in invalid.problems]}
        except ToolError as error:
            return {"name": name, "problems": [error.message]}
        declared = tool.permissions
        return {
            "name": tool.name,
            "description": tool.description,
            "tags": list(tool.tags),
            "platforms": list(tool.platforms),
            "level": tool.level.value,
            "network": bool(declared.network)
            if declared is not None
            else not NETWORK_TAGS.isdisjoint(tool.tags),
            "parameters": list(tool.input_schema["properties"]),
            "digest": tool.origin.digest,
        }

    def _entry(
        self, path: str, row: dict[str, Any], family: str, scope: Scope, trust: Trust
    ) -> Entry:
        return Entry(
            name=row["name"],
            description=row.get("description", ""),
            scope=scope,
            family=family,
            path=path,
            tags=tuple(row.get("tags", ())),
            platforms=tuple(row.get("platforms", ())),
            level=row.get("level", Level.RUN.value),
            network=row.get("network", False),
            parameters=tuple(row.get("parameters", ())),
            digest=row.get("digest", ""),
            trust=trust,
            problems=tuple(row.get("problems", ())),
        )


def _is_definition(name: str) -> bool:
    return name.endswith(ENDINGS) and not name.startswith(".")


def _twins(path: str, present: Collection[str]) -> list[str]:
    """The file and those beside it that differ in their ending only."""
    stem = os.path.splitext(path)[0]
    return [stem + ending for ending in ENDINGS if stem + ending in present]


def _by_place(path: str, digest: str) -> Trust:
    return Trust.PLACE


def _is_on_server(tool: Tool, name: str) -> bool:
    return any(
        getattr(step.action, "server", None) and step.action.tool == name
        for step in tool.plan.steps
    )
