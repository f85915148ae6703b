"""Both waiters answer alike."""

from __future__ import annotations

import asyncio
import os
import select
import subprocess
import sys
import threading
from collections.abc import Sequence

import pytest
from tests.unit.sandbox.running import driven

from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter

Ready = Sequence[tuple[int, int]]


@pytest.fixture(params=["blocking", "loop"])
def loop(request: pytest.FixtureRequest) -> bool:
    return bool(request.param == "loop")


def ready(loop: bool, watched: Ready, timeout: float | None) -> Ready:
    if loop:
        return asyncio.run(LoopWaiter().ready(watched, timeout))
    return driven(BlockingWaiter().ready(watched, timeout))


def test_nothing_is_ready_when_the_time_runs_out(loop: bool, pipe: tuple[int, int]) -> None:
    assert list(ready(loop, [(pipe[0], select.POLLIN)], 0.01)) == []


def test_time_that_is_over_already_still_looks(loop: bool, pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"x")

    assert list(ready(loop, [(pipe[0], select.POLLIN)], 0.05)) == [(pipe[0], select.POLLIN)]


def test_what_can_be_read_is_ready(loop: bool, pipe: tuple[int, int]) -> None:
    threading.Timer(0.05, os.write, (pipe[1], b"x")).start()

    assert list(ready(loop, [(pipe[0], select.POLLIN)], 10)) == [(pipe[0], select.POLLIN)]


def test_what_can_be_written_is_ready(loop: bool, pipe: tuple[int, int]) -> None:
    watched = [(pipe[0], select.POLLIN), (pipe[1], select.POLLOUT)]

    assert list(ready(loop, watched, None)) == [(pipe[1], select.POLLOUT)]


def test_the_end_of_a_pipe_counts_as_readable(loop: bool, pipe: tuple[int, int]) -> None:
    os.close(pipe[1])

    assert list(ready(loop, [(pipe[0], select.POLLIN)], None)) == [(pipe[0], select.POLLIN)]


def test_a_pipe_that_nobody_reads_counts_as_writable(loop: bool, pipe: tuple[int, int]) -> None:
    os.close(pipe[0])

    assert list(ready(loop, [(pipe[1], select.POLLOUT)], None)) == [(pipe[1], select.POLLOUT)]


def test_one_waiter_may_be_used_for_changing_descriptors(pipe: tuple[int, int]) -> None:
    waiter = BlockingWaiter()
    reading, writing = [(pipe[0], select.POLLIN)], [(pipe[1], select.POLLOUT)]

    assert driven(waiter.ready(writing, 0)) == writing
    assert driven(waiter.ready(reading, 0)) == []
    assert driven(waiter.ready(writing, 0)) == writing


def test_the_loop_goes_on_while_a_descriptor_is_waited_for(pipe: tuple[int, int]) -> None:
    async def both() -> list[str]:
        done: list[str] = []

        async def wait() -> None:
            await LoopWaiter().ready([(pipe[0], select.POLLIN)], None)
            done.append("waited")

        async def work() -> None:
            done.append("worked")
            os.write(pipe[1], b"x")

        await asyncio.gather(wait(), work())
        return done

    assert asyncio.run(both()) == ["worked", "waited"]


def test_work_that_blocks_runs_beside_the_loop_and_inline_without_one() -> None:
    here = threading.get_ident()

    assert driven(BlockingWaiter().blocking(threading.get_ident)) == here
    assert asyncio.run(LoopWaiter().blocking(threading.get_ident)) != here


def test_a_command_run_without_a_loop_imports_none() -> None:
    program = """
import sys
from tongs.core.execution import Command, Policy
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import create
from tongs.sandbox.waiting import BlockingWaiter
session = create("limits", direct=True).open(Policy(Permissions(), Limits(), "/"), BlockingWaiter())
try:
    session.run(Command(("true",), {}, "/"), print).send(None)
except StopIteration as end:
    assert end.value.exit_code == 0
heavy = "asyncio subprocess tempfile threading socket ctypes selectors signal pathlib".split()
print(sorted(set(heavy) & set(sys.modules)))
"""
    shown = subprocess.run(
        [sys.executable, "-S", "-c", program],
        capture_output=True,
        check=True,
        env={"PYTHONPATH": "src"},
    )

    assert shown.stdout == b"[]\n"
