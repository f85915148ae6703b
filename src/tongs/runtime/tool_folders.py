"""The folders that tools lie in: listed from the cache, each tool loaded from its own bytes."""

from __future__ import annotations

import _thread  # the public module is one that a command line never needs
import os
import time
from collections.abc import Iterable, Iterator, Sequence

from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.config.settings import CustomTools
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.permissions import covered
from tongs.core.record import replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Origin, Tool, Trust
from tongs.registry import Entry, marked
from tongs.runtime.documents import discreet
from tongs.runtime.rows import (
    entries_of,
    parts_beside,
    row_beside,
    row_broken,
    row_of,
    row_of_file,
    why_not_own_whole,
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
from tongs.store.files import real_path
from tongs.store.trust import TrustStore

if TYPE_CHECKING:
    from tongs.runtime.bundle import Bundle
    from tongs.runtime.describing import Describer
    from tongs.runtime.python_files import PythonFiles

# Seconds for which nobody looks whether other tools belong to the project by now.
_LISTED = 1.0


class ToolFolders:
    """Every definition that lies in a folder, and those that were named one by one."""

    def __init__(
        self,
        places: Places,
        trust: TrustStore,
        cache: DefinitionCache,
        shapes: Shapes,
        custom_tools: CustomTools,
        loaded: Sequence[str],
    ) -> None:
        self._places = places
        self._trust = trust
        self._cache = cache
        self._shapes = shapes
        self._custom_tools = custom_tools
        self._loaded = loaded
        # The newest tool of each path, so that a running process compiles a definition once.
        self._tools: dict[tuple[str, str], Tool] = {}
        # Each of the project's folders as it was listed last, and what the accepted tools in that
        # consist of beside it.
        self._listed: dict[str, tuple[float, str, list[tuple[str, dict[str, Any]]]]] = {}
        self._beside: dict[str, tuple[float, tuple[str, ...]]] = {}
        # Threads may look for tools at the same time.
        self._lock = _thread.RLock()

    def files(self, scope: Scope = Scope.ANY) -> list[Entry]:
        """Every definition of the scope that lies in a folder."""
        return [entry for entry in marked(self.every()) if scope.covers(entry.scope)]

    def beside(self) -> tuple[str, ...]:
        """What the project's accepted tools run that does not lie in a tool folder."""
        custom = self._custom_tools
        for folder, family in self._places.tool_folders(Scope.LOCAL, local_dir=custom.local_dir):
            listed = self._listed.get(folder)
            if listed is None or time.monotonic() - listed[0] > _LISTED:
                self._listed[folder] = (time.monotonic(), family, [])
                for _ in self._folder(folder, family, Scope.LOCAL):
                    break  # to look at the first one lists them all
        return tuple(path for folder in [*self._listed] for path in self._spread(folder))

    def entry_at(self, path: str) -> Entry:
        """What lies at a path, usable or not."""
        real = os.path.realpath(path)
        for entry in self.every():
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
        """Everything that defines a tool of a folder, as it is now."""
        return self._shapes[tool.origin.format].bundle(tool)

    def load(self, path: str, origin: Origin, data: bytes | None = None) -> Tool:
        """The tool of a file, or of these bytes in its place; raises DefinitionInvalid."""
        known = self._tools.get((path, origin.member))
        try:
            tool = self._shapes[origin.format].load(path, origin, data, known)
        except DefinitionInvalid as invalid:
            raise discreet(invalid, path, origin.project) from None
        self._tools[path, origin.member] = tool
        return tool

    def every(self, name: str | None = None) -> Iterator[Entry]:
        """Every definition; with `name` at least those that have it."""
        for scope in SEARCH_ORDER:
            yield from self.in_scope(scope, name)

    def in_scope(self, scope: Scope, name: str | None) -> Iterator[Entry]:
        custom = self._custom_tools
        folders = self._places.tool_folders(
            scope, global_dir=custom.global_dir, local_dir=custom.local_dir
        )
        for folder, family in folders:
            if os.path.lexists(folder):  # most of those that may exist do not
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
            row = {**self._row(path, self._origin(scope, shape, family)), "shape": shape}
            named = os.path.dirname(path) if shape == MANIFEST else path
            if os.path.islink(named):
                row["parts"] = [*row.get("parts", ()), named]
            return row

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
            self._listed[folder] = (time.monotonic(), family, rows)
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

    def _spread(self, folder: str) -> tuple[str, ...]:
        """What the accepted tools of a listed folder consist of beside it, or behind a link."""
        when, family, rows = self._listed[folder]
        known = self._beside.get(folder)
        if known is None or known[0] != when:
            known = self._beside[folder] = (when, self._found_beside(folder, family, rows))
        return known[1]

    def _found_beside(
        self, folder: str, family: str, rows: list[tuple[str, dict[str, Any]]]
    ) -> tuple[str, ...]:
        trust_of = self._trust.states_in(folder)

        def holds(path: str, row: dict[str, Any]) -> bool:
            return trust_of(path, row.get("digest", "")).holds

        found = parts_beside(row for path, row in rows if row.get("parts") and holds(path, row))
        real, moved = real_path(folder), family == "kodelet" and self._custom_tools.local_dir
        # Elsewhere its name does not protect it.
        if (real != folder or moved) and (
            self._trust.state_of(folder, "").holds or any(holds(*each) for each in rows)
        ):
            found = (*found, real)
        # Whoever links to the whole project does not mean that nothing in it may change.
        return tuple(path for path in found if not covered(self._places.root, (path,)))

    def _row(self, path: str, origin: Origin) -> dict[str, Any]:
        """What a listing shows of a definition, as JSON for the cache."""
        shape: Any = self._shapes[origin.format]
        name = shape.name(path)
        try:
            if origin.format == PYTHON:
                return row_of_file(name, shape.all(path, origin))
            tool = self.load(path, origin)
        except DefinitionInvalid as invalid:
            row = row_broken(name, invalid.problems)
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
            if origin.scope is not Scope.LOCAL and (reason := why_not_own_whole(tool)):
                row["problems"] = [reason]
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
