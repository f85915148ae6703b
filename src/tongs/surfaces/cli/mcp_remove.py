"""`tongs mcp remove NAME`: a server out of the config, and what was pinned of it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.server_desk import ServerDesk

    name = invocation.options.name
    file = ServerDesk(invocation.runtime).remove(name)
    if invocation.options.json:
        invocation.console.data(failure.result_json({"name": name, "removed": file}))
    else:
        invocation.console.say(f"{name} is removed: {file}")
    return failure.OK
