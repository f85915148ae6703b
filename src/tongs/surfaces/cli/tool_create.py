"""`tongs tool create`: what an agent wants to be a tool, written for a person to review."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import sys

from tongs.surfaces.cli.failure import OK, result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError


def options(parser: Parser) -> None:
    parser.add_argument("name", nargs="?", metavar="NAME")
    parser.add_argument("--from", dest="source", required=True, metavar="FILE|-")
    parser.add_argument("--creator", required=True, metavar="NAME")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    options = invocation.options
    text = _read(options.source)
    made = invocation.runtime.create_tool(
        options.name or _name_in(text, options.source), text, options.creator
    )
    if options.json:
        invocation.console.data(result_json(made.to_wire()))
        return OK
    for finding in made.findings:
        invocation.console.warn(str(finding))
    word = "changed" if made.changed else "wrote"
    invocation.console.say(f"{word} {made.path}")
    invocation.console.say(f"{made.tool.name} waits for review:  tongs review {made.tool.name}")
    return OK


def _read(source: str) -> str:
    from tongs.schema.document import MAX_BYTES
    from tongs.store.files import read_whole

    if source == "-":
        data: bytes | None = sys.stdin.buffer.read(MAX_BYTES + 1) if sys.stdin else b""
    else:
        try:
            data = read_whole(source, MAX_BYTES)
        except OSError as error:
            message = f"tool create: {source} cannot be read: {error.strerror}"
            raise UsageError(message) from None
    if data is None:
        hint = "name the file that holds the definition, or `-` for standard input"
        raise UsageError(f"tool create: there is no file `{source}`", hint)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"tool create: {source} is no UTF-8 text") from None


def _name_in(text: str, source: str) -> str:
    from tongs.authoring.created import read

    data = read(text, source)
    name = data.get("name") if isinstance(data, dict) else None
    if not isinstance(name, str):
        hint = "write `name:` into it, or: tongs tool create NAME --from FILE --creator AGENT"
        raise UsageError(f"tool create: {source} has no name", hint)
    return name
