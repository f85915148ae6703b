"""`tongs audit stats`: how often each tool was called, and what came of it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.annotations import Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import add_filters, chain_folder, query_of, word
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

_HEADER = ("TOOL", "CALLS", "OK", "FAILED", "DENIED", "UNFINISHED", "MEDIAN", "LONGEST")
_COUNTS = ("calls", "success", "error", "denied", "unfinished")


def options(parser: Parser) -> None:
    add_filters(parser)


def run(invocation: Invocation) -> int:
    from tongs.audit.index import Index

    with Index(chain_folder()) as index:
        found = index.stats(query_of(invocation))
    if invocation.options.json:
        invocation.console.data(failure.result_json(found))
        return failure.OK
    if not found:
        invocation.console.say("nothing was recorded that matches")
        return failure.OK
    for line in table(_HEADER, [_row(one) for one in found]):
        invocation.console.data(f"{line}\n")
    return failure.OK


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    times = [f"{one[key]:g} ms" if key in one else "-" for key in ("medianMs", "longestMs")]
    return (word(one["tool"]), *(str(one[key]) for key in _COUNTS), *times)
