"""`tongs audit show`: everything about one call, or one record by its number."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import json

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.audit_options import chain_folder
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser

_HEAD = ("seq", "time", "event")
_SEALS = ("prev", "hash")


def options(parser: Parser) -> None:
    parser.add_argument("id", metavar="ID")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    wanted: str = invocation.options.id
    found = _records(wanted)
    if not found:
        raise ToolError(
            ErrorCode.TOOL_NOT_FOUND,
            f"there is no call and no record `{wanted}`",
            hint="tongs audit list",
        )
    if invocation.options.json:
        invocation.console.data(failure.result_json(found))
        return failure.OK
    invocation.console.data("\n".join(map(_text, found)))
    return failure.OK


def _records(wanted: str) -> list[dict[str, Any]]:
    from tongs.audit.index import Index
    from tongs.audit.query import Query

    with Index(chain_folder()) as index:
        found = index.of_call(wanted)
        if not found and wanted.isascii() and wanted.isdecimal() and len(wanted) < 19:
            found = list(index.find(Query(seq=int(wanted))))
    return found


def _text(data: dict[str, Any]) -> str:
    """One field a line, as JSON, so that no value can look like another field."""
    lines = [f"{data['seq']}  {data['time']}  {data['event']}"]
    others = [key for key in data if key not in (*_HEAD, *_SEALS)]
    lines += [f"  {key}: {_value(data[key])}" for key in (*others, *_SEALS)]
    return "\n".join(lines) + "\n"


def _value(value: Any) -> str:
    if isinstance(value, str) and value.isascii() and value.isprintable():
        return value
    return json.dumps(value)
