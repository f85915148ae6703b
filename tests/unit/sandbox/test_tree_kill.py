"""The whole tree dies, daemons included. Each case has a twin that shows what would live on."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.unit.sandbox.running import (
    DAEMON,
    MODES,
    PATH,
    World,
    bash,
    children,
    dies_within,
    driven,
    is_alive,
    pid_in,
)

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Event, OutputArrived
from tongs.sandbox.waiting import LoopWaiter

STAYS = DAEMON + "sleep 300"

# A program with Tongs in it. It says when the payload is ready, and then waits for it.
TONGS = """
import sys
from tests.unit.sandbox.running import DAEMON, World, bash, driven
session = World.of(sys.argv[1]).session()
payload = bash(DAEMON + "sleep 300", sys.argv[2])
driven(session.run(payload, lambda event: print("ready", flush=True)))
"""

# The same without: a child of a plain program.
PLAIN = """
import subprocess, sys
child = subprocess.Popen(["bash", "-c", sys.argv[1], "bash", sys.argv[2]], stdout=subprocess.PIPE)
child.stdout.readline()
print("ready", flush=True)
child.wait()
"""


class Ready:
    """Waits for a payload to say something, then does what it was told."""

    def __init__(self) -> None:
        self.event = asyncio.Event()

    def __call__(self, event: Event) -> None:
        if isinstance(event, OutputArrived):
            self.event.set()


@contextmanager
def plain_group(script: str, left: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The script as the leader of a process group, and nothing that watches over its tree."""
    with subprocess.Popen(
        ["bash", "-c", script, "bash", str(left)],
        env={"PATH": PATH},
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as child:
        try:
            assert child.stdout is not None
            child.stdout.readline()
            yield child
        finally:
            os.kill(pid_in(left), signal.SIGKILL)


def test_twin_a_process_group_kill_does_not_reach_a_daemon(tmp_path: Path) -> None:
    left = tmp_path / "pid"

    with plain_group(STAYS, left) as child:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()

        assert is_alive(pid_in(left))


def test_twin_a_daemon_outlives_the_command_that_left_it(tmp_path: Path) -> None:
    left = tmp_path / "pid"

    with plain_group(DAEMON, left) as child:
        child.wait()

        assert is_alive(pid_in(left))


def test_a_daemon_dies_when_its_command_ends(world: World, tmp_path: Path) -> None:
    left = tmp_path / "pid"

    completed = world.run(bash(DAEMON, str(left)))

    assert (completed.exit_code, completed.timed_out) == (0, False)
    assert not is_alive(pid_in(left))


def test_a_daemon_dies_when_the_time_is_over(world: World, tmp_path: Path) -> None:
    left = tmp_path / "pid"

    completed = world.run(bash(STAYS, str(left), timeout=1.0))

    assert completed.timed_out
    assert not is_alive(pid_in(left))


def test_a_daemon_dies_when_the_call_is_cancelled(world: World, tmp_path: Path) -> None:
    left = tmp_path / "pid"

    async def cancel() -> None:
        ready = Ready()
        call = asyncio.create_task(
            world.session(waiter=LoopWaiter()).run(bash(STAYS, str(left)), ready)
        )
        await ready.event.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call

    asyncio.run(cancel())

    assert not is_alive(pid_in(left))


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, BrokenPipeError])
def test_a_daemon_dies_when_the_waiting_is_interrupted(
    world: World, tmp_path: Path, interruption: type[BaseException]
) -> None:
    left = tmp_path / "pid"

    def interrupt(event: Event) -> None:
        raise interruption

    with pytest.raises(interruption):
        driven(world.session().run(bash(STAYS, str(left)), interrupt))

    assert not is_alive(pid_in(left))


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_daemon_dies_when_tongs_does(tmp_path: Path, mode: str, number: int) -> None:
    left = tmp_path / "pid"

    with subprocess.Popen(
        [sys.executable, "-c", TONGS, mode, str(left)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as tongs:
        assert tongs.stdout is not None
        assert tongs.stdout.readline() == b"ready\n"
        daemon = pid_in(left)
        assert is_alive(daemon)
        tongs.send_signal(number)
        tongs.wait()

        assert dies_within(daemon, 20)


def test_twin_a_daemon_outlives_a_plain_program(tmp_path: Path) -> None:
    left = tmp_path / "pid"

    with subprocess.Popen(
        [sys.executable, "-c", PLAIN, STAYS, str(left)],
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        program.kill()
        program.wait()
        try:
            assert not dies_within(pid_in(left), 0.3)
        finally:
            # What Tongs would have done: the daemon, and what the killed program left behind.
            os.kill(pid_in(left), signal.SIGKILL)
            os.killpg(program.pid, signal.SIGKILL)


def test_processes_that_fork_and_exit_all_the_time_are_caught(world: World) -> None:
    # Each process lives only until it has started the next, so none stays where it was seen.
    chain = "import os\nwhile True:\n    if os.fork(): os._exit(0)\n"

    completed = world.run(
        bash(
            'python3 -c "$1" & echo $!; sleep 0.3', chain, environment={"PATH": os.environ["PATH"]}
        )
    )

    group = int(completed.stdout)
    assert [pid for pid in os.listdir("/proc") if pid.isdigit() and _group(pid) == group] == []


def test_a_background_process_that_holds_the_output_cannot_hang_the_call(world: World) -> None:
    completed = world.run(bash("sleep 300 & echo done"))

    assert (completed.stdout, completed.timed_out) == (b"done\n", False)
    assert completed.duration < 30


def test_output_handed_outside_the_tree_is_waited_for_only_shortly(
    world: World, tmp_path: Path
) -> None:
    # The holder is not of the tree: it opens the payload's stdout by its name in /proc.
    fifo = tmp_path / "go"
    os.mkfifo(fifo)
    # A process of its own writes the pid: bash puts a redirected builtin's file in place of stdout.
    script = 'sh -c "echo $$" > "$1"; cat "$1.done"; echo end'
    os.mkfifo(tmp_path / "go.done")
    holder = subprocess.Popen(
        [
            "bash",
            "-c",
            'read pid < "$1"; exec 7>/proc/$pid/fd/1; echo > "$1.done"; exec sleep 300',
            "b",
            fifo,
        ]
    )
    try:
        completed = world.run(bash(script, str(fifo)))
    finally:
        holder.kill()
        holder.wait()

    assert completed.stdout == b"\nend\n"
    assert completed.duration < 10


def test_a_killed_supervisor_takes_its_tree_along(world: World, tmp_path: Path) -> None:
    left = tmp_path / "pid"

    with pytest.raises(ToolError) as caught:
        world.run(bash(DAEMON + "kill -KILL $PPID; sleep 300", str(left)))

    assert caught.value.code == ErrorCode.EXECUTION_ERROR
    assert "supervisor" in caught.value.message
    assert dies_within(pid_in(left), 10)


def test_nothing_is_left_of_many_calls(world: World) -> None:
    world.run(bash("true"))
    before = children()

    for _ in range(20):
        world.run(bash("sleep 300 & exit 0"))

    assert children() == before


def test_other_children_of_this_process_live_on(world: World, tmp_path: Path) -> None:
    with subprocess.Popen(["sleep", "300"]) as other:
        try:
            world.run(bash("true"))
            with pytest.raises(ToolError):
                world.run(bash("kill -KILL $PPID; sleep 300"))

            assert other.poll() is None
        finally:
            other.kill()


def _group(pid: str) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[2])
    except (OSError, IndexError):
        return -1
