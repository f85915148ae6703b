"""`tongs mcp serve`: the tools of this place for an agent, by MCP on stdin and stdout."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.surfaces.cli import failure, mcp_http
from tongs.surfaces.cli.invocation import Invocation, listed
from tongs.surfaces.cli.parser import Parser

APPROVALS = ("form", "queue", "terminal", "deny")


def options(parser: Parser) -> None:
    parser.add_argument("--tags", action="append", default=[], metavar="TAG")
    parser.add_argument("--tools", action="append", default=[], metavar="NAME")
    parser.add_argument("--limit", type=int, default=60, metavar="N")
    parser.add_argument("--keep", action="append", default=[], metavar="NAME")
    parser.add_argument("--approvals", choices=APPROVALS, default="form")
    parser.add_argument("--no-greeting", action="store_true")
    mcp_http.options(parser)


def run(invocation: Invocation) -> int:
    from tongs.core.record import replace
    from tongs.surfaces.mcp.options import Options
    from tongs.surfaces.mcp.stdio import serve

    given = invocation.options
    options = Options(
        listed(given.tags), listed(given.tools), given.limit, listed(given.keep), given.approvals
    )
    invocation.single_thread = False
    if options.tools:
        invocation.runtime.offered(tools=options.tools)  # a mistake is said to the person, now
    if given.http is not None:
        mcp_http.serve(invocation, replace(options, one_client=False))
        return failure.OK
    mcp_http.refuse_without_http(invocation)
    serve(lambda: invocation.runtime, options, greets=not given.no_greeting)
    return failure.OK
