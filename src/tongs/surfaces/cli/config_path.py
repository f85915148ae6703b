"""`tongs config path`: the files that settings come from."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.configuring import Configuring

    found = Configuring.here().looked_at()
    if invocation.options.json:
        wire = [{"scope": one.scope, "file": one.path, "state": one.state} for one in found]
        invocation.console.data(failure.result_json(wire))
        return failure.OK
    rows = [(one.scope, one.path, one.state) for one in found]
    for line in table(("SCOPE", "FILE", "STATE"), rows):
        invocation.console.data(f"{line}\n")
    return failure.OK
