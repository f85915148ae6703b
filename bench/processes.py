"""Many calls at once, and calls from a large process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from time import perf_counter
from typing import Any

from bench.measuring import ratios, spaced
from bench.rows import Row
from bench.world import NAMES, TIER_A, TIER_B, World, called
from tongs import Runtime

CONCURRENT = "Calls at once, throughput against bare asyncio"
GROWTH = "Growth of one call with the memory of its parent, 30 to 300 MiB"
BARE = "bare"
PAUSE = 0.03
# By tier: target and stretch.
THROUGHPUT: Mapping[str, tuple[float | None, float | None]] = {
    TIER_A: (0.25, 0.5),
    TIER_B: (0.5, 0.8),
}


def concurrency_rows(worlds: Mapping[str, World], rounds: int) -> Iterator[Row]:
    """`worlds` are by how their calls are confined."""
    with ExitStack() as opened:
        runtimes = {kind: opened.enter_context(world.opened()) for kind, world in worlds.items()}
        for count in (16, 64):
            works = {BARE: _at_once(_bare, count)}
            for kind, runtime in runtimes.items():
                works[kind] = _at_once(partial(_said_hi, runtime), count)
            for work in works.values():
                work()
            slower = ratios(works, BARE, rounds)
            for kind in worlds:
                target, stretch = THROUGHPUT.get(kind, (None, None))
                name = f"{count} calls of `bash: echo hi`, {NAMES[kind]}"
                yield Row(CONCURRENT, name, 1 / slower[kind], "x", target, stretch, more=True)


def growth_rows(worlds: Mapping[str, World]) -> Iterator[Row]:
    """Each size in a fresh process, alternating."""
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(3):
        for kind, world in worlds.items():
            for mebibytes in (30, 300):
                program = [sys.executable, "-m", "bench.processes", world.project, str(mebibytes)]
                done = subprocess.run(
                    program, env=world.environment, check=True, capture_output=True, text=True
                )
                for way, took in json.loads(done.stdout).items():
                    seconds.setdefault((f"{NAMES[kind]}, {way}", mebibytes), []).append(took)
    for name in dict.fromkeys(name for name, _ in seconds):
        growth = min(seconds[name, 300]) / min(seconds[name, 30]) - 1
        target = 10.0 if "fork server" in name else None
        yield Row(GROWTH, name, growth * 100, "%", target)


def _grown(world: World, mebibytes: int) -> dict[str, float]:
    ballast = bytearray(os.urandom(1024) * 1024 * mebibytes)
    found = {}
    for way, direct in (("fork server", False), ("forked directly", True)):
        with world.opened(direct=direct) as runtime:
            called(runtime, "nothing")
            # Apart, so that no call waits for what the one before it has ordered.
            once = spaced(partial(called, runtime, "nothing"), 1, 0 if direct else PAUSE)
            took = [once() for _ in range(15 if direct else 30)]
            took.sort()
            found[way] = took[len(took) // 4]
    del ballast
    return found


async def _said_hi(runtime: Runtime) -> None:
    result = await runtime.call("hi")
    if result.output != "hi\n":
        raise RuntimeError(str(result))


async def _bare() -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", "echo hi", stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
    )
    await process.communicate()


def _at_once(work: Callable[[], Awaitable[Any]], count: int) -> Callable[[], float]:
    async def together() -> float:
        begun = perf_counter()
        await asyncio.gather(*(work() for _ in range(count)))
        return perf_counter() - begun

    def measure() -> float:
        gc.collect()
        return asyncio.run(together())

    return measure


if __name__ == "__main__":
    print(json.dumps(_grown(World(sys.argv[1], dict(os.environ)), int(sys.argv[2]))))
