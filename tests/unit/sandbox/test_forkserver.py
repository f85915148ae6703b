"""The fork server: started when needed, shared by threads, gone with its owner."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from tests.unit.sandbox.running import (
    World,
    bash,
    children,
    command,
    dies_within,
    ignore,
    is_alive,
)

from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import KEYS
from tongs.sandbox.waiting import LoopWaiter


def server_pid(world: World) -> int:
    pid: int = world.fork_server._pid
    return pid


def test_it_is_not_started_before_the_first_command(server: World) -> None:
    before = children()

    server.session()

    assert children() == before


def test_it_serves_every_command_from_one_process(server: World) -> None:
    server.run(command("true"))
    first = server_pid(server)

    server.run(command("true"))

    assert server_pid(server) == first
    assert is_alive(first)


def test_it_has_an_empty_environment_one_thread_and_no_descriptor_of_ours(
    server: World, tmp_path: Path
) -> None:
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    try:
        server.run(command("true"))
    finally:
        os.close(secret)

    process = Path(f"/proc/{server_pid(server)}")
    variables = process.joinpath("environ").read_bytes()
    opened = []
    for name in process.joinpath("fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # of a supervisor that it is just starting
            opened.append(os.readlink(name))
    assert variables == b""
    assert len(list(process.joinpath("task").iterdir())) == 1
    assert str(tmp_path / "secret") not in opened


@pytest.mark.parametrize("key", KEYS)
def test_it_is_started_again_when_it_was_killed(server: World, key: str) -> None:
    """Also where supervisors of the old one wait, which follow it at any moment."""
    server.key = key
    server.run(command("true"))
    first = server_pid(server)
    os.kill(first, signal.SIGKILL)
    assert dies_within(first, 10)

    completed = server.run(command("echo", "again"))

    assert completed.stdout == b"again\n"
    assert server_pid(server) != first
    assert first not in children()


def test_killing_it_ends_the_running_command_with_an_error(server: World, tmp_path: Path) -> None:
    server.run(command("true"))
    payload = tmp_path / "pid"
    script = 'echo $$ > "$1"; kill -KILL "$2"; sleep 300'

    with pytest.raises(ToolError) as caught:
        server.run(bash(script, str(payload), str(server_pid(server))))

    assert caught.value.code == ErrorCode.EXECUTION_ERROR
    assert not is_alive(int(payload.read_text()))


def test_closing_it_leaves_no_process_and_it_can_be_used_again(server: World) -> None:
    before = children()
    server.run(command("true"))

    server.close()

    assert children() == before
    assert server.run(command("echo", "again")).stdout == b"again\n"


@pytest.mark.parametrize("key", KEYS)
def test_closing_it_leaves_nothing_to_whoever_adopts_orphans(server: World, key: str) -> None:
    # A process that has forked for itself is such a one.
    plain = World(key)
    plain.run(command("true"))
    plain.close()
    before = children()
    server.key = key
    for _ in range(3):
        server.run(command("true"))

    server.close()

    assert children() == before


def test_dropping_it_leaves_no_process() -> None:
    before = children()
    world = World(direct=False)
    world.run(command("true"))

    del world
    gc.collect()

    assert children() == before


def test_it_dies_with_the_process_that_started_it() -> None:
    program = """
from tests.unit.sandbox.running import World, command
world = World(direct=False)
world.run(command("true"))
print(world.fork_server._pid, flush=True)
input()
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert is_alive(pid)

        owner.kill()

        assert dies_within(pid, 10)


def test_a_forked_copy_of_its_owner_starts_its_own(server: World) -> None:
    server.run(command("true"))
    original = server_pid(server)
    reading, writing = os.pipe()

    copy = os.fork()
    if copy == 0:
        try:
            output = server.run(command("echo", "from the copy")).stdout
            os.write(writing, b"%d %s" % (server_pid(server), output))
            server.close()
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        pid, _, output = pipe.read().partition(b" ")
    os.waitpid(copy, 0)

    assert output == b"from the copy\n"
    assert int(pid) != original
    assert is_alive(original)
    assert server.run(command("echo", "here")).stdout == b"here\n"


def test_a_forked_copy_that_lives_on_does_not_keep_the_tree_alive(tmp_path: Path) -> None:
    # The copy inherits the control pipe, so only the end of the server tells that Tongs is gone.
    program = """
import os, sys
from tests.unit.sandbox.running import World, bash, driven
world = World(direct=False)
def fork(event):
    if os.fork() == 0:
        os.setsid()
        print("ready", os.getpid(), flush=True)
        input()
        os._exit(0)
script = 'echo $$ > "$1.new"; mv "$1.new" "$1"; echo ready; sleep 300'
driven(world.session().run(bash(script, sys.argv[1]), fork))
"""
    left = tmp_path / "pid"
    with subprocess.Popen(
        [sys.executable, "-c", program, str(left)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        copy = int(owner.stdout.readline().split()[1])
        payload = int(left.read_text())
        owner.kill()
        owner.wait()

        assert dies_within(payload, 10)
        assert is_alive(copy)
        os.kill(copy, signal.SIGKILL)


@pytest.mark.parametrize("size", [1000, 100_000, 1_500_000])
def test_arguments_and_environment_of_any_size_the_kernel_takes_arrive(
    server: World, size: int
) -> None:
    words = ["x" * 50_000] * (size // 50_000) or ["x" * size]
    environment = {"PATH": "/usr/bin:/bin", "LARGE": "y" * min(size, 100_000)}
    script = "n=0; for word; do n=$((n + ${#word})); done; echo $n ${#LARGE}"

    completed = server.run(bash(script, *words, environment=environment))

    assert completed.stdout.split() == [b"%d" % size, b"%d" % min(size, 100_000)]


def test_an_interpreter_that_cannot_start_is_an_unavailable_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    with pytest.raises(ToolError) as caught:
        World(direct=False).run(command("true"))

    assert caught.value.code == ErrorCode.SANDBOX_UNAVAILABLE


def test_an_interpreter_that_serves_nothing_is_an_unavailable_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")

    with pytest.raises(ToolError) as caught:
        World(direct=False).run(command("true"))

    assert caught.value.code == ErrorCode.SANDBOX_UNAVAILABLE


def test_eight_threads_may_run_commands_at_once(server: World) -> None:
    failures: list[object] = []

    def work(number: int) -> None:
        for turn in range(10):
            output = server.run(bash('echo "$1 $2"; cat', str(number), str(turn), stdin=b"in"))
            if output.stdout != b"%d %d\nin" % (number, turn):
                failures.append(output)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []


def test_fifty_commands_may_run_at_once_on_one_loop(server: World) -> None:
    async def run_all() -> list[bytes]:
        runs = [
            server.session(waiter=LoopWaiter()).run(
                bash('cat; echo "$1"', str(number), stdin=b"in "), ignore
            )
            for number in range(50)
        ]
        return [completed.stdout for completed in await asyncio.gather(*runs)]

    assert asyncio.run(run_all()) == [b"in %d\n" % number for number in range(50)]


def test_thirty_of_fifty_commands_may_be_cancelled_at_random_moments(server: World) -> None:
    async def run_all() -> list[object]:
        command = bash("sleep 0.05; echo end")
        tasks = [
            asyncio.create_task(server.session(waiter=LoopWaiter()).run(command, ignore))
            for _ in range(50)
        ]
        for number, task in enumerate(tasks):
            await asyncio.sleep(0)
            if number % 5 < 3:
                asyncio.get_running_loop().call_later(0.004 * number, task.cancel)
        return list(await asyncio.gather(*tasks, return_exceptions=True))

    outcomes = asyncio.run(run_all())

    finished = [outcome for number, outcome in enumerate(outcomes) if number % 5 >= 3]
    assert [getattr(outcome, "stdout", outcome) for outcome in finished] == [b"end\n"] * 20
    assert server.run(command("echo", "fine")).stdout == b"fine\n"
