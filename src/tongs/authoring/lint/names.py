"""What only shows when definitions stand side by side: clashes, hidden names, calls to nobody."""

from __future__ import annotations

import os.path
from collections.abc import Iterator, Mapping, Sequence

from tongs.authoring.lint.rules import RULES
from tongs.authoring.lint.view import Definition
from tongs.core.errors import Problem
from tongs.core.scope import SEARCH_ORDER
from tongs.registry import RESERVED, Entry, marked
from tongs.schema.document import Document
from tongs.schema.nearest import nearest


def check_names(entries: Sequence[Entry], documents: Mapping[str, Document]) -> Iterator[Problem]:
    """Clashes and hidden names among the definitions that one call could find.

    `documents` by path gives the lines; an entry whose file is no YAML has none.
    """
    twins = _twins(entries)
    for entry in marked(entries):
        others = [e for e in entries if e.name == entry.name and e.path != entry.path]
        stem = os.path.splitext(entry.path)[0]
        if entry.path in twins.get(stem, ()):
            first, second = (os.path.basename(path) for path in twins[stem][:2])
            message = f"{first} and {second} define the same tool"
            yield _problem("duplicate-file", entry, documents, message)
        elif entry.clash:
            same = [e.path for e in others if e.scope is entry.scope]
            message = f"`{entry.name}` is also defined in {', '.join(same)}"
            yield _problem("duplicate-name", entry, documents, message, _apart(entry, others))
        if entry.shadowed:
            nearer = min(others, key=lambda e: SEARCH_ORDER.index(e.scope))
            message = f"`{entry.name}` reaches {nearer.path} ({nearer.scope} scope) instead"
            yield _problem("shadowed-tool", entry, documents, message)
        if entry.name in RESERVED:
            message = f"`{entry.name}` is the name of a built-in tool"
            fix = f"choose another name, or call it as {entry.qualified_name}"
            yield _problem("reserved-name", entry, documents, message, fix)


def check_calls(
    definitions: Sequence[tuple[str, Definition]], known: frozenset[str]
) -> Iterator[Problem]:
    """Tools called by name that do not exist, and circles of calls.

    Each definition comes with the name of its file's tool, also a private one inside that tool;
    `known` are the names that a call could find.
    """
    graph: dict[str, list[str]] = {}
    for name, definition in definitions:
        graph.setdefault(name, []).extend(_called(definition))
    for name, definition in definitions:
        private = {str(inner.get("name")) for inner in _inline(definition)}
        for path, called in _calls(definition):
            if called in private:
                continue
            short = called.rpartition(":")[2]
            if short not in known:
                close = nearest(called, known)
                fix = f"did you mean `{close[0]}`?" if close else ""
                message = f"there is no tool `{called}`"
                yield definition.finding("unknown-tool", path, message, fix=fix)
            elif "uses" not in path and (circle := _circle(graph, name, short)) is not None:
                message = f"{name} calls itself: {' > '.join(circle)}"
                yield definition.finding("tool-cycle", path, message)


def check_servers(
    definitions: Sequence[tuple[str, Definition]], known: frozenset[str]
) -> Iterator[Problem]:
    """MCP servers that definitions name and nobody has; `known` as in `check_calls`."""
    # A tool inside of another one also has the servers of that one.
    inline: dict[str, set[str]] = {}
    for name, definition in definitions:
        found = (definition.data.get("with") or {}).get("mcps") or ()
        inline.setdefault(name, set()).update(str(each.get("name")) for each in found)
    for name, definition in definitions:
        here = known | inline[name]
        for path, server in _servers(definition):
            if server not in here:
                close = nearest(server, here)
                fix = f"did you mean `{close[0]}`?" if close else ""
                message = f"there is no MCP server `{server}`"
                yield definition.finding("unknown-server", path, message, fix=fix)


def _servers(definition: Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for action in definition.actions:
        if "mcp" in action.data and "tool" in action.data:
            yield (*action.path, "mcp"), str(action.data["mcp"])
    uses = definition.data.get("uses") or {}
    if "mcp" in uses:
        yield (*definition.path, "uses", "mcp"), str(uses["mcp"])
    for index, name in enumerate(uses.get("mcps") or ()):
        yield (*definition.path, "uses", "mcps", index), str(name)


def _calls(definition: Definition) -> Iterator[tuple[tuple[str | int, ...], str]]:
    for action in definition.actions:
        if "tool" in action.data and "mcp" not in action.data:
            yield (*action.path, "tool"), str(action.data["tool"])
    uses = definition.data.get("uses") or {}
    if "tool" in uses:
        yield (*definition.path, "uses", "tool"), str(uses["tool"])
    for index, name in enumerate(uses.get("tools") or ()):
        yield (*definition.path, "uses", "tools", index), str(name)


def _called(definition: Definition) -> list[str]:
    private = {str(inner.get("name")) for inner in _inline(definition)}
    return [
        name.rpartition(":")[2]
        for path, name in _calls(definition)
        if name not in private and "uses" not in path
    ]


def _inline(definition: Definition) -> Sequence[Mapping[str, object]]:
    return (definition.data.get("with") or {}).get("tools") or ()


def _circle(graph: Mapping[str, list[str]], start: str, first: str) -> tuple[str, ...] | None:
    """The way from `first` back to `start`, if there is one."""
    waiting: list[tuple[str, ...]] = [(start, first)]
    seen = {first}
    while waiting:
        way = waiting.pop(0)
        if way[-1] == start:
            return way
        for name in graph.get(way[-1], ()):
            if name not in seen:
                seen.add(name)
                waiting.append((*way, name))
    return None


def _apart(entry: Entry, others: Sequence[Entry]) -> str:
    """How to call each of them, where their qualified names differ."""
    same = [other.qualified_name for other in others if other.scope is entry.scope]
    if entry.qualified_name in same:
        return ""
    return f"rename one of them, or call this one as {entry.qualified_name}"


def _twins(entries: Sequence[Entry]) -> dict[str, list[str]]:
    by_stem: dict[str, list[str]] = {}
    for path in sorted({entry.path for entry in entries if entry.format == "yaml"}):
        by_stem.setdefault(os.path.splitext(path)[0], []).append(path)
    return {stem: paths for stem, paths in by_stem.items() if len(paths) > 1}


def _problem(
    rule: str, entry: Entry, documents: Mapping[str, Document], message: str, fix: str = ""
) -> Problem:
    document = documents.get(entry.path)
    declared = document is not None and isinstance(document.data, dict) and "name" in document.data
    return Problem(
        file=entry.path,
        message=message,
        line=document.line_of(("name",)) if document is not None and declared else 0,
        field="name" if declared else "",
        rule=rule,
        severity=RULES[rule].severity,
        hint=fix or RULES[rule].fix,
    )
