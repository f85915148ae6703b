"""Runs in the environment of `make mcp1` or `make agents`: a client of the SDK of that environment.

Both majors have the session and the transport under these names. Reads how to start the server from
its argument, and prints what came of each call.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import sys
from typing import Any

from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client

CALLS: list[tuple[str, str, dict[str, Any]]] = [
    ("called", "greet", {"NAME": "Ann; echo x"}),
    ("failed", "fails", {}),
    ("unknown", "nothing_like_it", {}),
    ("invalid", "greet", {"NAME": 5, "MORE": 1}),
    ("allowed", "deploy", {"STAGE": "test"}),
    ("edited", "deploy", {"STAGE": "live"}),
    ("denied", "deploy", {"STAGE": "live"}),
]
# What the person does with each form, in turn.
ANSWERS: list[dict[str, str]] = [
    {"decision": "allow"},
    {"decision": "edit", "STAGE": "test"},
    {"decision": "deny", "reason": "not today"},
]


def plain(result: Any) -> str:
    wire = result.model_dump(by_alias=True, mode="json")
    text = "\n".join(part.get("text", "") for part in wire["content"])
    return f"error: {text}" if wire.get("isError") and not text.startswith("error") else text


async def talk(server: StdioServerParameters) -> dict[str, Any]:
    answers = iter(ANSWERS)
    forms = 0

    async def elicited(context: Any, params: Any) -> types.ElicitResult:
        nonlocal forms
        forms += 1
        return types.ElicitResult(action="accept", content=dict(next(answers)))

    came: dict[str, Any] = {"version": importlib.metadata.version("mcp")}
    async with (
        stdio_client(server) as (reader, writer),
        ClientSession(reader, writer, elicitation_callback=elicited) as session,
    ):
        began = await session.initialize()
        came["protocol"] = began.model_dump(by_alias=True)["protocolVersion"]
        came["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        for key, tool, arguments in CALLS:
            try:
                came[key] = plain(await session.call_tool(tool, arguments))
            except Exception as error:  # noqa: BLE001 - what a client raises is what is looked at
                came[key] = f"{type(error).__name__}: {error}"
    return {**came, "forms": forms}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(talk(StdioServerParameters(**json.loads(sys.argv[1]))))))
