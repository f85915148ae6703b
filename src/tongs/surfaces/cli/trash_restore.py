"""`tongs trash restore`: puts something back where it was."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--to", metavar="PATH")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.builtin.trash import Trash
    from tongs.output import visible

    options = invocation.options
    with invocation.runtime.workspace() as workspace:
        path = Trash(workspace).restore(options.id, options.to)
    if options.json:
        invocation.console.data(failure.result_json({"id": options.id, "path": path}))
    else:
        invocation.console.say(f"restored {visible(path)}")
    return failure.OK
