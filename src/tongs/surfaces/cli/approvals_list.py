"""`tongs approvals list`: what the person decided once and for all."""

from __future__ import annotations

from tongs.core.approval import Span
from tongs.policy.when import in_words
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import one_line, table


def options(parser: Parser) -> None:
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    found = invocation.runtime.approvals.remembered()
    if invocation.options.json:
        invocation.console.data(failure.result_json([entry.to_wire() for entry in found]))
        return failure.OK
    if not found:
        invocation.console.say("nothing is remembered")
        return failure.OK
    rows = [
        (
            entry.id,
            entry.decision,
            entry.project if entry.span is Span.PROJECT else str(entry.span),
            entry.until or "revoked",
            one_line(in_words(entry.when)),
        )
        for entry in found
    ]
    for line in table(("ID", "DECISION", "WHERE", "UNTIL", "WHAT"), rows):
        invocation.console.data(f"{line}\n")
    return failure.OK
