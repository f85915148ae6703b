"""One echo tool behind three MCP servers: the SDK's own low-level one, FastMCP's, and Tongs'.

    python bench/servers/mcp_echo.py bare|fastmcp|tongs stdio|http

Over HTTP the port is the first line of the output. FastMCP lives in an environment of its own. This
stands in a folder of its own, since beside `bench/http.py` Python would not find its own `http`.
"""

# ruff: noqa: PLC0415 - each needs what the others must not load

from __future__ import annotations

import asyncio
import socket
import sys
from typing import Any

SCHEMA = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}


def bare(transport: str) -> None:
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.server.stdio import stdio_server

    async def list_tools(context: Any, params: Any) -> Any:
        tool = types.Tool(name="echo", description="Echo", input_schema=SCHEMA)
        return types.ListToolsResult(tools=[tool])

    async def call_tool(context: Any, params: Any) -> Any:
        text = types.TextContent(type="text", text=params.arguments["text"])
        return types.CallToolResult(content=[text])

    server: Server[Any] = Server("bare", on_list_tools=list_tools, on_call_tool=call_tool)

    async def serve() -> None:
        async with stdio_server() as (reads, writes):
            await server.run(reads, writes, server.create_initialization_options())

    if transport == "stdio":
        asyncio.run(serve())
    else:
        _http(server.streamable_http_app(stateless_http=True))


def fastmcp(transport: str) -> None:
    from fastmcp import FastMCP

    server = FastMCP("fast")

    @server.tool  # type: ignore[untyped-decorator,unused-ignore]  # not in this environment
    def echo(text: str) -> str:
        """Echo"""
        return text

    if transport == "stdio":
        server.run(transport="stdio", show_banner=False)
    else:
        _http(server.http_app(stateless_http=True))


def tongs(transport: str) -> None:
    from tongs import Runtime, tool
    from tongs.surfaces.mcp import http, stdio
    from tongs.surfaces.mcp.options import Options

    @tool
    def echo(text: str) -> str:
        """Echo"""
        return text

    runtime = Runtime.open(tools=[echo], auto_approve=["echo"])
    if transport == "stdio":
        stdio.serve(lambda: runtime, Options())
        return
    wanted = http.HttpOptions(http.Address("127.0.0.1", 0))
    listening = http.bind(wanted.address)
    print(listening.getsockname()[1], flush=True)
    http.serve(runtime, Options(one_client=False), wanted, listening, lambda url: None)


def _http(application: Any) -> None:
    import uvicorn

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(listening.getsockname()[1], flush=True)
    config = uvicorn.Config(application, log_level="critical", access_log=False, log_config=None)
    asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))


if __name__ == "__main__":
    {"bare": bare, "fastmcp": fastmcp, "tongs": tongs}[sys.argv[1]](sys.argv[2])
