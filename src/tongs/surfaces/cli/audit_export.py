"""`tongs audit export`: the records for another program."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import add_filters, add_limit, chain_folder, query_of
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser


def options(parser: Parser) -> None:
    add_filters(parser)
    add_limit(parser)


def run(invocation: Invocation) -> int:
    from tongs.audit.index import Index

    with Index(chain_folder()) as index:
        if invocation.options.json:
            found = list(index.find(query_of(invocation)))
            invocation.console.data(failure.result_json(found))
        else:
            # The very lines: whoever gets them can check each hash.
            for line in index.lines(query_of(invocation)):
                invocation.console.data(line.decode("ascii"))
    return failure.OK
