"""MCP servers as a person reads them: what they may do, what they offer, what has changed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tongs.approvers.terminal_question import permissions_line
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.servers import ServerSpec
from tongs.output import visible
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.table import one_line

if TYPE_CHECKING:
    from tongs.runtime.server_desk import Change, Inspected, Known

_COUNTS_AS = {
    "read": "reading: it has no network and nothing to write",
    "write": "writing: it has no network",
    "run": "running anything: it has the network",
}


def granted(spec: ServerSpec) -> Iterator[str]:
    """What a server is given, in words."""
    from tongs.runtime.servers import level_of  # noqa: PLC0415 - where one is shown

    if spec.remote:
        yield f"{spec.name} is asked at {visible(spec.address)}; nothing of it runs here"
    else:
        words = " ".join(visible(word) for word in spec.command)
        yield f"{spec.name} is started behind walls: {words}"
        yield f"  it may    {permissions_line(spec.wanted)}"
    given = [*spec.env, *spec.headers]
    if given:
        yield f"  it gets   {', '.join(map(visible, given))}"
    level = level_of(spec).value
    counts = "running anything: what it does elsewhere nobody can hold" if spec.remote else ""
    yield f"  counts as {counts or _COUNTS_AS[level]}"


def changed(change: Change) -> Iterator[str]:
    """One tool that is not what was accepted, first in words."""
    yield f"{change.tool}: {'; '.join(change.words)}"
    if change.told is not None:
        yield from (f"  {line}" for line in change.text.splitlines())


def tool_rows(inspected: Inspected) -> list[tuple[str, ...]]:
    """The tools of a server that was asked: what is held, and what it claims."""
    from tongs.runtime.server_desk import claims_of  # noqa: PLC0415 - where one is shown
    from tongs.runtime.servers import level_of, terms_of  # noqa: PLC0415 - as above

    spec, held = inspected.spec, {change.tool for change in inspected.changes}
    rows: list[tuple[str, ...]] = []
    for told in inspected.listing.tools:
        name = str(told["name"])
        terms = terms_of(spec, name)
        state = "changed" if name in held else "pinned" if terms.enabled else "off"
        level = ", ".join(terms.tags) or level_of(spec).value
        claims = ", ".join(claims_of(told)) or "-"
        text = one_line(str(told.get("description") or told.get("title") or ""))
        rows.append((name, state, level, visible(claims), visible(text)))
    return rows


def spec_wire(spec: ServerSpec) -> dict[str, Any]:
    """A server as a program reads it; no value of its environment, and no header."""
    from tongs.runtime.servers import level_of  # noqa: PLC0415 - where one is shown

    return {
        "name": spec.name,
        "command": list(spec.command),
        "url": spec.address,
        "env": sorted(spec.env),
        "headers": sorted(spec.headers),
        "permissions": spec.wanted.to_wire(),
        "level": level_of(spec).value,
        "enabled": spec.enabled,
        "scope": str(spec.scope),
        "source": spec.source,
    }


def known_wire(known: Known) -> dict[str, Any]:
    pinned = known.pinned
    tools = [] if pinned is None else [pin for pin in pinned.tools.values() if not pin.gone]
    return {
        **spec_wire(known.spec),
        "state": known.state,
        "offered": known.offered,
        "since": None if pinned is None else pinned.since,
        "tools": [pin.name for pin in tools],
        "changed": [pin.name for pin in tools if pin.changed],
    }


def inspected_wire(inspected: Inspected) -> dict[str, Any]:
    listing, pinned = inspected.listing, inspected.pinned
    changes = {change.tool: list(change.words) for change in inspected.changes}
    return {
        **spec_wire(inspected.spec),
        "title": listing.name,
        "version": listing.version,
        "instructions": listing.instructions,
        "since": pinned.since,
        "firstConnection": inspected.first,
        "tools": [
            {**each, "changes": changes.get(str(each["name"]), [])} for each in listing.tools
        ],
        "gone": [name for name, pin in pinned.tools.items() if pin.gone],
        "problems": list(listing.problems),
    }


def say_unconnected(console: Console, names: Sequence[str]) -> None:
    """Of some servers nobody knows yet what they offer."""
    if names:
        were = "server was" if len(names) == 1 else "servers were"
        console.say(f"{len(names)} MCP {were} never connected: {', '.join(names)}")
        console.hint(f"tongs mcp inspect {names[0]}")
