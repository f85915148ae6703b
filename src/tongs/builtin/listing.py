"""`list_directory`: what lies in a folder, in pages."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress

from tongs.builtin.facts import DEEPEST, FOLDER, LINK, OTHER, kind_of, moment
from tongs.builtin.trouble import out_of_time
from tongs.builtin.workspace import Spot, Workspace
from tongs.config.settings import Settings
from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible

_PAGE = 1000
_LARGEST_PAGE = 10_000

# The names of an entry below the listed folder, and what is known of it.
Entry: TypeAlias = tuple[tuple[str, ...], os.stat_result]

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "Directory, relative to the workspace root",
        },
        "recursive": {
            "type": "boolean",
            "default": False,
            "description": "Also list what lies in the directories below",
        },
        "includeHidden": {
            "type": "boolean",
            "default": False,
            "description": "Also list names that start with a dot",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _LARGEST_PAGE,
            "default": _PAGE,
            "description": "Most entries of one answer",
        },
        "cursor": {
            "type": "string",
            "description": "The cursor of the answer before, to get the next entries",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "type": {"enum": ["file", "directory", "symlink"]},
                    "size": {"type": "integer"},
                    "modified": {"type": "string", "description": "ISO 8601"},
                },
                "required": ["name", "type", "size", "modified"],
            },
        },
        "cursor": {"type": "string", "description": "Present where there is more"},
    },
    "required": ["entries"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="List files and directories in the workspace",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=ListDirectory(),
        tags=("read",),
        automatic=True,
        timeout=30.0,
        idempotent=True,
    )


class ListDirectory:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"list {visible(arguments['path'])}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _list(arguments, context))


def _list(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    after = tuple(arguments.get("cursor", "").split("/")) if arguments.get("cursor") else ()
    limit = arguments["limit"]
    page: list[Entry] = []
    special = 0
    more = False
    with Workspace.of(context) as workspace:
        path = arguments["path"]
        walk = _Walk(workspace, context, arguments)
        for entry in walk.below(workspace.to_read(path), path, (), after):
            if kind_of(entry[1].st_mode) == OTHER:
                special += 1
            elif len(page) == limit:
                more = True
                break
            else:
                page.append(entry)
    value: dict[str, Any] = {"entries": [_wire(*entry) for entry in page]}
    warnings = []
    if more:
        value["cursor"] = "/".join(page[-1][0])
    if special:
        warnings.append(f"{special} pipes, sockets or devices are not listed")
    if walk.closed:
        shown = ", ".join(visible(name) for name in walk.closed[:3])
        warnings.append(f"{len(walk.closed)} directories cannot be looked into: {shown}")
    return ToolResult(output=_text(value), value=value, warnings=warnings)


class _Walk:
    """Goes through folders in the order of names, so that a cursor is just the last path."""

    def __init__(
        self, workspace: Workspace, context: Context, arguments: Mapping[str, Any]
    ) -> None:
        self._workspace = workspace
        self._deadline = context.deadline
        self._name = context.tool.name
        self._hidden = arguments["includeHidden"]
        self._deep = arguments["recursive"]
        self.closed: list[str] = []

    def below(
        self, spot: Spot, path: str, above: tuple[str, ...], after: tuple[str, ...]
    ) -> Iterator[Entry]:
        """What comes after `after`, which names an entry below `spot`."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            raise out_of_time(self._name)
        first = after[0] if after else ""
        folder = self._workspace.open_folder(spot, path)
        try:
            names = sorted(name for name in os.listdir(folder) if self._wanted(name, first))
        finally:
            os.close(folder)
        for name, facts in self._facts(spot, path, names):
            below = (*above, name)
            begun = name == first
            if not begun:
                yield below, facts
            if self._deep and kind_of(facts.st_mode) == FOLDER:
                yield from self._inner(spot.below(name), below, after[1:] if begun else ())

    def _inner(self, spot: Spot, above: tuple[str, ...], after: tuple[str, ...]) -> Iterator[Entry]:
        if len(above) > DEEPEST:
            self.closed.append("/".join(above))
            return
        try:
            yield from self.below(spot, spot.path, above, after)
        except ToolError as error:
            if error.code is ErrorCode.TIMEOUT:
                raise
            self.closed.append("/".join(above))

    def _wanted(self, name: str, first: str) -> bool:
        return name >= first and (self._hidden or not name.startswith("."))

    def _facts(
        self, spot: Spot, path: str, names: list[str]
    ) -> Iterator[tuple[str, os.stat_result]]:
        """Some at a time: nobody may want the rest, and no folder stays open for all below it."""
        for start in range(0, len(names), _PAGE):
            folder = self._workspace.open_folder(spot, path)
            found = []
            try:
                for name in names[start : start + _PAGE]:
                    with suppress(OSError):  # it went away meanwhile
                        found.append((name, os.stat(name, dir_fd=folder, follow_symlinks=False)))
            finally:
                os.close(folder)
            yield from found


def _wire(names: tuple[str, ...], facts: os.stat_result) -> dict[str, Any]:
    return {
        "name": "/".join(names),
        "type": kind_of(facts.st_mode),
        "size": facts.st_size,
        "modified": moment(facts),
    }


def _text(value: Mapping[str, Any]) -> str:
    """One line for each: a folder ends in a slash, a link in an at sign."""
    marks = {FOLDER: "/", LINK: "@"}
    lines = [
        f"{entry['size']:>10}  {entry['modified'][:19]}Z  {entry['name']}"
        f"{marks.get(entry['type'], '')}\n"
        for entry in value["entries"]
    ]
    if "cursor" in value:
        lines.append(f"there is more: cursor: {value['cursor']}\n")
    return "".join(lines)
