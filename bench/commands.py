"""One command through the whole pipeline and its walls, in a running process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from statistics import median
from time import perf_counter

from bench.bubblewrap import bubblewrap
from bench.measuring import ratios, repeated, spaced
from bench.rows import Row
from bench.world import NAMES, OFF, PYTHON3, TIER_A, TIER_B, World, called

BARE = "subprocess.run"
BWRAP = "bwrap"
DIRECT = "direct"


@dataclass(frozen=True)
class Subject:
    """A tool, and the very command that it starts."""

    section: str
    tool: str
    command: tuple[str, ...]
    # By tier: target and stretch. Faster than bwrap is wanted of all of them.
    targets: Mapping[str, tuple[float, float]]


SUBJECTS = (
    Subject(
        'A command in a running process, multiples of `subprocess.run(["true"])`',
        "nothing",
        ("true",),
        {TIER_A: (4.5, 3.0), TIER_B: (3.0, 2.0)},
    ),
    Subject(
        'An interpreter, multiples of `subprocess.run(["python3", "-c", "pass"])`',
        "interpreter",
        (PYTHON3, "-c", "pass"),
        {},
    ),
)
FIRST = 'The first call of a fresh process, multiples of its first `subprocess.run(["true"])`'


@dataclass(frozen=True)
class Pace:
    name: str
    note: str
    calls: int
    # Seconds before each call, in which what comes after the last one gets done.
    pause: float = 0.0

    def work(self, call: Callable[[], object]) -> Callable[[], float]:
        return spaced(call, self.calls, self.pause) if self.pause else repeated(call, self.calls)


PACES = (
    Pace(
        "50 ms apart", "as an agent calls: the walls of the next call go up in the pause", 3, 0.05
    ),
    Pace("back to back", "the walls of the next call go up while the caller waits", 5),
)


def rows(worlds: Mapping[str, World], rounds: int) -> Iterator[Row]:
    """`worlds` are by how their calls are confined."""
    for subject in SUBJECTS:
        with ExitStack() as opened:
            calls: dict[str, Callable[[], object]] = {
                BARE: partial(subprocess.run, subject.command, check=True)
            }
            if (around := bubblewrap()) is not None:
                calls[BWRAP] = partial(subprocess.run, [*around, *subject.command], check=True)
            for kind, world in worlds.items():
                runtime = opened.enter_context(world.opened())
                calls[kind] = partial(called, runtime, subject.tool)
            for call in calls.values():
                call()
            for pace in PACES:
                works = {name: pace.work(call) for name, call in calls.items()}
                yield from _paced(subject, pace, ratios(works, BARE, rounds))


def _paced(subject: Subject, pace: Pace, measured: Mapping[str, float]) -> Iterator[Row]:
    bwrap = measured.get(BWRAP)
    missing = "" if bwrap else "not installed"
    yield Row(subject.section, f"bwrap, {pace.name}", bwrap, note=missing)
    for tier in (TIER_A, TIER_B):
        value = measured.get(tier)
        target, stretch = subject.targets.get(tier, (None, None))
        name = f"{NAMES[tier]}, {pace.name}"
        note = "this machine cannot" if value is None else pace.note
        yield Row(subject.section, name, value, "x", target, stretch, note=note)
        against = value / bwrap if value and bwrap else None
        yield Row(subject.section, f"{name}, against bwrap", against, "x", 1, note=missing)
    yield Row(subject.section, f"{NAMES[OFF]}, {pace.name}", measured[OFF])


def direct_rows(world: World, rounds: int) -> Iterator[Row]:
    """The command line's way, which forks from the very process."""
    subject = SUBJECTS[0]
    with world.opened(direct=True) as runtime:
        works = {
            BARE: repeated(partial(subprocess.run, subject.command, check=True), 5),
            DIRECT: repeated(partial(called, runtime, subject.tool), 5),
        }
        measured = ratios(works, BARE, rounds)
    note = "as the command line, which calls once"
    yield Row(subject.section, "without a fork server, back to back", measured[DIRECT], note=note)


def first_rows(worlds: Mapping[str, World], rounds: int) -> Iterator[Row]:
    """Each in a fresh process, alternating."""
    took: dict[str, list[float]] = {kind: [] for kind in worlds}
    for _ in range(rounds):
        for kind, world in worlds.items():
            done = subprocess.run(
                [sys.executable, "-m", "bench.commands", world.project],
                env=world.environment,
                check=True,
                capture_output=True,
                text=True,
            )
            took[kind].append(float(done.stdout))
    for kind, values in took.items():
        yield Row(FIRST, NAMES[kind], median(values), note="the fork server is started for it")


def _first(world: World) -> float:
    begun = perf_counter()
    subprocess.run(["true"], check=True)
    bare = perf_counter() - begun
    with world.opened() as runtime:
        begun = perf_counter()
        called(runtime, "nothing")
        return (perf_counter() - begun) / bare


if __name__ == "__main__":
    print(_first(World(sys.argv[1], dict(os.environ))))
