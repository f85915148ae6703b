"""`tongs tools export`: the tools as the API of a model takes them."""

from __future__ import annotations

from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation, listed
from tongs.surfaces.cli.parser import Parser

FORMATS = ("openai", "openai-responses", "openai-flat", "anthropic", "gemini", "mcp", "markdown")


def options(parser: Parser) -> None:
    parser.add_argument("--format", choices=FORMATS, required=True)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--tags", action="append", default=[], metavar="TAG")
    parser.add_argument("--tools", action="append", default=[], metavar="NAME")
    parser.add_argument("--limit", type=int, metavar="N")


def run(invocation: Invocation) -> int:
    options = invocation.options
    offer = invocation.runtime.offered(
        options.limit, tags=listed(options.tags), tools=listed(options.tools)
    )
    exported = offer.export(options.format, strict=options.strict)
    if isinstance(exported.data, str):
        invocation.console.data(exported.data)
    else:
        invocation.console.data(failure.result_json(exported.data))
    invocation.console.flush()
    if exported.data == []:
        invocation.console.warn("no tool fits; tongs tool list shows the tools there are")
    for lost in exported.losses:
        invocation.console.warn(str(lost))
    return failure.OK
