"""Sixty-four clients at once over HTTP: every call is answered, and the memory stays as it was."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from bench.mcp_load import Load, echo_server, loaded, memory

pytestmark = pytest.mark.full

CLIENTS, CALLS = 64, 10_000
# Calls of those that are only compared with, and of the warm-up: caches and arenas fill.
FEWER = 2_000
ROOM = 4  # MiB: 420 bytes per call would be a leak

Record = Callable[[str, object], None]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    env = {name: str(tmp_path / name) for name in ("HOME", "TONGS_HOME", "TONGS_GLOBAL")}
    for folder in env.values():
        Path(folder).mkdir()
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **env}


def test_mcp_load_of_64_clients(
    tmp_path: Path, world: dict[str, str], record_property: Record
) -> None:
    with echo_server("tongs", tmp_path, world) as (port, pid):
        warm = loaded(port, CLIENTS, FEWER)
        before = memory(pid)
        load = loaded(port, CLIENTS, CALLS)
        grown = memory(pid) - before
    others = {kind: _compared(kind, tmp_path, world) for kind in ("bare", "fastmcp")}

    for name, found in {
        "Tongs": load,
        "bare SDK": others["bare"],
        "FastMCP": others["fastmcp"],
    }.items():
        record_property(f"{name} calls/s", f"{found.per_second:.0f}")
        record_property(f"{name} p50/p99 ms", f"{found.at(0.5):.0f}/{found.at(0.99):.0f}")
    record_property("grown MiB", f"{grown:.1f}")
    assert warm.wrong == load.wrong == []
    assert len(load.took) == CALLS
    assert grown < ROOM


def _compared(kind: str, folder: Path, env: dict[str, str]) -> Load:
    with echo_server(kind, folder, env) as (port, _):
        loaded(port, CLIENTS, CLIENTS)
        return loaded(port, CLIENTS, FEWER)
