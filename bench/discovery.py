"""Listing many tools of each shape, with nothing known of them and from the cache."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median

from bench.measuring import ratios, spawned
from bench.rows import Row
from bench.world import FILLER, PYTHON, TONGS, World

BARE, LISTING = "bare", "listing"
SECTION = "Listing tools, multiples of `python -c pass`"
SIZES = (10, 100, 1000, 10_000)
# To ask an executable takes two processes, so ten thousand of them would only measure patience.
MOST_EXECUTABLES = 1000
TARGETS = {("yaml", 100): (4.0, 1.6), ("yaml", 1000): (6.0, 3.0), ("executable", 1000): (6.0, 3.0)}

_EXECUTABLE = """#!/bin/sh
[ "$1" = description ] || exit 1
echo '{description}'
"""
_MANIFEST = """name: tool{number}
description: Look for a pattern in the files of a folder, number {number}
kind: command
inputs:
  schema:
    type: object
    properties: {{pattern: {{type: string}}}}
exec:
  command: {{entrypoint: grep, args: [-rn, --, "${{pattern}}"]}}
permissions: {{fs: {{read: ["."]}}}}
"""


def rows(root: Path, rounds: int, *, quick: bool) -> Iterator[Row]:
    sizes = SIZES[:2] if quick else SIZES
    for shape, write in WRITERS.items():
        for size in sizes:
            if shape == "executable" and size > MOST_EXECUTABLES:
                continue
            world = World.make(root / f"{shape}-{size}", 0)
            write(Path(world.environment["HOME"]) / ".tongs" / "tools", size)
            yield from _measured(shape, size, world, rounds)
            shutil.rmtree(root / f"{shape}-{size}")


def _measured(shape: str, size: int, world: World, rounds: int) -> Iterator[Row]:
    def taking(*command: str) -> Callable[[], float]:
        return partial(spawned, command, world.environment, world.project)

    bare, listing = taking(PYTHON, "-c", "pass"), taking(TONGS, "tool", "list")
    first = listing() / median(bare() for _ in range(rounds))
    cached = ratios({BARE: bare, LISTING: listing}, BARE, rounds)[LISTING]
    target, stretch = TARGETS.get((shape, size), (None, None))
    name = f"{size} tools, {shape}"
    yield Row(SECTION, f"{name}, cached", cached, "x", target, stretch)
    yield Row(SECTION, f"{name}, the first time", first)


def _yaml(folder: Path, size: int) -> None:
    for number in range(size):
        (folder / f"tool{number}.yaml").write_text(FILLER.format(number=number))


def _executables(folder: Path, size: int) -> None:
    for number in range(size):
        description = {
            "name": f"tool{number}",
            "description": f"Look for a pattern in the files of a folder, number {number}",
            "input_schema": {"type": "object", "properties": {"pattern": {"type": "string"}}},
        }
        file = folder / f"tool{number}"
        file.write_text(_EXECUTABLE.format(description=json.dumps(description)))
        file.chmod(0o755)


def _manifests(folder: Path, size: int) -> None:
    for number in range(size):
        (folder / f"tool{number}").mkdir()
        (folder / f"tool{number}" / "tool.yml").write_text(_MANIFEST.format(number=number))


WRITERS: dict[str, Callable[[Path, int], None]] = {
    "yaml": _yaml,
    "executable": _executables,
    "manifest": _manifests,
}
