"""Tools by name and scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.core.tool import Tool, Trust
from tongs.schema.nearest import nearest

# Names of built-in tools that no definition takes over: whoever uses them relies on them.
RESERVED = frozenset(
    "read_file write_file edit_file list_directory delete_file move_file search_files output_read"
    " shell run_code".split()
)


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of a definition without running it; `problems` make it unusable."""

    name: str
    description: str = ""
    scope: Scope = Scope.LOCAL
    format: str = "yaml"
    family: str = "tongs"
    path: str = ""
    tags: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    level: str = "run"
    network: bool = False
    parameters: tuple[str, ...] = ()
    digest: str = ""
    trust: Trust = Trust.PLACE
    problems: tuple[str, ...] = ()
    shadowed: bool = False
    clash: bool = False

    @property
    def qualified_name(self) -> str:
        return f"{self.format if self.family == 'tongs' else self.family}:{self.name}"

    @property
    def broken(self) -> bool:
        return bool(self.problems)


def find(entries: Sequence[Entry], name: str, scope: Scope) -> Entry:
    """The entry that answers to `name`; ToolError names the nearest, or the choices on a clash."""
    qualifier, _, short = name.rpartition(":")
    matching = [
        entry
        for entry in entries
        if scope.covers(entry.scope)
        and entry.name == short
        and (not qualifier or entry.qualified_name == name)
    ]
    for place in (*SEARCH_ORDER, Scope.BUILTIN):
        here = [entry for entry in matching if entry.scope is place]
        if len(here) == 1:
            return here[0]
        if here:
            raise _ambiguous(name, here)
    raise not_found(name, (entry.name for entry in entries if scope.covers(entry.scope)), scope)


def not_found(name: str, known: Iterable[str], scope: Scope = Scope.ANY) -> ToolError:
    close = nearest(name, known, most=3)
    where = "" if scope is Scope.ANY else f" in {scope} scope"
    return ToolError(
        ErrorCode.TOOL_NOT_FOUND,
        f"there is no tool `{name}`{where}",
        details={"nearest": close},
        hint=f"did you mean {' or '.join(f'`{n}`' for n in close)}?"
        if close
        else "tongs tool list shows the tools there are",
    )


def _ambiguous(name: str, here: Sequence[Entry]) -> ToolError:
    choices = sorted({entry.qualified_name for entry in here})
    files = ", ".join(entry.path for entry in here)
    return ToolError(
        ErrorCode.INVALID_DEFINITION,
        f"`{name}` is defined {len(here)} times in {here[0].scope} scope: {files}",
        details={"choices": choices},
        hint=f"name one: {', '.join(choices)}"
        if len(choices) == len(here)
        else "rename or remove one of the files",
    )


def marked(entries: Iterable[Entry]) -> list[Entry]:
    """The entries sorted for a reader, with shadowed names and clashes marked."""
    from tongs.core.record import replace  # noqa: PLC0415 - keeps the name local to its one use

    by_name: dict[str, list[Entry]] = {}
    for entry in entries:
        by_name.setdefault(entry.name, []).append(entry)
    result = []
    for name in sorted(by_name):
        if len(by_name[name]) == 1:
            result += by_name[name]
            continue
        same = sorted(by_name[name], key=lambda entry: SEARCH_ORDER.index(entry.scope))
        for entry in same:
            shadowed = entry.scope is not same[0].scope
            clash = sum(other.scope is entry.scope for other in same) > 1
            if shadowed or clash:
                entry = replace(entry, shadowed=shadowed, clash=clash)  # noqa: PLW2901 - marked copy
            result.append(entry)
    return result


@dataclass(slots=True)
class ToolRegistry:
    """Tools registered by a program, in front of those found in folders."""

    source: Callable[[str, Scope], Tool] | None = None
    tools: dict[str, Tool] = field(default_factory=dict)

    def register(self, tool: Tool) -> None:
        """Add a tool; refuses an input schema whose root is not `object`."""
        if not _object_root(tool.input_schema):
            raise ToolError(
                ErrorCode.INVALID_DEFINITION,
                f"{tool.name}: the root of its input schema must have type `object`",
                hint='use {"type": "object", "properties": {…}}',
            )
        self.tools[tool.name] = tool

    def get(self, name: str, scope: Scope = Scope.ANY) -> Tool:
        """The tool that answers to `name`; ToolError TOOL_NOT_FOUND with the nearest names."""
        if name in self.tools:
            return self.tools[name]
        if self.source is None:
            raise not_found(name, self.tools)
        return self.source(name, scope)

    def list(self) -> list[Tool]:
        return list(self.tools.values())


def _object_root(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "object"
