"""Execution as a program meets it: a session, real tools, and what is left afterwards."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.unit.sandbox.running import (
    DAEMON,
    PATH,
    World,
    bash,
    dies_within,
    ignore,
    is_alive,
    pid_in,
    without_duration,
)

from tongs.core.execution import Completed
from tongs.core.permissions import Limits
from tongs.sandbox.waiting import LoopWaiter
from tongs.store.spool import Spool


def test_two_steps_share_the_scratch_of_their_call_and_nothing_survives_it(tmp_path: Path) -> None:
    world = World(temp_root=str(tmp_path))
    session = world.session()
    environment = {"PATH": PATH, "TMPDIR": session.scratch}

    write = bash('echo from the first > "$TMPDIR/file"', environment=environment)
    world.step(session, write)
    second = world.step(session, bash('cat "$TMPDIR/file"', environment=environment))
    session.close()

    assert second.stdout == b"from the first\n"
    assert [*tmp_path.glob("*/*")] == []


def test_a_script_with_input_arguments_and_both_outputs() -> None:
    world = World()
    session = world.session()
    script = session.write(
        "count", b'#!/usr/bin/env bash\nwc -l\necho "$@"\necho warning >&2\nexit 4\n'
    )

    completed = world.step(session, bash('"$@"', script, "a b", "c", stdin=b"1\n2\n3\n"))
    world.close()

    assert without_duration(completed) == Completed(
        exit_code=4,
        signal=None,
        timed_out=False,
        duration=0.0,
        stdout=b"3\na b c\n",
        stderr=b"warning\n",
        output=completed.output,
        stdout_size=8,
        stderr_size=8,
    )
    assert sorted(completed.output.splitlines()) == [b"3", b"a b c", b"warning"]


def test_large_output_can_be_paged_after_the_call(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    world = World(spool=spool)

    completed = world.run(bash("seq 1 200000"), Limits(output=10_000))

    assert completed.spool is not None
    assert completed.stdout.startswith(b"1\n2\n")
    assert spool.size(completed.spool) == completed.stdout_size
    assert spool.read(completed.spool, completed.stdout_size - 14, 14) == b"199999\n200000\n"


def test_one_call_has_one_bound_in_the_spool_over_all_its_steps(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    world = World(spool=spool)
    session = world.session(Limits(output=1000))

    async def both() -> list[Completed]:
        return [
            await session.run(bash("head -c 50000000 /dev/zero"), ignore),
            await session.run(bash("head -c 50000000 /dev/zero"), ignore),
        ]

    first, second = asyncio.run(both())
    world.close()

    assert first.lost == 0
    assert second.lost == 100_000_000 - 64 * 1024**2


def test_ctrl_c_ends_the_tool_and_leaves_nothing_behind(tmp_path: Path) -> None:
    program = """
import sys
from tests.unit.sandbox.running import DAEMON, World, bash, driven
world = World(temp_root=sys.argv[2])
session = world.session()
session.scratch
payload = bash(DAEMON + "sleep 300", sys.argv[1])
try:
    driven(session.run(payload, lambda event: print("ready", flush=True)))
except KeyboardInterrupt:
    session.close()
    print("interrupted", flush=True)
"""
    left, scratch = tmp_path / "pid", tmp_path / "scratch"
    scratch.mkdir()
    with subprocess.Popen(
        [sys.executable, "-c", program, str(left), str(scratch)], stdout=subprocess.PIPE
    ) as tongs:
        assert tongs.stdout is not None
        assert tongs.stdout.readline() == b"ready\n"

        tongs.send_signal(signal.SIGINT)

        assert tongs.stdout.readline() == b"interrupted\n"
        assert not is_alive(pid_in(left))
        assert [*scratch.glob("*/*")] == []


def test_ctrl_c_on_a_terminal_reaches_tongs_and_not_the_tool_around_it(tmp_path: Path) -> None:
    # A terminal signals its whole foreground group; the tool is not in it and dies by our hand.
    program = """
import os, sys
from tests.unit.sandbox.running import World, bash, driven
script = 'trap "" INT; echo $$ > "$1.new"; mv "$1.new" "$1"; echo ready; sleep 300'
try:
    driven(World().session().run(bash(script, sys.argv[1]), lambda e: print("ready", flush=True)))
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    left = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(left)], stdout=subprocess.PIPE, process_group=0
    ) as tongs:
        assert tongs.stdout is not None
        assert tongs.stdout.readline() == b"ready\n"

        os.killpg(tongs.pid, signal.SIGINT)

        assert tongs.stdout.readline() == b"interrupted\n"
        assert dies_within(pid_in(left), 10)


def test_a_service_runs_tools_beside_each_other_and_cancels_one_of_them(tmp_path: Path) -> None:
    world = World(direct=False, loop=True)
    left = tmp_path / "pid"

    async def serve() -> tuple[bytes, bool]:
        started = asyncio.Event()
        slow = asyncio.create_task(
            world.session(waiter=LoopWaiter()).run(
                bash(DAEMON + "sleep 300", str(left)), lambda event: started.set()
            )
        )
        await started.wait()
        quick = await world.session(waiter=LoopWaiter()).run(bash("echo quick"), ignore)
        slow.cancel()
        await asyncio.wait([slow])
        return quick.stdout, slow.cancelled()

    outcome = asyncio.run(serve())
    world.close()

    assert outcome == (b"quick\n", True)
    assert not is_alive(pid_in(left))
