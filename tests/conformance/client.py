"""The client that the MCP conformance suites try: the gateway, calling whatever it is offered.

    python client.py URL

A suite starts a server for each scenario and this program with the address. What to call comes from
the suite, or is made up from the schema of each tool.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.mcp_world import tool_of

from tongs import Runtime
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.driving import drive
from tongs.core.servers import ServerSpec
from tongs.sandbox.waiting import BlockingWaiter

CONFIG = "security: {allow_private_hosts: [localhost, 127.0.0.1]}\n"
SAMPLES = {"string": "x", "integer": 3, "number": 3, "boolean": True, "array": [], "object": {}}


async def agree(request: ApprovalRequest) -> ApprovalResponse:
    """A person who takes every form as it is."""
    return ApprovalResponse(approved=True, approver="suite")


def arguments(tool: Mapping[str, Any], tools: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if tool["name"] == "json_schema_echo":
        # It wants to see what became of the schema of the other one.
        return {"schema": next(each["inputSchema"] for each in tools if each is not tool)}
    properties = tool["inputSchema"]["properties"]
    return {
        name: value.get("default", SAMPLES.get(value.get("type"), "x"))
        for name, value in properties.items()
        if isinstance(value, dict)
    }


def main(url: str) -> int:
    wanted = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}").get("toolCalls")
    spec = ServerSpec("suite", url=url, timeout=20.0, start_timeout=80.0)
    with Runtime.open(Path.cwd(), auto_approve=["*"], approver=agree) as runtime:
        listing = drive(runtime.servers.listed(spec, BlockingWaiter()))
        for definition in listing.tools:
            runtime.register(tool_of(spec, definition))
        calls = wanted or [
            {"name": tool["name"], "arguments": arguments(tool, listing.tools)}
            for tool in listing.tools
        ]
        for call in calls:
            result = runtime.call_sync(f"suite__{call['name']}", call.get("arguments") or {})
            print(json.dumps(result.to_wire()), file=sys.stderr)
        print(json.dumps(listing.problems), file=sys.stderr)
    return 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder, "home", ".tongs")
        home.mkdir(parents=True)
        (home / "config.yml").write_text(CONFIG)
        (Path(folder) / "project").mkdir()
        os.environ.update(HOME=str(home.parent), TONGS_HOME=str(home))
        os.chdir(Path(folder) / "project")
        sys.exit(main(sys.argv[-1]))
