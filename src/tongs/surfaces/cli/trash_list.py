"""`tongs trash list`: what tools have deleted in this workspace."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import one_line, table


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.builtin.trash import Trash

    with invocation.runtime.workspace() as workspace:
        found = Trash(workspace).entries()
    console = invocation.console
    if invocation.options.json:
        console.data(failure.result_json([entry.to_wire() for entry in found]))
        return failure.OK
    if not found:
        console.say("the trash is empty")
        return failure.OK
    rows = [
        (
            _shown(entry.id),
            _shown(entry.when),
            entry.kind,
            str(entry.count),
            str(entry.size),
            _shown(entry.path),
        )
        for entry in found
    ]
    header = ("ID", "DELETED", "TYPE", "COUNT", "BYTES", "PATH")
    for line in table(header, rows, console.width()):
        console.data(f"{line}\n")
    return failure.OK


def _shown(text: str) -> str:
    """Written out even in a pipe: it may have come with the project, and `less -R` obeys it."""
    from tongs.output import visible

    return visible(one_line(text))
