"""`tongs mcp pin NAME`: read how a server differs from what was accepted, and accept it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.mcp_inspect import say_first
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.servers_shown import changed, inspected_wire

if TYPE_CHECKING:
    from tongs.approvers.terminal import Terminal
    from tongs.runtime import Runtime
    from tongs.runtime.server_desk import Inspected


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.server_desk import Inspected, ServerDesk

    options, console = invocation.options, invocation.console
    desk = ServerDesk(invocation.runtime)
    found = desk.inspect(options.name)
    changes = found.changes
    if not options.json:
        say_first(invocation, found)
        for change in changes:
            console.data("\n".join(changed(change)) + "\n\n")
        console.flush()
    if found.held and not options.yes and not _agrees(invocation, found):
        console.say(f"{found.spec.name} stays as it was accepted")
        return failure.DENIED
    pinned = desk.accept(found) if changes else found.pinned
    if options.json:
        after = Inspected(found.spec, found.listing, pinned, found.first)
        accepted = {change.tool: list(change.words) for change in changes}
        console.data(failure.result_json({**inspected_wire(after), "accepted": accepted}))
    elif changes:
        console.say(f"pinned {found.spec.name}: {len(pinned.tools)} tools as they are now")
    else:
        console.say(f"{found.spec.name} is what was accepted; nothing to do")
    return failure.OK


def ask_to_pin(runtime: Runtime, terminal: Terminal, name: str) -> bool:
    """For a call of a tool that is held back: show what differs, and accept it if told to."""
    from tongs.runtime.server_desk import ServerDesk

    desk = ServerDesk(runtime)
    found = desk.inspect(name)
    shown = "\n".join(line for change in found.changes for line in changed(change))
    terminal.show(f"{name} is not what you accepted\n{shown}")
    if not terminal.agrees(f"accept what {name} tells now?"):
        return False
    desk.accept(found)
    return True


def _agrees(invocation: Invocation, found: Inspected) -> bool:
    name = found.spec.name
    terminal = None if invocation.options.json else invocation.terminal()
    if terminal is None:
        raise ToolError(
            ErrorCode.UNTRUSTED,
            f"{name} was not pinned: there is no terminal to ask on",
            details={"changed": [change.tool for change in found.held]},
            blocked_by=BlockedBy.TRUST,
            hint=f"read the difference, then: tongs mcp pin {name} --yes",
        )
    return terminal.agrees(f"accept what {name} tells now?")
