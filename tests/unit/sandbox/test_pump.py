"""Input and output: complete, in order, bounded, and never in each other's way."""

from __future__ import annotations

import hashlib
import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest
from tests.unit.sandbox.running import MODES, World, bash, command, driven, ignore

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT, Event, OutputArrived
from tongs.core.permissions import Limits
from tongs.store.spool import Spool

# Writes to one stream only once the other one's pipe has been emptied: the order is then certain.
ALTERNATING = """
import fcntl, os, struct, termios
def drained(stream):
    while struct.unpack("i", fcntl.ioctl(stream, termios.FIONREAD, b"1234"))[0]:
        pass
for number in range(50):
    os.write(1, b"out %d\\n" % number); drained(1)
    os.write(2, b"err %d\\n" % number); drained(2)
"""
PYTHON = {"PATH": os.environ["PATH"]}


def test_ten_megabytes_go_in_and_come_out_unchanged(world: World) -> None:
    data = os.urandom(10_000_000)

    completed = world.run(command("cat", stdin=data), Limits(output=20_000_000))

    assert hashlib.sha256(completed.stdout).digest() == hashlib.sha256(data).digest()
    assert (completed.stdout_size, completed.spool, completed.lost) == (10_000_000, None, 0)


def test_a_command_that_does_not_read_its_input_is_no_failure(world: World) -> None:
    completed = world.run(bash("exec <&-; echo fine", stdin=b"x" * 5_000_000))

    assert (completed.exit_code, completed.stdout) == (0, b"fine\n")


def test_a_command_without_input_reads_its_end_and_no_pipe(world: World) -> None:
    completed = world.run(bash("cat; readlink /proc/self/fd/0"))

    assert completed.stdout == b"/dev/null\n"


def test_every_byte_value_passes(world: World) -> None:
    every = bytes(range(256)) * 3

    completed = world.run(command("cat", stdin=every))

    assert completed.stdout == every


def test_output_is_in_the_order_it_arrived(world: World) -> None:
    completed = world.run(command("python3", "-c", ALTERNATING, environment=PYTHON))

    assert completed.output == b"".join(b"out %d\nerr %d\n" % (n, n) for n in range(50))
    assert completed.stdout == b"".join(b"out %d\n" % n for n in range(50))
    assert completed.stderr == b"".join(b"err %d\n" % n for n in range(50))


def test_output_is_seen_while_the_command_still_runs(world: World, tmp_path: Path) -> None:
    # The command ends only once its first line was seen here.
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    seen: list[Event] = []

    def observe(event: Event) -> None:
        if not seen:
            os.close(os.open(gate, os.O_WRONLY))
        seen.append(event)

    driven(world.session().run(bash('echo one; cat "$1"; echo two >&2', str(gate)), observe))

    assert seen == [OutputArrived(STDOUT, b"one\n"), OutputArrived(STDERR, b"two\n")]


def test_all_output_is_seen_though_only_its_head_is_kept(world: World) -> None:
    seen: list[Event] = []

    completed = driven(
        world.session(Limits(output=1000)).run(bash("head -c 300000 /dev/zero"), seen.append)
    )

    assert sum(len(event.data) for event in seen if isinstance(event, OutputArrived)) == 300_000
    assert (len(completed.stdout), completed.stdout_size) == (1000, 300_000)
    assert (completed.spool, completed.lost) == (None, 299_000)


def test_output_beyond_the_limit_is_whole_in_the_spool(world: World, tmp_path: Path) -> None:
    spool = Spool(str(tmp_path / "spool"))
    world.spool = spool
    script = "echo first >&2; seq 1 100000; echo last >&2"

    completed = world.run(bash(script), Limits(output=1000))

    whole = "".join(f"{number}\n" for number in range(1, 100_001)).encode()
    assert completed.spool is not None
    assert completed.stdout == whole[:1000]
    assert spool.read(completed.spool, 0, 10_000_000) == whole
    assert spool.read(completed.spool, 0, 100, STDERR) == b"first\nlast\n"
    assert completed.lost == 0


def test_a_spool_that_cannot_be_written_costs_the_tail_and_not_the_call(
    world: World, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(b"")
    world.spool = Spool(str(tmp_path / "file" / "spool"))

    completed = world.run(bash("seq 1 100000"), Limits(output=1000))

    assert (completed.exit_code, completed.spool) == (0, None)
    assert completed.lost == completed.stdout_size - 1000


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("spooled", ["spooled", "lost"])
def test_a_hundred_megabytes_of_output_stay_out_of_memory(
    tmp_path: Path, mode: str, spooled: str
) -> None:
    program = """
import resource, sys
from tests.unit.sandbox.running import World, bash
from tongs.store.spool import Spool
world = World.of(sys.argv[1])
world.spool = Spool(sys.argv[3]) if sys.argv[2] == "spooled" else None
world.run(bash("head -c 500000 /dev/zero"))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
completed = world.run(bash("head -c 100000000 /dev/zero"))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(completed.stdout_size, len(completed.stdout), completed.lost, (after - before) // 1024)
"""
    shown = subprocess.run(
        [sys.executable, "-c", program, mode, spooled, str(tmp_path)],
        capture_output=True,
        check=True,
    )

    size, kept, lost, growth = map(int, shown.stdout.split())
    in_spool = 64 * 1024**2 if spooled == "spooled" else 1024**2
    assert (size, kept, lost) == (100_000_000, 1024**2, 100_000_000 - in_spool)
    assert growth <= 1 + 8


def test_a_flood_of_output_does_not_delay_the_timeout(world: World) -> None:
    completed = world.run(command("yes", timeout=0.5))

    assert completed.timed_out
    assert completed.duration < 10


def test_nothing_is_lost_of_what_was_written_just_before_the_end(world: World) -> None:
    for _ in range(20):
        completed = world.run(bash("head -c 60000 /dev/zero; echo end >&2"))

        assert (completed.stdout_size, completed.stderr) == (60_000, b"end\n")


def test_a_process_without_free_descriptors_says_so(world: World) -> None:
    session = world.session()
    driven(session.run(command("true"), ignore))
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 2, before[1]))
    try:
        with pytest.raises(ToolError) as caught:
            driven(session.run(command("true"), ignore))
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)

    assert caught.value.code == ErrorCode.EXECUTION_ERROR
    assert driven(session.run(command("true"), ignore)).exit_code == 0
