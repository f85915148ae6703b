"""The server itself, for any transport: what it answers to each request, in both eras."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tongs._version import __version__
from tongs.core.annotations import Any
from tongs.runtime import Runtime
from tongs.surfaces.mcp.about import FRESH, INSTRUCTIONS, NAME, TITLE
from tongs.surfaces.mcp.asking import Asker
from tongs.surfaces.mcp.calling import Calls
from tongs.surfaces.mcp.changes import Changes
from tongs.surfaces.mcp.offers import Offers
from tongs.surfaces.mcp.options import Options
from tongs.surfaces.mcp.resources import Resources


def make_server(runtime: Runtime, options: Options) -> Server[Any]:
    """One server for any number of connections. The runtime stays its maker's to close."""
    offers = Offers(runtime, options)
    kept = Resources(runtime, listed=options.one_client)
    changes = Changes(runtime, one_client=options.one_client)

    async def list_tools(context: Any, params: Any) -> Any:
        _first_page(params)
        changes.given_to(context)
        return {"tools": offers.listed(), **FRESH}

    async def list_resources(context: Any, params: Any) -> Any:
        _first_page(params)
        return {"resources": kept.listing(), **FRESH}

    async def list_templates(context: Any, params: Any) -> Any:
        _first_page(params)
        return {"resourceTemplates": kept.templates(), **FRESH}

    async def read_resource(context: Any, params: Any) -> Any:
        return {**await kept.read(context, str(params.uri)), **FRESH}

    @asynccontextmanager
    async def lifespan(_: Server[Any]) -> AsyncIterator[None]:
        try:
            yield
        finally:
            await changes.close()

    calls = Calls(runtime, offers, Asker(runtime, options), kept)
    server: Server[Any] = Server(
        NAME, version=__version__, title=TITLE, instructions=INSTRUCTIONS, lifespan=lifespan
    )
    handlers: tuple[tuple[str, Any, Any], ...] = (
        ("tools/list", types.PaginatedRequestParams, list_tools),
        ("tools/call", types.CallToolRequestParams, calls),
        ("resources/list", types.PaginatedRequestParams, list_resources),
        ("resources/templates/list", types.PaginatedRequestParams, list_templates),
        ("resources/read", types.ReadResourceRequestParams, read_resource),
        ("subscriptions/listen", types.SubscriptionsListenRequestParams, changes.listen),
    )
    for method, params, handler in handlers:
        server.add_request_handler(method, params, handler)
    return server


def _first_page(params: Any) -> None:
    """There is one page only, so nobody can have a cursor from here."""
    if params is not None and params.cursor is not None:
        raise MCPError(INVALID_PARAMS, "there is no such page: the list is given whole")
