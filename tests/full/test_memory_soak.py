"""Five thousand calls in one process leave it as they found it: memory, descriptors, children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest

CALLS = 5000
EVERY = 250
WARM_UP = 4  # samples until caches and allocator arenas are filled
ROOM = 1024  # KiB: 200 bytes per call would be a leak
# Sixteen at once, with what is kept ready for them: worlds, cgroups and scratch folders.
MOST_DESCRIPTORS = 400

# One call of a real process, one that the schema refuses, one that names nothing.
PROGRAM = """
import asyncio, json, os, sys
from tongs import ErrorCode, Runtime

way, calls, every = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def sample():
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    with open("/proc/self/task/%d/children" % os.getpid()) as file:
        children = len(file.read().split())
    return {
        "kib": pages * os.sysconf("SC_PAGE_SIZE") // 1024,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "children": children,
    }

def check(done, refused, unknown):
    assert done.output == "hi you\\n", done
    assert refused.error.code is ErrorCode.INVALID_ARGUMENTS, refused
    assert unknown.error.code is ErrorCode.TOOL_NOT_FOUND, unknown

def in_sync(runtime):
    for number in range(1, calls + 1):
        check(
            runtime.call_sync("hi", WHO="you"),
            runtime.call_sync("hi", WHO=1, OTHER=2),
            runtime.call_sync("ho"),
        )
        if number % every == 0:
            yield sample()

async def at_once(runtime, samples):
    async def one():
        check(
            await runtime.call("hi", WHO="you"),
            await runtime.call("hi", WHO=1, OTHER=2),
            await runtime.call("ho"),
        )
    for number in range(0, calls, 10):
        await asyncio.gather(*(one() for _ in range(10)))
        if (number + 10) % every == 0:
            samples.append(sample())

with Runtime.open(auto_approve=["*"], single_thread=way == "direct") as runtime:
    if way == "loop":
        samples = []
        asyncio.run(at_once(runtime, samples))
    else:
        samples = list(in_sync(runtime))
print(json.dumps({"samples": samples, "after": sample()}))
"""


def soaked(way: str, folder: Path) -> dict[str, Any]:
    tools = folder / "home" / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (tools / "hi.yaml").write_text(
        'description: says hi\nbash: echo "hi {WHO}"\nparameters:\n'
        "  WHO: {type: string, description: whom, required: true}\n"
    )
    (folder / "project").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, way, str(CALLS), str(EVERY)],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "TONGS_GLOBAL": str(folder / "global"),
        },
        cwd=folder / "project",
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.full
@pytest.mark.timeout(600)
@pytest.mark.parametrize("way", ["fork server", "direct", "loop"])
def test_memory_stays_flat_over_five_thousand_calls(
    way: str, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    found = soaked(way, tmp_path)

    plateau = found["samples"][WARM_UP:]
    assert len(plateau) == CALLS // EVERY - WARM_UP
    first, last = plateau[: len(plateau) // 4], plateau[-len(plateau) // 4 :]
    growth = median(one["kib"] for one in last) - median(one["kib"] for one in first)
    record_property("calls", CALLS)
    record_property("KiB at first", plateau[0]["kib"])
    record_property("KiB grown", growth)
    assert growth <= ROOM, [one["kib"] for one in found["samples"]]
    # What is kept between calls varies with their pace, and is bounded.
    assert max(one["descriptors"] for one in plateau) < MOST_DESCRIPTORS
    assert len({one["children"] for one in plateau}) == 1
    assert found["after"]["children"] == 0
    assert found["after"]["descriptors"] <= plateau[0]["descriptors"]
