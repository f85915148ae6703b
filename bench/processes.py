"""Tools that start a process, called in a running process."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from time import perf_counter
from typing import Any

from bench.measuring import ratios, repeated
from bench.rows import Row
from bench.world import World
from tongs import Runtime

SECTION = 'One command in a running process, multiples of `subprocess.run(["true"])`'
CONCURRENT = "Calls at once, throughput against bare asyncio"
GROWTH = "Growth of one call with the memory of its parent, 30 to 300 MiB"
TRUE = 'subprocess.run(["true"])'
BASH = 'subprocess.run(["bash", "-c", "echo hi"])'
CALLS = 5
SANDBOX = "the target was written for the kernel sandbox, tier B"


def rows(world: World, rounds: int) -> Iterator[Row]:
    with _opened(world, direct=False) as served, _opened(world, direct=True) as direct:
        works = {
            TRUE: repeated(lambda: subprocess.run(["true"], check=True), CALLS),
            BASH: repeated(lambda: _bash("echo hi"), CALLS),
            "fork server, `true`": repeated(lambda: _called(served, "nothing"), CALLS),
            "fork server, bash": repeated(lambda: _called(served, "hi"), CALLS),
            "direct, `true`": repeated(lambda: _called(direct, "nothing"), CALLS),
            "direct, bash": repeated(lambda: _called(direct, "hi"), CALLS),
        }
        for work in works.values():
            work()
        measured = ratios(works, TRUE, rounds)
    yield Row(SECTION, BASH, measured[BASH])
    note = f"a library's way; {SANDBOX}"
    yield Row(SECTION, "fork server, `true`", measured["fork server, `true`"], "x", 3, 2, note=note)
    against_bash = f"{measured['fork server, bash'] / measured[BASH]:.2f}x bash alone"
    yield Row(SECTION, "fork server, bash", measured["fork server, bash"], note=against_bash)
    yield Row(SECTION, "direct, `true`", measured["direct, `true`"], note="the command line's way")
    yield Row(SECTION, "direct, bash", measured["direct, bash"])


def concurrency_rows(world: World, rounds: int) -> Iterator[Row]:
    with _opened(world, direct=False) as runtime:
        for count in (16, 64):

            async def called() -> None:
                result = await runtime.call("hi")
                if result.output != "hi\n":
                    raise RuntimeError(str(result))

            works = {"bare": _at_once(_bare, count), "tongs": _at_once(called, count)}
            works["tongs"]()
            slower = ratios(works, "bare", rounds)["tongs"]
            yield Row(
                CONCURRENT,
                f"{count} calls of `bash: echo hi`",
                1 / slower,
                "x",
                0.5,
                0.8,
                more=True,
                note=SANDBOX,
            )


def growth_rows(world: World) -> Iterator[Row]:
    """Each size in a fresh process, alternating."""
    seconds: dict[tuple[str, int], list[float]] = {}
    for _ in range(4):
        for mebibytes in (30, 300):
            program = [sys.executable, "-m", "bench.processes", world.project, str(mebibytes)]
            done = subprocess.run(program, check=True, capture_output=True, text=True)
            for kind, took in json.loads(done.stdout).items():
                seconds.setdefault((kind, mebibytes), []).append(took)
    for kind, target in (("fork server", 10.0), ("direct", None)):
        growth = min(seconds[kind, 300]) / min(seconds[kind, 30]) - 1
        yield Row(GROWTH, kind, growth * 100, "%", target)


def _grown(world: World, mebibytes: int) -> dict[str, float]:
    ballast = bytearray(os.urandom(1024) * 1024 * mebibytes)
    found = {}
    for kind, direct in (("fork server", False), ("direct", True)):
        with _opened(world, direct=direct) as runtime:
            took = []
            _called(runtime, "nothing")
            for _ in range(40):
                begun = perf_counter()
                _called(runtime, "nothing")
                took.append(perf_counter() - begun)
            took.sort()
            found[kind] = took[len(took) // 4]
    del ballast
    return found


def _opened(world: World, *, direct: bool) -> Runtime:
    return Runtime.open(world.project, auto_approve=["*"], single_thread=direct)


def _called(runtime: Runtime, name: str) -> None:
    result = runtime.call_sync(name)
    if not result.ok:
        raise RuntimeError(str(result.error))


def _bash(script: str) -> None:
    subprocess.run(["bash", "-c", script], check=True, capture_output=True)


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
