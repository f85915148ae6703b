"""A small MCP server: its tools are what a file says, read anew each time it is asked.

`small_mcp_server.py FILE`: the file holds a JSON list of definitions. Each tool answers with its
name and its arguments.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def answer(method: str, params: dict[str, Any]) -> dict[str, Any] | None:
    if method == "initialize":
        return {
            "protocolVersion": "2025-06-18",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "2"},
        }
    if method == "tools/list":
        with open(sys.argv[1], encoding="utf-8") as file:
            return {"tools": json.load(file)}
    if method == "tools/call":
        said = f"{params['name']} {json.dumps(params.get('arguments') or {}, sort_keys=True)}"
        return {"content": [{"type": "text", "text": said}]}
    return None


def main() -> None:
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = answer(message.get("method", ""), message.get("params") or {})
        error = {"error": {"code": -32601, "message": "unknown"}}
        reply = {"result": result} if result is not None else error
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], **reply}), flush=True)


if __name__ == "__main__":
    main()
