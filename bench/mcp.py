"""Tongs as an MCP server, against the bare low-level server of the SDK and against FastMCP.

All three offer one echo tool that is a Python function; to start them, the real command is used.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any, TypeAlias

from bench.mcp_load import AGENTS, PYTHONS, SERVERS, echo_server, loaded, memory
from bench.measuring import ratios
from bench.rows import Row
from bench.world import TONGS, World

SECTION = "MCP server, multiples of the SDK's bare low-level server with the same echo tool"
CALLS, CLIENTS = 500, 64
_CLIENT = {"name": "bench", "version": "1"}
_BEGIN = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": _CLIENT}
_TICKS = os.sysconf("SC_CLK_TCK")


class Stdio:
    """A server on pipes; each question waits for its answer."""

    def __init__(self, command: Sequence[str], world: World) -> None:
        self.begun = perf_counter()
        self.process = subprocess.Popen(
            list(command),
            cwd=world.project,
            env=world.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._number = 0

    def ask(self, method: str, params: Any = None) -> Any:
        self._number += 1
        self._say({"id": self._number, "method": method, "params": params or {}})
        assert self.process.stdout is not None
        return json.loads(self.process.stdout.readline())["result"]

    def begin(self) -> float:
        """Seconds from the start of the process to its first answer."""
        self.ask("initialize", _BEGIN)
        took = perf_counter() - self.begun
        self._say({"method": "notifications/initialized"})
        return took

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()

    def _say(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        self.process.stdin.flush()


def rows(world: World, rounds: int) -> Iterator[Row]:
    kinds = [kind for kind in PYTHONS if kind != "fastmcp" or AGENTS.exists()]
    commands = {kind: (PYTHONS[kind], str(SERVERS), kind, "stdio") for kind in kinds}
    command = (TONGS, "mcp", "serve")
    started = {**commands, "tongs": command, "without": (*command, "--no-greeting")}
    yield from _starts(started, world, max(2, rounds // 4))
    yield from _calls(commands, world, max(1, rounds // 5))
    with _serving(command, world) as server:
        server.ask("tools/call", {"name": "tongs_tools_list"})  # needs the SDK
        name = "idle `tongs mcp serve`, after a call"
        yield Row(SECTION, name, memory(server.process.pid), "MiB", 90, 35)
    yield from _under_load(kinds, world, max(2, rounds // 3))


def _starts(commands: Mapping[str, Sequence[str]], world: World, rounds: int) -> Iterator[Row]:
    first = ratios({kind: _first(each, world) for kind, each in commands.items()}, "bare", rounds)
    listed = ratios({kind: _listed(each, world) for kind, each in commands.items()}, "bare", rounds)
    note = "before the SDK is loaded"
    yield Row(SECTION, "start to first answer", first["tongs"], "x", 1.15, 0.2, note=note)
    yield Row(SECTION, "start to first answer, `--no-greeting`", first["without"])
    yield Row(SECTION, "start to first answer, FastMCP", first.get("fastmcp"))
    yield Row(SECTION, "start to list of tools", listed["tongs"])


def _calls(commands: Mapping[str, Sequence[str]], world: World, rounds: int) -> Iterator[Row]:
    used = ratios({kind: _used(each, world) for kind, each in commands.items()}, "bare", rounds)
    note = "validated, decided, two records chained"
    yield Row(SECTION, "processor per call, stdio", used["tongs"], "x", 1.3, 0.125, note=note)
    yield Row(SECTION, "processor per call, stdio, FastMCP", used.get("fastmcp"))


def _under_load(kinds: Sequence[str], world: World, rounds: int) -> Iterator[Row]:
    """All of them are up, and are called in turns: whatever else the machine does hits all."""
    found: dict[str, list[_Served]] = {kind: [] for kind in kinds}
    with ExitStack() as stack:
        up = {
            kind: stack.enter_context(echo_server(kind, Path(world.project), world.environment))
            for kind in kinds
        }
        for port, _ in up.values():
            loaded(port, CLIENTS, CLIENTS * 2)
        for _ in range(rounds):
            for kind, (port, pid) in up.items():
                found[kind].append(_served(port, pid))
    for kind, name in (("tongs", ""), ("fastmcp", ", FastMCP")):
        for number, what in enumerate(("calls per second", "p50", "p99", "processor per call")):
            pairs = zip(found.get(kind, ()), found["bare"], strict=False)
            against = [one[number] / other[number] for one, other in pairs]
            bare = median(other[number] for other in found["bare"])
            yield Row(
                SECTION,
                f"HTTP, {CLIENTS} clients: {what}{name}",
                median(against) if against else None,
                more=number == 0,
                note=f"bare: {bare:.0f} {('/s', 'ms', 'ms', 'µs')[number]}",
            )


_Served: TypeAlias = tuple[float, float, float, float]


def _served(port: int, pid: int) -> _Served:
    before = _cpu(pid)
    load = loaded(port, CLIENTS, CALLS)
    used = 1e6 * (_cpu(pid) - before) / CALLS
    if load.wrong:
        raise RuntimeError(load.wrong[0])
    return load.per_second, load.at(0.5), load.at(0.99), used


def _cpu(pid: int) -> float:
    """Seconds of the processor that a process has used, with all its threads."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _first(command: Sequence[str], world: World) -> Callable[[], float]:
    def measure() -> float:
        server = Stdio(command, world)
        took = server.begin()
        server.close()
        return took

    return measure


def _listed(command: Sequence[str], world: World) -> Callable[[], float]:
    def measure() -> float:
        with _serving(command, world) as server:
            server.ask("tools/list")
            return perf_counter() - server.begun

    return measure


def _used(command: Sequence[str], world: World) -> Callable[[], float]:
    def measure() -> float:
        with _serving(command, world) as server:
            params = {"name": "echo", "arguments": {"text": "hi"}}
            for _ in range(100):
                server.ask("tools/call", params)
            before = _cpu(server.process.pid)
            for _ in range(CALLS):
                server.ask("tools/call", params)
            return (_cpu(server.process.pid) - before) / CALLS

    return measure


@contextmanager
def _serving(command: Sequence[str], world: World) -> Iterator[Stdio]:
    server = Stdio(command, world)
    try:
        server.begin()
        yield server
    finally:
        server.close()
