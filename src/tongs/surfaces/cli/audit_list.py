"""`tongs audit list`: what was recorded, the newest last."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import (
    HEADER,
    add_filters,
    add_limit,
    chain_folder,
    query_of,
    row,
)
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser
from tongs.surfaces.cli.table import table

if TYPE_CHECKING:
    from tongs.audit.query import Query

# Without --limit.
_NEWEST = 50


def options(parser: Parser) -> None:
    add_filters(parser)
    add_limit(parser)
    parser.add_argument("--follow", action="store_true")


def run(invocation: Invocation) -> int:
    from tongs.audit.following import Follower
    from tongs.audit.index import Index

    folder, query = chain_folder(), query_of(invocation, limit=_NEWEST)
    follower = Follower(folder) if invocation.options.follow else None
    with Index(folder) as index:
        found = list(index.find(query))
    if follower is None and invocation.options.json:
        invocation.console.data(failure.result_json(found))
        return failure.OK
    _print(invocation, found, header=True)
    if not found and follower is None:
        invocation.console.say("nothing was recorded that matches")
    if follower is not None:
        _follow(invocation, follower, query)
    return failure.OK


def _follow(invocation: Invocation, follower: Any, query: Query) -> None:
    """Until the person has seen enough."""
    with suppress(KeyboardInterrupt):
        for entry in follower.follow():
            if query.matches(data := entry.data()):
                _print(invocation, [data], header=False)


def _print(invocation: Invocation, found: list[dict[str, Any]], *, header: bool) -> None:
    console = invocation.console
    if invocation.options.json:
        for data in found:
            console.data(json.dumps(data) + "\n")
    elif found:
        lines = table(HEADER, [row(data) for data in found], console.width())
        for line in lines if header else lines[1:]:
            console.data(f"{line}\n")
    console.flush()
