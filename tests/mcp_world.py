"""A runtime with one MCP server, whose tools are called as every other."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tongs import Runtime, Tool
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.servers import Listing, ServerSpec, ServerTool, definition_digest
from tongs.sandbox.waiting import BlockingWaiter

PROGRAM = Path(__file__).parent / "mcp_server.py"


class ServerWorld:
    """`deeds` is the server; its tools are `deeds__NAME`, accepted as they were first seen."""

    def __init__(self, runtime: Runtime, spec: ServerSpec, project: Path) -> None:
        self.runtime = runtime
        self.spec = spec
        self.project = project
        self.listing: Listing | None = None
        self.asked: list[ApprovalRequest] = []
        self.answer: ApprovalResponse | None = None
        self.events: list[Any] = []

    def listed(self) -> Listing:
        return drive(self.runtime.servers.listed(self.spec, BlockingWaiter()))

    def accept(self, **seconds: float) -> None:
        """Register all tools as they are now, some with a time limit of their own."""
        self.listing = self.listed()
        for definition in self.listing.tools:
            timeout = seconds.get(definition["name"])
            self.runtime.register(tool_of(self.spec, definition, timeout=timeout))

    def call(self, name: str, text: str = "", **arguments: Any) -> ToolResult:
        if self.listing is None:
            self.accept()
        given = {**({"text": text} if text else {}), **arguments}
        caller = Caller(CallerKind.PERSON, "user")
        return self.runtime.run_sync(
            ToolCall(os.urandom(4).hex(), f"{self.spec.name}__{name}", given, caller),
            approver=self._approve,
            observe=self.events.append,
        )

    async def _approve(self, request: ApprovalRequest) -> ApprovalResponse | None:
        self.asked.append(request)
        return self.answer

    @property
    def status(self) -> str:
        return self.runtime.servers.state(self.spec.name).status


def tool_of(
    spec: ServerSpec, definition: Any, *, timeout: float | None = None, **changes: Any
) -> Tool:
    return Tool(
        **{
            "name": f"{spec.name}__{definition['name']}",
            "description": definition.get("description", ""),
            "input_schema": definition["inputSchema"],
            "output_schema": definition.get("outputSchema"),
            "executor": "mcp",
            "plan": ServerTool(spec, definition["name"], definition, definition_digest(definition)),
            "permissions": spec.wanted,
            "tags": ("read",),
            "timeout": timeout or spec.timeout,
            **changes,
        }
    )


def program_in(project: Path) -> str:
    """The server, where its process can read it."""
    project.mkdir(parents=True, exist_ok=True)
    return str(shutil.copy(PROGRAM, project / "mcp_server.py"))


def deeds(project: Path, listed: Sequence[Any] = (), **changes: Any) -> ServerSpec:
    command = ("python3", program_in(project), *(json.dumps(tool) for tool in listed))
    return ServerSpec(**{"name": "deeds", "command": command, **changes})


@contextmanager
def serving(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    spec: ServerSpec | None = None,
    config: str = "",
    **options: Any,
) -> Iterator[ServerWorld]:
    home, project = tmp_path / "home", tmp_path / "project"
    (home / ".tongs").mkdir(parents=True, exist_ok=True)
    project.mkdir(exist_ok=True)
    (home / ".tongs" / "config.yml").write_text(config or "{}\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TONGS_HOME", str(home / ".tongs"))
    monkeypatch.chdir(project)
    with Runtime.open(project, **options) as runtime:
        yield ServerWorld(runtime, spec or deeds(project), project)


def own_python() -> Permissions:
    """What a server written with the SDK needs to be started: this very environment."""
    return Permissions(read=(".", sys.prefix, sys.base_prefix))
