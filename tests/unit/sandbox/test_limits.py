"""The back end `limits`: what the payload finds itself with."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from tests.unit.sandbox.running import World, bash, command

from tongs.core.permissions import Limits
from tongs.sandbox.linux import resource_limits, threads_of

SHOW_LIMITS = "ulimit -H -c; ulimit -H -f; ulimit -H -n; ulimit -H -t; ulimit -H -d"


def test_no_descriptor_of_tongs_reaches_the_payload(world: World, tmp_path: Path) -> None:
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    high = os.dup2(secret, 777, inheritable=True)
    try:
        completed = world.run(command("ls", "/proc/self/fd"))
    finally:
        os.close(secret)
        os.close(high)

    # 3 is the folder that ls itself reads.
    assert completed.stdout.split() == [b"0", b"1", b"2", b"3"]


def test_the_environment_is_exactly_the_given_one(world: World) -> None:
    given = {"PATH": "/usr/bin:/bin", "EMPTY": "", "TEXT": "ä\n=x", "BYTES": "\udcff"}

    completed = world.run(command("env", "-0", environment=given))

    assert completed.stdout == b"PATH=/usr/bin:/bin\0EMPTY=\0TEXT=\xc3\xa4\n=x\0BYTES=\xff\0"


def test_the_payload_can_gain_no_privileges(world: World) -> None:
    completed = world.run(command("grep", "NoNewPrivs", "/proc/self/status"))

    assert completed.stdout == b"NoNewPrivs:\t1\n"


def test_the_payload_finds_every_signal_at_its_default(world: World) -> None:
    completed = world.run(command("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status"))

    masks = [int(line.split()[1], 16) for line in completed.stdout.splitlines()]
    # 32 and 33 belong to the C library, which ignores them when it spawns and takes them back.
    assert [mask & ~(0b11 << 31) for mask in masks] == [0, 0]


def test_the_payload_leads_a_session_without_a_terminal(world: World) -> None:
    completed = world.run(bash("read -a f < /proc/$$/stat; echo $$ ${f[5]} ${f[6]}"))

    pid, session, terminal = completed.stdout.split()
    assert (pid, terminal) == (session, b"0")


def test_limits_are_set_hard(world: World) -> None:
    limits = Limits(memory=512 * 1024**2, file_size=8 * 1024**2, open_files=64, cpu=7)

    completed = world.run(bash(SHOW_LIMITS), limits)

    assert completed.stdout.split() == [b"0", b"8192", b"64", b"7", b"524288"]


def test_a_file_beyond_the_limit_ends_the_payload(world: World, tmp_path: Path) -> None:
    limits = Limits(file_size=1024**2)

    completed = world.run(
        bash("head -c 2M /dev/zero > big; stat -c %s big", cwd=str(tmp_path)), limits
    )

    assert completed.stdout == b"1048576\n"


def test_memory_beyond_the_limit_is_refused(world: World) -> None:
    script = "import sys; print(len(bytearray(int(sys.argv[1]) << 20)) >> 20)"
    limits = Limits(memory=128 * 1024**2)

    inside = world.run(command("/usr/bin/env", "python3", "-c", script, "64"), limits)
    beyond = world.run(command("/usr/bin/env", "python3", "-c", script, "256"), limits)

    assert (inside.exit_code, inside.stdout) == (0, b"64\n")
    assert beyond.exit_code == 1
    assert b"MemoryError" in beyond.stderr


def test_a_limit_smaller_than_the_supervisor_itself_still_starts_a_program(world: World) -> None:
    completed = world.run(command("true"), Limits(memory=4 * 1024**2, open_files=4))

    assert completed.exit_code == 0


def test_cpu_time_beyond_the_limit_ends_the_payload(world: World) -> None:
    completed = world.run(bash("while :; do :; done", timeout=60), Limits(cpu=1))

    assert (completed.signal in (9, 24), completed.timed_out) == (True, False)


def test_an_ordinary_user_may_start_so_many_processes_more() -> None:
    given = dict(resource_limits(Limits(processes=5), started=7))

    assert given[resource.RLIMIT_NPROC] == 12


def test_root_is_not_given_a_limit_that_the_kernel_ignores() -> None:
    assert resource.RLIMIT_NPROC not in dict(resource_limits(Limits(), started=None))


def test_threads_of_this_user_include_this_one() -> None:
    assert threads_of(os.getuid()) >= 1
    assert threads_of(4_000_000_000) == 0


def test_an_ordinary_user_cannot_go_beyond_the_limit_of_processes(tmp_path: Path) -> None:
    # Many, since other processes of the same user come and go meanwhile.
    script = "i=0; while [ $i -lt 80 ]; do sleep 5 & i=$((i + 1)); done; echo all"

    output, found = as_ordinary_user(script, Limits(processes=4))
    free, _ = as_ordinary_user(script, Limits(processes=400))

    assert b"all" not in output
    assert free == b"all\n"
    assert "processes" not in found


def as_ordinary_user(script: str, limits: Limits) -> tuple[bytes, str]:
    """Run the script in a session that a user without privileges opened."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            if os.geteuid() == 0:
                # Nobody else on the machine may have this number, as the limit counts per user.
                os.setgroups([])
                os.setgid(61234)
                os.setuid(61234)
            world = World()
            session = world.session(limits)
            # Not bash, which tries again for seconds when it may not fork.
            completed = world.run(command("sh", "-c", script, timeout=10), limits)
            os.write(writing, completed.stdout + b"|" + " ".join(session.not_enforced).encode())
        except BaseException as error:  # noqa: BLE001 - a copy of the test runner must end here
            os.write(writing, repr(error).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        output, _, not_enforced = pipe.read().partition(b"|")
    os.waitpid(pid, 0)
    return output, not_enforced.decode()
