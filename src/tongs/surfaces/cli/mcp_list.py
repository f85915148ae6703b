"""`tongs mcp list`: the servers there are, and what is pinned of each. Starts none."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.servers_shown import known_wire
from tongs.surfaces.cli.table import one_line, table

if TYPE_CHECKING:
    from tongs.runtime.server_desk import Known

_HEADER = ("NAME", "SCOPE", "STATE", "TOOLS", "SINCE", "SOURCE")


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.server_desk import ServerDesk

    console = invocation.console
    for ignored in invocation.runtime.settings.ignored:
        console.warn(str(ignored))
    found = ServerDesk(invocation.runtime).known()
    if invocation.options.json:
        console.data(failure.result_json([known_wire(known) for known in found]))
        return failure.OK
    if not found:
        console.say("there are no MCP servers here")
        console.hint("tongs mcp add NAME -- COMMAND")
        return failure.OK
    for line in table(_HEADER, [_row(known) for known in found], console.width()):
        console.data(f"{line}\n")
    console.flush()
    for known in found:
        _say_more(invocation, known)
    return failure.OK


def _row(known: Known) -> tuple[str, ...]:
    pinned = known.pinned
    tools = [] if pinned is None else [pin for pin in pinned.tools.values() if not pin.gone]
    held = sum(pin.changed for pin in tools)
    count = str(len(tools)) + (f" ({held} held back)" if held else "")
    state = known.state if known.offered else f"{known.state}, for tools only"
    since = "-" if pinned is None else pinned.since
    return known.spec.name, str(known.spec.scope), state, count, since, one_line(known.spec.source)


def _say_more(invocation: Invocation, known: Known) -> None:
    name = known.spec.name
    if known.state == "changed":
        invocation.console.warn(f"{name} tells something else than was accepted")
        invocation.console.hint(f"tongs mcp pin {name} shows the difference")
    elif known.state == "never connected" and known.offered:
        invocation.console.say(f"{name} was never connected: nobody knows its tools")
        invocation.console.hint(f"tongs mcp inspect {name}")
