"""The server itself, for any transport: what it answers to each request, in both eras."""

from __future__ import annotations

from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolRequestParams, PaginatedRequestParams

from tongs._version import __version__
from tongs.core.annotations import Any
from tongs.runtime import Runtime
from tongs.surfaces.mcp.calling import Calls
from tongs.surfaces.mcp.offers import Offers
from tongs.surfaces.mcp.options import Options

_ABOUT = (
    "Tools of this machine and project. Every call is checked and confined; a person may be asked."
    " tongs_tools_search finds tools that are not listed, tongs_tool calls them."
)
# Every look finds what there is now, so nothing is to be kept.
_FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def make_server(runtime: Runtime, options: Options) -> Server[Any]:
    """One server for any number of connections. The runtime stays its maker's to close."""
    offers = Offers(runtime, options)

    async def list_tools(context: Any, params: Any) -> Any:
        _first_page(params)
        return {"tools": offers.listed(), **_FRESH}

    server: Server[Any] = Server("tongs", version=__version__, title="Tongs", instructions=_ABOUT)
    server.add_request_handler("tools/list", PaginatedRequestParams, list_tools)
    server.add_request_handler("tools/call", CallToolRequestParams, Calls(runtime, offers))
    return server


def _first_page(params: Any) -> None:
    """There is one page only, so nobody can have a cursor from here."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "there is no such page: the list is given whole")
