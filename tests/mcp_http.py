"""`tongs mcp serve --http` as a process, and raw requests of both eras to it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx2

TONGS = str(Path(sys.executable).with_name("tongs"))
MODERN = "2026-07-28"
_RESERVED = "io.modelcontextprotocol/"
CLIENT = {"name": "test", "version": "1"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Serving:
    """The process, which has said where it listens. `told` is what it said."""

    def __init__(
        self,
        *arguments: str,
        cwd: Path,
        env: Mapping[str, str],
        program: Sequence[str] = (TONGS,),
    ) -> None:
        command = [*program, "mcp", "serve", "--http", "127.0.0.1:0", *arguments]
        self.process = subprocess.Popen(
            command, cwd=cwd, env=dict(env), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        assert self.process.stderr is not None
        self.told = self.process.stderr.readline().decode()
        found = re.search(r"http://\S+", self.told)
        assert found is not None, self.told
        self.url = found[0]
        self.http = httpx2.Client(timeout=30, trust_env=False)

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        self.http.close()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=20)

    def post(self, body: Any, headers: Mapping[str, str] | None = None) -> httpx2.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"Content-Type": "application/json", **ACCEPT, **(headers or {})}
        return self.http.post(self.url, content=content, headers=sent)

    def older(self, method: str, params: Any = None, **headers: str) -> Any:
        """The answer to a request of the era of sessions."""
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params or {}}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return answer(self.post(message, {"MCP-Protocol-Version": "2025-11-25", **named}))

    def modern(self, method: str, params: Mapping[str, Any] | None = None, **more: Any) -> Any:
        """The answer to a request that carries everything with it."""
        message, headers = modern_request(method, params, **more)
        return answer(self.post(message, headers))


def modern_request(
    method: str,
    params: Mapping[str, Any] | None = None,
    *,
    capabilities: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], dict[str, str]]:
    meta = {
        f"{_RESERVED}protocolVersion": MODERN,
        f"{_RESERVED}clientInfo": CLIENT,
        f"{_RESERVED}clientCapabilities": capabilities or {},
    }
    whole = {**(params or {}), "_meta": meta}
    headers = {"MCP-Protocol-Version": MODERN, "Mcp-Method": method}
    if "name" in whole:
        headers["Mcp-Name"] = whole["name"]
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": whole}, headers


def answer(response: httpx2.Response) -> Any:
    """The message with a result or an error; of a stream the last one."""
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return json.loads(re.findall(r"^data: (.+?)\r?$", response.text, re.MULTILINE)[-1])
    return response.json()


def initialize(version: str = "2025-11-25", **capabilities: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": capabilities, "clientInfo": CLIENT}
    return {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
