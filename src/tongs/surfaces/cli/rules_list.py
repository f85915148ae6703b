"""`tongs rules list`: every rule that a call meets here, and where it stands."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import one_line, table


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.runtime.judging import listed

    console, runtime = invocation.console, invocation.runtime
    rows = listed(runtime)
    ignored = [one for one in runtime.settings.ignored if one.field.startswith("security.rules")]
    if invocation.options.json:
        wire = {
            "rules": [
                {
                    "name": row.name,
                    "decision": row.decision,
                    "about": row.about,
                    "source": row.source,
                    **({"note": row.note} if row.note else {}),
                }
                for row in rows
            ],
            "ignored": [problem.to_wire() for problem in ignored],
        }
        console.data(failure.result_json(wire))
        return failure.OK
    cells = [(row.decision, row.name, _about(row.about, row.note), row.source) for row in rows]
    for line in table(("DECISION", "RULE", "ABOUT", "FROM"), cells, console.width()):
        console.data(f"{line}\n")
    if ignored:
        console.data("\nignored:\n")
        console.data("".join(f"  {problem}\n" for problem in ignored))
    return failure.OK


def _about(about: str, note: str) -> str:
    return one_line(f"{about} ({note})" if note else about)
