"""What a tree of processes holds, and a watchdog that says when it is too much.

Trees are real, and each is a program of its own that gets the module as a plain file, as the
supervisor does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from tests.unit.sandbox.running import children

import tongs.sandbox
from tongs.sandbox.watchdog import Watchdog, bound, others, usage

MIB = 1024**2
# What an interpreter and its copies hold without being told to.
SMALL = 24 * MIB

FOLDER = os.path.dirname(tongs.sandbox.__file__)

# `fork(work)` starts a process that says when its work is done and then stays; `ready()` says it
# for all of them, with their numbers, and ends them when the test closes the program's input.
START = """
import sys; sys.path.append(sys.argv[1])
import _thread, ctypes, mmap, os, time, watchdog
MIB = 1024**2
tree = [os.getpid()]
def fork(work=lambda: None):
    said, say = os.pipe()
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(1, 9)  # no longer than the process that started this one
        kept = work()
        os.write(say, b"x")
        time.sleep(300)
    os.read(said, 1)
    tree.append(pid)
    return pid
def fill(mebibytes):
    made = mmap.mmap(-1, mebibytes * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return made, touch(made)
def touch(made):
    for at in range(0, len(made), 4096): made[at] = 1
    return made
def ready():
    print(*tree, flush=True)
    sys.stdin.read()
    for pid in tree[1:]: os.kill(pid, 9)
"""


@contextmanager
def tree(script: str) -> Iterator[list[int]]:
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", f"{START}{script}\nready()", FOLDER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as program:
        assert program.stdout is not None
        yield [*map(int, program.stdout.readline().split())]


def said(script: str, *prefix: str) -> list[int]:
    """Numbers that a program of its own prints."""
    done = subprocess.run(
        [*prefix, sys.executable, "-I", "-S", "-c", START + script, FOLDER],
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )
    return [*map(int, done.stdout.split())]


# Pid 1 of a namespace with a /proc of its own, which takes everybody along when it ends.
NAMESPACE = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc")


def test_processes_and_threads_are_counted_exactly() -> None:
    script = """
def four():
    for _ in range(4): _thread.start_new_thread(time.sleep, (300,))
fork(); fork(); fork(four)
"""

    with tree(script) as pids:
        assert (len(pids), bound(pids)[1], usage(pids)[1]) == (4, 8, 8)


def test_private_memory_of_all_processes_adds_up() -> None:
    with tree("for _ in range(3): fork(lambda: fill(40))") as pids:
        assert 120 * MIB <= usage(pids)[0] <= 120 * MIB + 4 * SMALL
        assert usage(pids[1:2])[0] < 40 * MIB + SMALL


def test_pages_shared_since_a_fork_count_once_and_many_times_only_in_the_bound() -> None:
    with tree("kept = fill(64)\nfor _ in range(4): fork()") as pids:
        assert 64 * MIB <= usage(pids)[0] <= 64 * MIB + SMALL
        assert bound(pids)[0] >= 5 * 64 * MIB


@pytest.mark.parametrize(
    "script",
    [
        # held open by two, mapped by none
        "m = os.memfd_create('m'); [os.write(m, bytes(MIB)) for _ in range(64)]; fork()",
        # held open and mapped by three
        (
            "m = os.memfd_create('m'); os.truncate(m, 64 * MIB); s = mmap.mmap(m, 64 * MIB)\n"
            "touch(s); fork(lambda: touch(s)); fork(lambda: touch(s))"
        ),
        # mapped by two, held open by none
        (
            "m = os.memfd_create('m'); os.truncate(m, 64 * MIB); s = mmap.mmap(m, 64 * MIB)\n"
            "os.close(m); s = None"
        ),
        # shared, and no file at all
        "s = mmap.mmap(-1, 64 * MIB); touch(s); fork(lambda: touch(s)); fork(lambda: touch(s))",
    ],
    ids=["held", "held and mapped", "closed", "nameless"],
)
def test_shared_memory_counts_once(script: str) -> None:
    # Python keeps a descriptor of its own for a mapped file, so `closed` maps by libc.
    script = script.replace(
        "os.close(m); s = None",
        "libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p\n"
        "at = libc.mmap(None, ctypes.c_size_t(64 * MIB), 3, 1, m, ctypes.c_long(0))\n"
        "s.close(); os.close(m)\n"
        "def use(): ctypes.memset(ctypes.c_void_p(at), 1, 64 * MIB)\n"
        "use(); fork(use)",
    )

    with tree(script) as pids:
        assert 64 * MIB <= usage(pids)[0] <= 64 * MIB + SMALL
        assert 64 * MIB <= usage(pids, tmpfs=False)[0] <= 64 * MIB + SMALL


def test_mapped_file_of_a_tmpfs_counts_unless_the_tmpfs_is_counted_elsewhere() -> None:
    script = """
name = f"/dev/shm/tongs-{os.getpid()}"
with open(name, "w+b") as file:
    os.unlink(name)
    file.truncate(64 * MIB)
    shared = touch(mmap.mmap(file.fileno(), 64 * MIB))
fork(lambda: touch(shared))
"""

    with tree(script) as pids:
        assert 64 * MIB <= usage(pids)[0] <= 64 * MIB + SMALL
        assert usage(pids, tmpfs=False)[0] <= SMALL
        watchdog = Watchdog(80 * MIB, 9, lambda: pids, extra=lambda: 64 * MIB)
        assert watchdog.check() == b""


def test_tree_beyond_its_memory_is_seen_though_no_process_is_large() -> None:
    with tree("for _ in range(4): fork(lambda: fill(40))") as pids:
        assert Watchdog(150 * MIB, 64, lambda: pids).check() == b"memory"
        # The control: the same tree under a limit that has room for it.
        assert Watchdog(400 * MIB, 64, lambda: pids).check() == b""


def test_tree_that_shares_its_memory_is_not_taken_for_one_that_has_too_much() -> None:
    with tree("kept = fill(64)\nfor _ in range(4): fork()") as pids:
        assert bound(pids)[0] > 128 * MIB

        assert Watchdog(128 * MIB, 64, lambda: pids).check() == b""


def test_memory_that_no_process_holds_is_counted_in() -> None:
    pids = [os.getpid()]
    room = usage(pids)[0] + 100 * MIB

    assert Watchdog(room, 999, lambda: pids, extra=lambda: 40 * MIB).check() == b""
    assert Watchdog(room, 999, lambda: pids, extra=lambda: 140 * MIB).check() == b"memory"


@pytest.mark.parametrize(("limit", "exceeded"), [(6, b""), (5, b"processes"), (3, b"processes")])
def test_tasks_may_reach_their_limit_and_not_pass_it(limit: int, exceeded: bytes) -> None:
    script = """
def two():
    for _ in range(2): _thread.start_new_thread(time.sleep, (300,))
fork(); fork(); fork(two)
"""

    with tree(script) as pids:
        assert Watchdog(10**12, limit, lambda: pids).check() == exceeded


# Every process forks, and so does every copy: 2048 of them in the end, if nobody ends it before.
BOMB = """
if os.fork() == 0:
    for _ in range(11): os.fork()
    time.sleep(300)
import select
dog = watchdog.Watchdog(1024**3, 50, watchdog.others)
exceeded = b""
while not exceeded:
    select.poll().poll(dog.wait())
    exceeded = dog.check()
print(int(exceeded == watchdog.PROCESSES), len(watchdog.others()))
"""


def test_fork_bomb_is_seen_and_ends_with_its_namespace() -> None:
    before = children()

    seen, processes = said(BOMB, *NAMESPACE)

    assert seen == 1
    assert 50 < processes <= 2048
    assert children() == before


def test_growing_tree_is_looked_at_often_though_looks_are_expensive() -> None:
    used = 0

    def growing() -> int:
        nonlocal used
        used += 100 * MIB
        until = time.process_time() + 0.006
        while time.process_time() < until:
            pass
        return used

    watchdog = Watchdog(1024 * MIB, 256, list, extra=growing)
    watchdog.check()
    watchdog.check()

    assert watchdog.interval < 100


def test_precedence_is_taken_where_it_may_be_and_not_inherited() -> None:
    script = """
watchdog.take_precedence()
mine = os.sched_getscheduler(0) & ~os.SCHED_RESET_ON_FORK
pid = fork()
theirs = os.sched_getscheduler(pid)
os.kill(pid, 9)
try: os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(2)); may = True
except PermissionError: may = False
print(int(mine == (os.SCHED_RR if may else os.SCHED_OTHER)), int(theirs == os.SCHED_OTHER))
"""

    assert said(script) == [1, 1]


def test_first_process_of_a_namespace_sees_all_others_and_not_itself() -> None:
    script = "a = fork(); b = fork(); print(os.getpid(), a, b, *watchdog.others())"

    me, first, second, *seen = said(script, *NAMESPACE)

    assert (me, sorted(seen)) == (1, [first, second])
    assert os.getpid() not in others()


def test_quiet_tree_is_looked_at_less_and_less_often() -> None:
    watchdog = Watchdog(1024 * MIB, 256, list)
    intervals = [watchdog.interval]

    for _ in range(4):
        assert watchdog.check() == b""
        intervals.append(watchdog.interval)

    assert intervals == [20, 50, 100, 200, 200]


def test_growing_tree_is_looked_at_often_again() -> None:
    used = 0
    watchdog = Watchdog(1024 * MIB, 256, list, extra=lambda: used)
    for _ in range(4):
        watchdog.check()

    used = 100 * MIB
    watchdog.check()

    assert watchdog.interval == 20


def test_tree_near_its_limit_is_looked_at_before_it_can_reach_it() -> None:
    watchdog = Watchdog(1024 * MIB, 256, list, extra=lambda: 994 * MIB)

    for _ in range(5):
        watchdog.check()

    assert watchdog.interval == 30


def test_expensive_looks_come_seldom() -> None:
    def busy() -> int:
        until = time.process_time() + 0.006
        while time.process_time() < until:
            pass
        return 0

    watchdog = Watchdog(1024 * MIB, 256, list, extra=busy)
    watchdog.check()

    assert 300 <= watchdog.interval <= 500


def test_wait_counts_down_to_the_next_check() -> None:
    watchdog = Watchdog(1024 * MIB, 256, list)
    assert 0 <= watchdog.wait() <= Watchdog.INTERVAL

    deadline = time.monotonic() + 30
    while watchdog.wait():
        assert time.monotonic() < deadline
        time.sleep(watchdog.wait() / 1000)

    watchdog.check()
    assert 0 < watchdog.wait() <= 50


def test_process_that_is_gone_counts_as_nothing() -> None:
    with subprocess.Popen(["true"]) as gone:
        gone.wait()

    # Above every number there can be.
    assert usage([gone.pid, 2**22 + 1]) == bound([gone.pid, 2**22 + 1]) == (0, 0)


def test_zombie_is_a_task_without_memory() -> None:
    with subprocess.Popen(["true"]) as zombie:
        os.waitid(os.P_PID, zombie.pid, os.WEXITED | os.WNOWAIT)

        assert usage([zombie.pid]) == bound([zombie.pid]) == (0, 1)


def test_processes_that_end_while_they_are_read_do_no_harm() -> None:
    # Three programs that start and end processes, and open and close files, all the time.
    script = """
def churn():
    while True:
        if os.fork(): os.wait()
        else: os.memfd_create("m"); os._exit(0)
for _ in range(3):
    if (pid := os.fork()) == 0: churn()
    tree.append(pid)
"""

    with tree(script) as pids:
        for _ in range(150):
            now = [*pids, *(child for pid in pids[1:] for child in children_of(pid))]
            for count in (bound, usage):
                memory, tasks = count(now)
                assert 0 < memory < 7 * SMALL
                assert 4 <= tasks <= 7
        for pid in pids[1:]:
            os.kill(pid, 19)
        for child in [child for pid in pids[1:] for child in children_of(pid)]:
            with suppress(ProcessLookupError):  # it may have ended since it was listed
                os.kill(child, 9)


def children_of(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as listed:
            return [*map(int, listed.read().split())]
    except OSError:
        return []


def test_process_whose_pages_may_not_be_looked_at_counts_by_its_status() -> None:
    # Nobody without privileges may look into a process that is not dumpable.
    script = """
def closed():
    kept = fill(40)
    ctypes.CDLL(None).prctl(4, 0)
    return kept
pid = fork(closed)
if os.getuid() == 0: os.setuid(61234)
try: open(f"/proc/{pid}/smaps_rollup").read()
except PermissionError: print(1)
print(*watchdog.usage([pid]), *watchdog.bound([pid]))
"""
    # As root, only root may end it; as a namespace, the end of its first process does.
    refused, memory, tasks, at_most, same_tasks = said(script, *NAMESPACE_AS_SELF)

    assert (refused, memory, tasks) == (1, at_most, same_tasks)
    assert 40 * MIB <= memory <= 40 * MIB + SMALL


# The same without a user namespace for root, who could become nobody else in there.
NAMESPACE_AS_SELF = (
    ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    if os.geteuid() == 0
    else ("unshare", "--user", "--map-current-user", "--pid", "--fork", "--mount-proc")
)


@pytest.mark.parametrize("name", [r"x\nThreads: 99", "Threads: 99", "RssAnon: 9"])
def test_name_of_a_process_cannot_pass_for_a_figure(name: str) -> None:
    script = f"open('/proc/self/comm', 'w').write('{name}'); kept = fill(40)"

    with tree(script) as pids:
        memory, tasks = usage(pids)

        assert tasks == 1
        assert 40 * MIB <= memory <= 40 * MIB + SMALL
        assert bound(pids)[0] >= 40 * MIB


def test_number_that_is_used_again_counts_as_the_process_it_stands_for_now() -> None:
    script = """
dog = watchdog.Watchdog(100 * MIB, 9, watchdog.others)
def reused(pid):
    with open("/proc/sys/kernel/ns_last_pid", "w") as last: last.write(str(pid - 1))
large = fork(lambda: fill(150))
seen = [int(dog.check() == b"memory")]
os.kill(large, 9); os.waitpid(large, 0)
reused(large)
small = fork()
seen.append(int(dog.check() == b""))
print(*seen, int(small == large))
"""

    assert said(script, *NAMESPACE) == [1, 1, 1]
