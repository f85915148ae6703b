"""`tongs mcp inspect NAME`: ask a server what it is, what it has, and what of it has changed."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.output import visible
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.servers_shown import changed, granted, inspected_wire, tool_rows
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.runtime.server_desk import Inspected

_HEADER = ("TOOL", "STATE", "COUNTS AS", "CLAIMS", "DESCRIPTION")


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.server_desk import ServerDesk

    found = ServerDesk(invocation.runtime).inspect(invocation.options.name)
    if invocation.options.json:
        invocation.console.data(failure.result_json(inspected_wire(found)))
        return failure.OK
    for line in granted(found.spec):
        invocation.console.data(f"{line}\n")
    show_tools(invocation, found)
    for change in found.changes:
        invocation.console.data("\n" + "\n".join(changed(change)) + "\n")
    invocation.console.flush()
    say_first(invocation, found)
    if found.held:
        invocation.console.warn("what differs is held back until you accept it")
        invocation.console.hint(f"tongs mcp pin {found.spec.name}")
    return failure.OK


def show_tools(invocation: Invocation, found: Inspected) -> None:
    console, listing = invocation.console, found.listing
    title = f"{listing.name} {listing.version}".strip()
    console.data(f"  it is     {visible(title) or 'a server without a name'}\n\n")
    rows = tool_rows(found)
    for line in table(_HEADER, rows, console.width()) if rows else ("it has no tools",):
        console.data(f"{line}\n")
    console.flush()
    for problem in listing.problems:
        console.warn(problem)


def say_first(invocation: Invocation, found: Inspected) -> None:
    """Trust on first use is said aloud."""
    if found.first:
        count = len(found.listing.tools)
        invocation.console.say(
            f"this was its first connection: its {count} tools are pinned as they are now"
        )
