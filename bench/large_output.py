"""100 MB of output: how far the memory of the process grows, and how long it takes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from statistics import median
from time import perf_counter

from bench.rows import Row
from bench.world import World
from tongs import Runtime

SECTION = "100 MB of output"
LIMIT = 1.0  # MiB that a result holds
ROOM = 8.0
SIZE = 100_000_000


def rows(world: World) -> Iterator[Row]:
    """Each measurement in a fresh process, alternating."""
    grown, bare, kept, called = [], [], [], []
    for _ in range(5):
        bare.append(_in_new_process(world, "bare")["seconds"])
        kept.append(_in_new_process(world, "kept")["seconds"])
        found = _in_new_process(world, "tongs")
        called.append(found["seconds"])
        grown.append(found["mebibytes"])
    note = "the limit of 1 MiB and 8 MiB"
    yield Row(SECTION, "growth of memory", median(grown), "MiB", LIMIT + ROOM, note=note)
    slower = median(called) / median(bare)
    note = "which drops what Tongs keeps: 64 MiB in the spool"
    yield Row(SECTION, "time of a bare read loop", slower, "x", 2, note=note)
    slower = median(called) / median(kept)
    yield Row(SECTION, "time of a read loop that keeps 64 MiB in a file", slower)


def _in_new_process(world: World, what: str) -> dict[str, float]:
    program = [sys.executable, "-m", "bench.large_output", world.project, what]
    done = subprocess.run(program, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _called(project: str) -> dict[str, float]:
    with Runtime.open(project, auto_approve=["*"]) as runtime:
        runtime.call_sync("hi")
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # forget the peak so far
        before = _memory("VmRSS")
        begun = perf_counter()
        result = runtime.call_sync("flood")
        seconds = perf_counter() - begun
        peak = _memory("VmHWM")
    if not result.ok or result.metadata["outputSize"] != SIZE:
        raise RuntimeError(str(result.error))
    return {"seconds": seconds, "mebibytes": (peak - before) / 1024}


def _read(keep: int) -> dict[str, float]:
    """Read it all, holding 1 MiB in memory and writing the first `keep` bytes to a file."""
    begun = perf_counter()
    script = f"head -c {SIZE} /dev/zero"
    with (
        subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE) as process,
        tempfile.TemporaryFile(buffering=0) as file,
    ):
        assert process.stdout is not None
        held = bytearray()
        while data := os.read(process.stdout.fileno(), 65536):
            held += data[: (1 << 20) - len(held)]
            if keep > 0:
                keep -= file.write(data[:keep])
    return {"seconds": perf_counter() - begun}


def _memory(field: str) -> int:
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(f"{field}:"))


if __name__ == "__main__":
    ways = {
        "bare": lambda: _read(0),
        "kept": lambda: _read(64 * 1024**2),
        "tongs": lambda: _called(sys.argv[1]),
    }
    print(json.dumps(ways[sys.argv[2]]()))
