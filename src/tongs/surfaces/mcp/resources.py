"""Output that was too large for an answer, as resources: `tongs://output/HANDLE`."""

from __future__ import annotations

import os

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.parts import Door
from tongs.core.result import ToolResult
from tongs.output import visible
from tongs.runtime import Runtime
from tongs.runtime.call_shapes import told
from tongs.sandbox.waiting import LoopWaiter
from tongs.surfaces.mcp.clients import caller_of
from tongs.surfaces.mcp.uris import TEMPLATE, output_uri, parsed

# Handles that a list names: the newest.
_MOST = 100
_PAGE = 100_000


class Resources:
    """What this server's own calls have kept. Who knows a handle reads it, as with `output_read`,
    which is also how it is read here: ruled and recorded."""

    def __init__(self, runtime: Runtime, *, listed: bool) -> None:
        self._runtime = runtime
        self._listed = listed
        self._handles: dict[str, str] = {}

    def note(self, name: str, result: ToolResult) -> None:
        handle = result.metadata.get("outputHandle")
        if handle and self._listed:
            self._handles[str(handle)] = name
            while len(self._handles) > _MOST:
                del self._handles[next(iter(self._handles))]

    def listing(self) -> list[dict[str, Any]]:
        return [
            {
                "uri": output_uri(handle),
                "name": f"output {handle}",
                "description": f"The whole output of a call of {name}",
                "mimeType": "text/plain",
            }
            for handle, name in self._handles.items()
        ]

    def templates(self) -> list[dict[str, Any]]:
        return [
            {
                "uriTemplate": TEMPLATE,
                "name": "output",
                "title": "Kept output",
                "description": "Output of an earlier call that was too large to be returned whole,"
                f" {_PAGE} bytes from `offset` on",
                "mimeType": "text/plain",
            }
        ]

    async def read(self, context: Any, uri: str) -> dict[str, Any]:
        found = parsed(uri)
        if found is None:
            raise MCPError(INVALID_PARAMS, "there is no such resource", {"uri": visible(uri)[:200]})
        handle, offset = found
        wanted = {"handle": handle, "unit": "bytes", "offset": offset, "limit": _PAGE}
        call = ToolCall(os.urandom(6).hex(), "builtin:output_read", wanted, caller_of(context))
        result = await self._runtime.run(call, Door(LoopWaiter()))
        if not result.ok:
            raise MCPError(INVALID_PARAMS, told(result), {"uri": visible(uri)[:200]})
        value = result.value
        content: dict[str, Any] = {
            "uri": uri,
            "mimeType": "text/plain",
            "text": visible(value["content"]),
        }
        if value["next"] is not None:
            following = output_uri(handle, value["next"])
            content["_meta"] = {"tongs/size": value["size"], "tongs/next": following}
        return {"contents": [content]}
