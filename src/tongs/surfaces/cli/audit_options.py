"""What the commands of `tongs audit` share: where the chain is, which records, how they look."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
from collections.abc import Mapping

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError

if TYPE_CHECKING:
    from tongs.audit.query import Query

HEADER = ("SEQ", "TIME", "EVENT", "TOOL", "CALLER", "STATUS", "CALL")


def add_filters(parser: Parser) -> None:
    for name in ("tool", "caller", "event", "since", "until", "status", "call"):
        parser.add_argument(f"--{name}", default="", metavar=name.upper())
    parser.add_argument("--json", action="store_true")


def add_limit(parser: Parser) -> None:
    parser.add_argument("--limit", metavar="N")


def chain_folder() -> str:
    from tongs.config.places import state_folder

    return os.path.join(state_folder(), "audit")


def query_of(invocation: Invocation, *, limit: int | None = None) -> Query:
    """The records that the options name."""
    from tongs.audit.query import STATUSES, Query

    options = invocation.options
    if options.status and options.status not in STATUSES:
        raise UsageError(f"--status: there is no status `{options.status}`", _one_of(STATUSES))
    return Query(
        tool=options.tool,
        caller=options.caller,
        event=options.event.upper(),
        since=_moment("since", options.since),
        until=_moment("until", options.until),
        status=options.status,
        call=options.call,
        limit=limit if getattr(options, "limit", None) is None else _count(options.limit),
    )


def row(data: Mapping[str, Any]) -> tuple[str, ...]:
    """A record as a line of the table."""
    moment = str(data.get("time", ""))[:19]
    named = [word(data.get(key, "")) for key in ("event", "tool", "caller", "status", "call")]
    return (str(data.get("seq", "")), moment, *named)


def word(value: Any) -> str:
    """One word: no name can make a line of its own, or look like two columns."""
    import json

    text = str(value)
    return text if text.isascii() and text.isprintable() and " " not in text else json.dumps(text)


def _moment(name: str, text: str) -> str:
    from tongs.audit.query import moment

    if not text:
        return ""
    try:
        return moment(text)
    except (ValueError, OverflowError):
        raise UsageError(
            f"--{name}: `{text}` is no moment", f"--{name} 2h, or --{name} 2026-11-15T18:00"
        ) from None


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise UsageError(f"--limit: `{text}` is no number", "--limit 50")
    return int(text)


def _one_of(words: tuple[str, ...]) -> str:
    return f"one of: {', '.join(words)}"
