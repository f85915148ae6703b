"""Many clients at once that call the echo tool of an MCP server over HTTP."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter

HERE = Path(__file__).resolve().parent
SERVERS = HERE / "servers" / "mcp_echo.py"
AGENTS = HERE.parent / ".venv" / "agents" / "bin" / "python"
# FastMCP is not in Tongs' own environment.
PYTHONS = {"bare": sys.executable, "tongs": sys.executable, "fastmcp": str(AGENTS)}

_RESERVED = "io.modelcontextprotocol/"
_META = {
    f"{_RESERVED}protocolVersion": "2026-07-28",
    f"{_RESERVED}clientInfo": {"name": "load", "version": "1"},
    f"{_RESERVED}clientCapabilities": {},
}


@dataclass
class Load:
    """What a load did: the seconds of each call, and the answers that were none."""

    took: list[float] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.took) / self.seconds

    def at(self, part: float) -> float:
        """Milliseconds within which this part of the calls was answered."""
        return 1000 * sorted(self.took)[int(part * (len(self.took) - 1))]


@contextmanager
def echo_server(kind: str, folder: Path, env: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Port and process id of a server that is up."""
    with subprocess.Popen(
        [PYTHONS[kind], str(SERVERS), kind, "http"],
        cwd=folder,
        env=dict(env),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        try:
            yield port, process.pid
        finally:
            process.terminate()


def loaded(port: int, clients: int, calls: int) -> Load:
    return asyncio.run(_loaded(port, clients, calls))


def memory(pid: int) -> float:
    """MiB that a process holds."""
    pages = int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024


async def _loaded(port: int, clients: int, calls: int) -> Load:
    load = Load()
    numbers = iter(range(calls))
    await _until_up(port)
    begun = perf_counter()
    await asyncio.gather(*(_client(port, numbers, load) for _ in range(clients)))
    load.seconds = perf_counter() - begun
    return load


async def _until_up(port: int) -> None:
    for _ in range(600):
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            await asyncio.sleep(0.05)
            continue
        writer.close()
        return


async def _client(port: int, numbers: Iterator[int], load: Load) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for number in numbers:
        begun = perf_counter()
        writer.write(_request(port, number))
        answer = await _answer(reader)
        load.took.append(perf_counter() - begun)
        if f'"text":"call {number}"'.encode() not in answer.replace(b'": "', b'":"'):
            load.wrong.append(f"{number}: {answer!r}")
    writer.close()


def _request(port: int, number: int) -> bytes:
    params = {"name": "echo", "arguments": {"text": f"call {number}"}, "_meta": _META}
    message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    head = (
        f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\n"
        f"Mcp-Method: tools/call\r\nMcp-Name: echo\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader) -> bytes:
    head = (await reader.readuntil(b"\r\n\r\n")).lower()
    _, found, rest = head.partition(b"content-length:")
    if found:
        return await reader.readexactly(int(rest.split(b"\r\n")[0]))
    body = b""
    while size := int(await reader.readuntil(b"\r\n"), 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readexactly(2)
    return body
