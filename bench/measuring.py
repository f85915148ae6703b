"""Interleaved timing, and instruction counts where valgrind is installed."""

from __future__ import annotations

import gc
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from statistics import median
from time import perf_counter, sleep

Command = Sequence[str]


def spawned(command: Command, environment: Mapping[str, str], cwd: str) -> float:
    """Seconds that a process takes from its start to its end; its output goes nowhere."""
    here = os.getcwd()
    os.chdir(cwd)
    try:
        nowhere = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in range(3)]
        begun = perf_counter()
        pid = os.posix_spawn(command[0], list(command), environment, file_actions=nowhere)
        _, status = os.waitpid(pid, 0)
        took = perf_counter() - begun
    finally:
        os.chdir(here)
    if status:
        raise RuntimeError(f"{' '.join(command)}: status {status}")
    return took


def ratios(
    works: Mapping[str, Callable[[], float]], baseline: str, rounds: int
) -> dict[str, float]:
    """The median over all rounds of each work's seconds, divided by the baseline's of its round.

    Each round runs every work once, so that whatever else the machine does hits all of them. The
    baseline runs at both ends of a round.
    """
    found: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        seconds = {name: work() for name, work in works.items()}
        base = (seconds[baseline] + works[baseline]()) / 2
        for name, took in seconds.items():
            found[name].append(took / base)
    return {name: median(values) for name, values in found.items()}


def repeated(work: Callable[[], object], times: int) -> Callable[[], float]:
    """A work for `ratios`: seconds of one of `times` calls in a row, without the collector."""

    def measure() -> float:
        with _no_collector():
            begun = perf_counter()
            for _ in range(times):
                work()
            return (perf_counter() - begun) / times

    return measure


def spaced(work: Callable[[], object], times: int, pause: float) -> Callable[[], float]:
    """As `repeated`, with a pause before each call that is not counted."""

    def measure() -> float:
        total = 0.0
        with _no_collector():
            for _ in range(times):
                sleep(pause)
                begun = perf_counter()
                work()
                total += perf_counter() - begun
        return total / times

    return measure


@contextmanager
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def instructions(command: Command, environment: Mapping[str, str], cwd: str) -> int | None:
    """Instructions of the process itself, forks excluded; None without valgrind.

    The exit code says nothing: valgrind refuses the limits that a tool's process gets, so a
    `tool run` is counted with the failed start of its payload instead of its output.
    """
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return None
    tool = [valgrind, "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run(
        [*tool, *command],
        env={**environment, "PYTHONHASHSEED": "0"},
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    # A forked copy counts from the beginning of its parent, which always does the most.
    counts = re.findall(r"I\s+refs:\s+([\d,]+)", done.stderr)
    return max((int(count.replace(",", "")) for count in counts), default=None)
