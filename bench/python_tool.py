"""A tool of kind python: cold, in a fresh interpreter each time, by a template, without Tongs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from time import perf_counter

from bench.measuring import ratios, repeated, spaced, spawned
from bench.rows import Row
from bench.world import PYTHON3, World
from tongs import Runtime
from tongs.sandbox.warm import Templates

SECTION = "A tool of kind python, against an interpreter start (`python -c pass`) at the same pace"
BARE = "an interpreter start"
# Seconds before each call: as many as a template needs for its next child, and so many that others
# have used the processor and its caches meanwhile. An interpreter that starts after such a pause
# takes longer, too.
PACES = {"every 5 ms": 0.005, "every 30 ms": 0.03}

_MODULES = {
    "plain": "def run(x):\n    return x\n",
    "imports": "import argparse, csv, decimal, email.message, http.client, logging, pathlib\n"
    "import subprocess, tempfile, urllib.request, xml.etree.ElementTree, zipfile\n\n\n"
    "def run(x):\n    return x\n",
}
_MANIFEST = """\
name: {name}
description: gives back what it gets
kind: python
inputs: {{schema: {{type: object, properties: {{x: {{type: string}}}}}}}}
exec: {{python: {{module: {name}_module, function: run, args: ["${{x}}"]}}}}
permissions: {{fs: {{read: [data]}}}}
"""


def rows(root: Path, rounds: int) -> Iterator[Row]:
    world = _world(root)
    with world.opened() as runtime:
        bare = partial(spawned, [PYTHON3, "-c", "pass"], world.environment, world.project)
        works: dict[str, Callable[[], float]] = {BARE: bare}
        for pace, pause in PACES.items():
            works[f"{BARE}, {pace}"] = spaced(bare, 3, pause)
        for name in _MODULES:
            call = partial(_called, runtime, name)
            program = f"import sys; sys.path[0] = '.'; import {name}_module as m; m.run('x')"
            call()
            works |= {
                f"{name}, plain subprocess": partial(
                    spawned, [PYTHON3, "-c", program], world.environment, world.project
                ),
                f"{name}, cold": partial(_cold, world, name),
                f"{name}, fresh interpreter": partial(_fresh, call),
                f"{name}, warm, back to back": repeated(call, 3),
            }
            for pace, pause in PACES.items():
                works[f"{name}, warm, {pace}"] = spaced(call, 3, pause)
        found = ratios(works, BARE, rounds)
    for way, value in found.items():
        if way.startswith(BARE):
            continue
        base = next((found[f"{BARE}, {pace}"] for pace in PACES if way.endswith(pace)), 1.0)
        yield Row(SECTION, way, value / base, "x", 1 / 6 if way.endswith(tuple(PACES)) else None)


def _world(root: Path) -> World:
    world = World.make(root, 5)
    project = Path(world.project)
    (project / "data").mkdir()
    for name, source in _MODULES.items():
        folder = project / ".tongs" / "tools" / name
        folder.mkdir()
        (folder / "tool.yml").write_text(_MANIFEST.format(name=name))
        (project / f"{name}_module.py").write_text(source)
    config = Path(world.environment["HOME"]) / ".tongs" / "config.yml"
    config.write_text(f"interpreters: {{python: {PYTHON3}}}\n")
    world.run("trust", "--yes")
    return world


def _called(runtime: Runtime, name: str) -> None:
    result = runtime.call_sync(name, {"x": "given"})
    if result.value != "given":
        raise RuntimeError(str(result))


def _cold(world: World, name: str) -> float:
    with world.opened() as runtime:
        _called(runtime, "plain" if name != "plain" else "imports")
        begun = perf_counter()
        _called(runtime, name)
        return perf_counter() - begun


def _fresh(call: Callable[[], None]) -> float:
    with _nothing_kept():
        call()
        begun = perf_counter()
        call()
        return perf_counter() - begun


@contextmanager
def _nothing_kept() -> Iterator[None]:
    take = Templates.take
    Templates.take = lambda *_: None  # type: ignore[method-assign]  # no template, so a fresh one
    try:
        yield
    finally:
        Templates.take = take  # type: ignore[method-assign]  # as it was
