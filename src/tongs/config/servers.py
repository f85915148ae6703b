"""`mcp` of the config: servers by name, and the same in files of their own (`mcp/NAME.yml`).

Servers of config.yml are offered to everybody. A file `mcp/NAME.yml` in a scope folder describes
one for the tools that name it in `uses.mcp`, and for nobody else.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from tongs.config.ownership import unaccepted, why_not_own
from tongs.config.places import Places
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.servers import ServerSpec, ToolTerms
from tongs.schema.document import Document
from tongs.schema.units import duration, limits

FOLDER, SCHEMA = "mcp", "server"
ENDINGS = (".yml", ".yaml")
# As in the schema. One `_` at a time and none at the end, so that `__` always parts the names.
NAME = re.compile(r"[A-Za-z0-9](?:_?[A-Za-z0-9-])*")
LONGEST = 64
_DURATIONS = ("timeout", "start_timeout", "idle")


def is_name(text: str) -> bool:
    return len(text) <= LONGEST and NAME.fullmatch(text) is not None


def servers_of(document: Document, scope: Scope, project: str | None) -> dict[str, ServerSpec]:
    """The servers of a checked config."""
    written = (document.data.get("mcp") or {}).get("servers") or {}
    return {
        name: server_of(
            name,
            data,
            source=f"{document.source}:{document.line_of(('mcp', 'servers', name))}",
            scope=scope,
            project=project,
        )
        for name, data in written.items()
    }


def server_of(
    name: str, data: Mapping[str, Any], *, source: str, scope: Scope, project: str | None
) -> ServerSpec:
    """One server that the schema has accepted."""
    permissions = data.get("permissions")
    times = {key: duration(data[key]) for key in _DURATIONS if key in data}
    return ServerSpec(
        name=name,
        command=_command(data),
        env={variable: _text(variable, value) for variable, value in _items(data, "env")},
        cwd=str(data.get("cwd") or ""),
        url=str(data.get("url") or ""),
        headers=dict(_items(data, "headers")),
        permissions=None if permissions is None else Permissions.from_data(permissions),
        limits=limits(data.get("limits") or {}),
        enabled=bool(data.get("enabled", True)) and not data.get("disabled", False),
        tools={tool: _terms(terms or {}) for tool, terms in _items(data, "tools")},
        source=source,
        scope=scope,
        # Only what came with a project belongs to it.
        project=project if scope is Scope.LOCAL else None,
        **times,
    )


def _items(data: Mapping[str, Any], key: str) -> Iterator[tuple[str, Any]]:
    yield from (data.get(key) or {}).items()


def _command(data: Mapping[str, Any]) -> tuple[str, ...]:
    """A text alone is a program and its words, as in a shell; beside `args` it is the program."""
    written, rest = data.get("command") or (), tuple(map(str, data.get("args") or ()))
    if not isinstance(written, str):
        return (*written, *rest)
    if rest:
        return (written, *rest)
    from shlex import split  # noqa: PLC0415 - few write it so

    with suppress(ValueError):
        return tuple(split(written))
    return (written,)


def _text(variable: str, value: Any) -> str:
    if value is None:
        return f"env:{variable}"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _terms(data: Mapping[str, Any]) -> ToolTerms:
    return ToolTerms(
        enabled=bool(data.get("enabled", True)),
        tags=tuple(data.get("tags") or ()),
        approval=data.get("approval"),
        timeout=duration(data["timeout"]) if "timeout" in data else None,
    )


@dataclass(frozen=True, slots=True)
class ServerFiles:
    """Looks for `mcp/NAME.yml` around one place. `parse` gives a checked document."""

    places: Places
    parse: Callable[[str], Document]
    trusted: Callable[[Document], bool]

    def find(self, name: str) -> ServerSpec | None:
        """The nearest that the person vouches for.

        Raises ToolError where the only one came with the project and nobody accepted it, and
        DefinitionInvalid for one that cannot be used.
        """
        project_file = ""
        for scope in SEARCH_ORDER:
            for path in self._paths(scope, name):
                document = self._read(path, scope)
                if scope is Scope.LOCAL and not self.trusted(document):
                    project_file = path
                    continue
                project = self.places.project
                source = f"{path}:1"
                return server_of(name, document.data, source=source, scope=scope, project=project)
        if project_file:
            raise unaccepted(f"the server `{name}`", project_file)
        return None

    def names(self) -> list[str]:
        found: set[str] = set()
        for scope in SEARCH_ORDER:
            found.update(map(name_of, server_files(self._folder(scope) or "")))
        return sorted(filter(is_name, found))

    def _paths(self, scope: Scope, name: str) -> list[str]:
        folder = self._folder(scope)
        if folder is None or not is_name(name):
            return []
        paths = [os.path.join(folder, FOLDER, name + ending) for ending in ENDINGS]
        found = [path for path in paths if os.path.lexists(path)]
        if len(found) > 1:
            both = " and ".join(map(os.path.basename, found))
            raise DefinitionInvalid([Problem(found[0], f"{both} define the same server; keep one")])
        return found

    def _read(self, path: str, scope: Scope) -> Document:
        around = os.path.dirname(path)
        if scope is not Scope.LOCAL and (reason := why_not_own(path) or why_not_own(around)):
            raise DefinitionInvalid([Problem(path, reason, rule="ownership")])
        return self.parse(path)

    def _folder(self, scope: Scope) -> str | None:
        files = dict(self.places.config_files())
        return os.path.dirname(files[scope]) if scope in files else None


def server_files(folder: str) -> list[str]:
    """The files of servers beside the config.yml of a folder."""
    with suppress(OSError):
        names = sorted(os.listdir(os.path.join(folder, FOLDER)))
        return [os.path.join(folder, FOLDER, name) for name in names if name.endswith(ENDINGS)]
    return []


def name_of(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
