"""`tongs tool remove`: delete a definition, also one that is broken."""

from __future__ import annotations

from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    add_scope_options(parser, default="any")


def run(invocation: Invocation) -> int:
    name = invocation.options.name
    path = invocation.runtime.definitions.remove(name, invocation.scope)
    invocation.console.say(f"removed {name}: {path}")
    return 0
