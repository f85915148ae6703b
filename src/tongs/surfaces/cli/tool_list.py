"""`tongs tool list`: a table of what there is, or JSON."""

from __future__ import annotations

import json
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ToolError
from tongs.core.scope import Scope
from tongs.core.tool import Trust
from tongs.output import visible
from tongs.registry import RESERVED
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.registry import Entry
    from tongs.runtime import Runtime

_HEADER = ("NAME", "SCOPE", "KIND", "MAY", "DESCRIPTION")


def options(parser: Parser) -> None:
    add_scope_options(parser, default="any")
    parser.add_argument("--builtin", dest="scope", action="store_const", const="builtin")
    parser.add_argument("--contains", metavar="TEXT")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--watch", action="store_true")


def run(invocation: Invocation) -> int:
    for ignored in invocation.runtime.settings.ignored:
        invocation.console.warn(str(ignored))
    _print(invocation, invocation.runtime.entries(invocation.scope))
    _say_unconnected(invocation)
    if invocation.options.watch:
        _watch(invocation)
    return 0


def _say_unconnected(invocation: Invocation) -> None:
    """A listing starts nothing, so of some servers nobody knows yet what they offer."""
    runtime = invocation.runtime
    if not runtime.settings.mcp.servers or invocation.options.json:
        return
    from tongs.surfaces.cli.servers_shown import say_unconnected  # noqa: PLC0415 - where there are some

    say_unconnected(invocation.console, runtime.server_tools.unconnected(invocation.scope))


def _print(invocation: Invocation, entries: list[Entry]) -> None:
    if invocation.options.contains:
        wanted = invocation.options.contains.lower()
        entries = [entry for entry in entries if _contains(invocation.runtime, entry, wanted)]
    if invocation.options.json:
        # One line for each list where more than one may come.
        indent = None if invocation.options.watch else 2
        text = json.dumps(
            [entry_wire(entry) for entry in entries], indent=indent, ensure_ascii=False
        )
        invocation.console.data(text + "\n")
    else:
        _show(invocation, entries)
    invocation.console.flush()


def _watch(invocation: Invocation) -> None:
    """Print the list again whenever it changes, until the person has seen enough."""
    from tongs.runtime.watching import watch  # noqa: PLC0415 - loads a shared library

    with suppress(KeyboardInterrupt):
        for changes, entries in watch(invocation.runtime, invocation.scope):
            if not invocation.options.json:
                invocation.console.say("")
                for word, names in (
                    ("added", changes.added),
                    ("changed", changes.changed),
                    ("removed", changes.removed),
                ):
                    if names:
                        invocation.console.say(f"{word}: {', '.join(map(visible, names))}")
            _print(invocation, entries)


def entry_wire(entry: Entry) -> dict[str, Any]:
    """An entry as a program reads it."""
    return {
        "name": entry.name,
        "description": entry.description,
        "scope": str(entry.scope),
        "kind": kind(entry),
        "may": may(entry),
        "qualifiedName": entry.qualified_name,
        "path": entry.path,
        "parameters": list(entry.parameters),
        "tags": list(entry.tags),
        "platforms": list(entry.platforms),
        "level": str(entry.level),
        "network": bool(entry.network),
        "trust": str(entry.trust),
        "digest": entry.digest,
        "problems": list(entry.problems),
        "shadowed": entry.shadowed,
        "clash": entry.clash,
    }


def kind(entry: Entry) -> str:
    """The word before the colon of its qualified name."""
    return entry.format if entry.family == "tongs" else entry.family


def may(entry: Entry) -> str:
    """What it claims to do: `read`, `write+net`, …; nothing is known of a broken one."""
    if entry.broken:
        return "-"
    return f"{entry.level}+net" if entry.network else str(entry.level)


def marks(entry: Entry) -> list[str]:
    """What needs the person's attention."""
    found = []
    if entry.broken:
        found.append("broken")
    elif not entry.trust.holds or entry.trust is Trust.DEV:
        found.append(str(entry.trust))
    if entry.clash:
        found.append("clash")
    if entry.shadowed:
        found.append("shadowed")
    if entry.name in RESERVED and entry.scope is not Scope.BUILTIN:
        found.append("reserved")
    return found


def _show(invocation: Invocation, entries: list[Entry]) -> None:
    console = invocation.console
    if not entries:
        console.say("no tools found")
        console.hint("tongs help tool add")
        return
    noted = [marks(entry) for entry in entries]
    rows = [_row(entry, found) for entry, found in zip(entries, noted, strict=True)]
    header, *lines = table(_HEADER, rows, console.width())
    painted = [
        console.paint(line, _color(found)) if found else line
        for found, line in zip(noted, lines, strict=True)
    ]
    console.styled("\n".join([console.paint(header, "bold"), *painted, ""]))
    console.flush()
    for entry in entries:
        for problem in entry.problems:
            console.warn(f"{entry.name} is broken: {problem}")
        if entry.clash:
            console.warn(f"{entry.name} is defined more than once in {entry.scope}: {entry.path}")


def _row(entry: Entry, noted: list[str]) -> tuple[str, ...]:
    text = one_line(entry.description)
    if noted:
        text = "".join(f"[{mark}] " for mark in noted) + text
    cells = (entry.name, str(entry.scope), kind(entry), may(entry), text)
    # The name may be that of a file, and a file name may hold newlines: no row can fake another.
    whole = "".join(cells)
    if whole.isascii() and whole.isprintable():
        return cells
    return tuple(visible(cell).replace("\n", "\\n") for cell in cells)


def _color(noted: list[str]) -> str:
    if "broken" in noted or "clash" in noted:
        return "red"
    return "dim" if {"shadowed", "reserved"} & set(noted) else "yellow"


def _contains(runtime: Runtime, entry: Entry, wanted: str) -> bool:
    known = (entry.name, entry.description, *entry.tags)
    if any(wanted in text.lower() for text in known):
        return True
    if entry.served:
        return False
    try:
        text = runtime.definitions.catalogue.folders.read(entry.path).decode("utf-8", "replace")
    except ToolError:
        return False
    return wanted in text.lower()
