"""Whole processes: cold start, listing, one trivial call."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from statistics import median

from bench.measuring import Command, instructions, ratios, spawned
from bench.rows import Row
from bench.world import NAMES, OFF, PYTHON, TONGS, World

SECTION = "Whole processes, multiples of `python -c pass`"
BASELINE = "python -c pass"
SIZES = (5, 100, 1000)
LISTED = {5: (None, None), 100: (4.0, 1.6), 1000: (6.0, 3.0)}


RUN = 'tongs tool run, `run: "true"`'
# Sandboxed; 6 was the target before there was a sandbox, and is the one without.
RUN_TARGET, RUN_STRETCH = 8.0, 2.5


def rows(
    root: Path, confined: Mapping[str, World], rounds: int, *, count_instructions: bool
) -> Iterator[Row]:
    """`confined` are small worlds by how their calls are, the machine's own choice first."""
    worlds = {size: World.make(root / str(size), size) for size in SIZES}
    small = worlds[5]
    commands: dict[str, tuple[Command, World]] = {
        BASELINE: ((PYTHON, "-c", "pass"), small),
        "tongs --version": ((TONGS, "--version"), small),
        "python -m tongs --version": ((PYTHON, "-m", "tongs", "--version"), small),
        "import tongs": ((PYTHON, "-c", "import tongs"), small),
        "from tongs import Runtime": ((PYTHON, "-c", "from tongs import Runtime"), small),
        **{f"tongs tool list, {n} tools": ((TONGS, "tool", "list"), worlds[n]) for n in SIZES},
        **{
            f"{RUN}, {NAMES[tier]}": ((TONGS, "tool", "run", "nothing"), world)
            for tier, world in confined.items()
        },
        "tongs tool run, `bash: echo hi`": ((TONGS, "tool", "run", "hi"), small),
        "tongs tool run, one parameter": ((TONGS, "tool", "run", "greet", "WHO=you"), small),
        "the same among 1000 tools": ((TONGS, "tool", "run", "greet", "WHO=you"), worlds[1000]),
        "tongs tool run, `python3 -c pass`": ((TONGS, "tool", "run", "interpreter"), small),
    }
    targets: dict[str, tuple[float | None, float | None]] = {
        "tongs --version": (2.0, 1.25),
        "import tongs": (4.0, 2.5),
        "from tongs import Runtime": (4.0, 2.5),
        **{f"tongs tool list, {size} tools": LISTED[size] for size in SIZES},
        **{f"{RUN}, {NAMES[tier]}": (RUN_TARGET, RUN_STRETCH) for tier in confined},
        f"{RUN}, {NAMES[OFF]}": (6.0, RUN_STRETCH),
        "tongs tool run, `bash: echo hi`": (RUN_TARGET, RUN_STRETCH),
        "tongs tool run, one parameter": (RUN_TARGET, RUN_STRETCH),
    }
    works: dict[str, Callable[[], float]] = {
        name: partial(spawned, command, world.environment, world.project)
        for name, (command, world) in commands.items()
    }
    for work in works.values():  # fill the caches
        work()
    measured = ratios(works, BASELINE, rounds)
    counted: dict[str, float] = {}
    if count_instructions:
        counted = _counted(commands)
    for name, value in measured.items():
        target, stretch = targets.get(name, (None, None))
        note = "" if counted or not count_instructions else "instructions not measured"
        yield Row(
            SECTION, name, value, "x", target, stretch, instructions=counted.get(name), note=note
        )
    yield _uncached(worlds[1000], works[BASELINE])


def _counted(commands: Mapping[str, tuple[Command, World]]) -> dict[str, float]:
    found = {
        name: instructions(command, world.environment, world.project)
        for name, (command, world) in commands.items()
    }
    base = found[BASELINE]
    if base is None:
        return {}
    return {name: count / base for name, count in found.items() if count is not None}


def _uncached(world: World, baseline: Callable[[], float]) -> Row:
    cache = Path(world.environment["HOME"], ".tongs", "state", "cache")
    took = []
    for _ in range(3):
        shutil.rmtree(cache)
        seconds = spawned((TONGS, "tool", "list"), world.environment, world.project)
        took.append(seconds / baseline())
    return Row(SECTION, "the first list, 1000 tools, no cache", median(took))
