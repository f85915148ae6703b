"""Run every measurement, print the table, keep it."""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

from bench import (
    agent,
    approvals,
    commands,
    discovery,
    frameworks,
    http,
    large_output,
    mcp,
    pipeline,
    processes,
    python_tool,
    rules,
    search,
    startup,
)
from bench.rows import Row, as_json, as_markdown
from bench.world import OFF, World, possible, prepare

HERE = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench")
    parser.add_argument("--quick", action="store_true", help="fewer rounds; writes no results")
    quick: bool = parser.parse_args().quick
    begun = perf_counter()
    prepare()
    with tempfile.TemporaryDirectory(prefix="tongs-bench-") as folder:
        rows = list(_rows(Path(folder), quick=quick))
    table = as_markdown(rows)
    missed = [row for row in rows if row.met is False]
    print(table)
    print(f"{len(missed)} targets missed, {perf_counter() - begun:.0f} s", file=sys.stderr)
    if not quick:
        (HERE / "results.md").write_text(f"{_heading()}\n{table}", encoding="utf-8")
        (HERE / "results.json").write_text(as_json(rows), encoding="utf-8")
    return 0


def _rows(root: Path, *, quick: bool) -> Iterator[Row]:
    tiers = possible()
    worlds = {kind: World.make(root / kind, 5, kind) for kind in (*tiers, OFF)}
    confined = {tier: worlds[tier] for tier in tiers}
    yield from startup.rows(root, worlds, 5 if quick else 40, count_instructions=not quick)
    yield from discovery.rows(root, 3 if quick else 15, quick=quick)
    # Ten thousands of files that wait for the disk would be in the way of every record of a call.
    os.sync()
    world = World.make(root / "calls", 5)
    # From here on this process is the caller: it has to see the same world.
    world.enter()
    yield from pipeline.rows(world, 5 if quick else 40, count_instructions=not quick)
    yield from approvals.rows(world, 3 if quick else 15)
    yield from rules.rows(world, 5 if quick else 40)
    yield from frameworks.rows(world, 3 if quick else 20)
    yield from search.rows(3 if quick else 15)
    yield from commands.rows(worlds, 3 if quick else 25)
    yield from commands.direct_rows(worlds[tiers[0] if tiers else OFF], 5 if quick else 25)
    yield from commands.first_rows(worlds, 2 if quick else 8)
    yield from processes.concurrency_rows(worlds, 3 if quick else 10)
    yield from processes.growth_rows(confined)
    yield from python_tool.rows(root / "python", 3 if quick else 20)
    world.enter()
    yield from large_output.rows(world)
    yield from http.rows(root / "http", 3 if quick else 25)
    yield from mcp.rows(World.make(root / "mcp", 5), 5 if quick else 25)
    yield from agent.rows(World.make(root / "agent", 5), 3 if quick else 15)


def _heading() -> str:
    return (
        "# Results of `make bench`\n\n"
        "Written by `make bench`; every value is a ratio inside that one run"
        f" (CPython {platform.python_version()}, {os.cpu_count()} cores).\n"
        "`instructions` counts the Tongs process with valgrind, against the same baseline;"
        " the limits of a tool's\nprocess do not work there, so a `tool run` is counted up to the"
        " failed start of its payload.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
