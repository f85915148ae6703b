"""Control groups, where this user may make them; where not, that really nothing could be made.

Processes are real, and each is a program of its own that gets the module as a plain file, as the
fork server does.
"""

from __future__ import annotations

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import tongs.sandbox
from tongs.sandbox import cgroups
from tongs.sandbox.cgroups import Found, Group
from tongs.sandbox.groups import Groups

MIB = 1024**2

# No right, a file system without it, a group without the limit, or a process that cannot get in.
REFUSED = (PermissionError, FileNotFoundError, OSError, subprocess.CalledProcessError)

FOLDER = os.path.dirname(tongs.sandbox.__file__)

START = """
import sys; sys.path.append(sys.argv[1])
import _thread, ctypes, mmap, os, time, cgroups
MIB = 1024**2
def stay():
    ctypes.CDLL(None).prctl(1, 9)  # no longer than the process that started this one
    time.sleep(300)
"""

# Four processes of 40 MiB each; says how many of them came to their end.
FILL = """
cgroups.enter(sys.argv[2:])
pids = []
for _ in range(4):
    if (pid := os.fork()) == 0:
        made = mmap.mmap(-1, 40 * MIB, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        for at in range(0, len(made), 4096): made[at] = 1
        stay()
    pids.append(pid)
for pid in pids:
    # All of it, or it is being killed.
    while True:
        with open(f"/proc/{pid}/statm") as file: resident = int(file.read().split()[1]) * 4096
        if resident > 40 * MIB or os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT | os.WNOHANG):
            break
for pid in pids: os.kill(pid, 15)
print(*(int(os.WTERMSIG(os.waitpid(pid, 0)[1]) == 15) for pid in pids))
"""

# Shared memory that no limit on a process sees: nobody maps it.
MEMORY_FILE = """
cgroups.enter(sys.argv[2:])
file = os.memfd_create("m")
for _ in range(160): os.write(file, b"x" * MIB)
print(160)
"""

# As many of each as there can be; the first is this process itself.
FORK = """
cgroups.enter(sys.argv[2:])
pids = []
try:
    while len(pids) < 100:
        if (pid := os.fork()) == 0: stay()
        pids.append(pid)
except BlockingIOError: pass
for pid in pids: os.kill(pid, 9)
for pid in pids: os.waitpid(pid, 0)
print(len(pids) + 1)
"""
THREADS = """
cgroups.enter(sys.argv[2:])
started = 0
try:
    while started < 100:
        _thread.start_new_thread(time.sleep, (300,))
        started += 1
except RuntimeError: pass
print(started + 1, flush=True)
os._exit(0)
"""

STAY = """
cgroups.enter(sys.argv[2:])
print(os.getpid(), flush=True)
sys.stdin.read()
"""

PROBE = """
found = cgroups.probe()
print(os.getpid(), found and found.data())
"""


def program(script: str, *arguments: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", START + script, FOLDER, *arguments]


def ran(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        program(script, *arguments), capture_output=True, text=True, check=False, timeout=60
    )


def probed() -> tuple[int, Found | None]:
    """The result of a probe in a process of its own, and its number."""
    done = ran(PROBE)
    assert (done.returncode, done.stderr) == (0, "")
    pid, _, data = done.stdout.partition(" ")
    values = eval(data)
    return int(pid), Found(*values) if values else None


@pytest.fixture(scope="module")
def found() -> Found:
    """Where groups can be made; nowhere is a place, too, and tests say what is true then."""
    return probed()[1] or Found(0, None, None)


@contextmanager
def group(found: Found, memory: int = 64 * MIB, processes: int = 20) -> Iterator[Group]:
    made = Group.create(found, memory, processes)
    try:
        yield made
    finally:
        assert made.close()


def places() -> list[Found]:
    lists = [Path(f"/proc/self/{name}").read_bytes() for name in ("cgroup", "mountinfo")]
    return [*cgroups._candidates(*lists)]


def assert_no_group_can_be_made() -> None:
    for place in places():
        for alone in (
            Found(place.version, place.memory, None),
            Found(place.version, None, place.pids),
        ):
            if alone.memory or alone.pids:
                with pytest.raises(REFUSED), group(alone) as made:
                    ran(FORK, *made.procs).check_returncode()


def test_what_the_probe_found_works_and_otherwise_nothing_does(found: Found) -> None:
    assert_partial_truth(found)


def test_tree_beyond_its_memory_is_ended_though_no_process_is_large(found: Found) -> None:
    if not found.memory:
        assert_no_group_can_be_made()
        return
    with group(found, 100 * MIB) as made:
        done = ran(FILL, *made.procs)
        # Version 2 ends all of it at once.
        assert "0" in done.stdout.split() or done.returncode == -signal.SIGKILL
        killed, refused = made.events()
        assert (killed >= 1, refused) == (True, 0)

    # The control: the same tree under a limit that has room for it.
    with group(found, 400 * MIB) as made:
        assert ran(FILL, *made.procs).stdout == "1 1 1 1\n"
        assert made.events() == (0, 0)


def test_memory_that_nobody_maps_is_held_to_the_limit(found: Found) -> None:
    if not found.memory:
        assert_no_group_can_be_made()
        return
    with group(found, 100 * MIB) as made:
        done = ran(MEMORY_FILE, *made.procs)
        assert (done.returncode, done.stdout) == (-signal.SIGKILL, "")
        assert made.events()[0] == 1

    with group(found, 400 * MIB) as made:
        assert ran(MEMORY_FILE, *made.procs).stdout == "160\n"


@pytest.mark.parametrize("script", [FORK, THREADS], ids=["processes", "threads"])
def test_tasks_end_exactly_at_their_limit(found: Found, script: str) -> None:
    if not found.pids:
        assert_no_group_can_be_made()
        return
    with group(found, 1024 * MIB, 20) as made:
        done = ran(script, *made.procs)
        assert (done.stdout, done.returncode) == ("20\n", 0)
        killed, refused = made.events()
        assert (killed, refused >= 1) == (0, True)

    with group(found, 1024 * MIB, 200) as made:
        assert ran(script, *made.procs).stdout == "101\n"
        assert made.events() == (0, 0)


def test_group_used_again_has_its_new_limits_and_counts_from_nothing(found: Found) -> None:
    if not (found.memory and found.pids):
        assert_partial_truth(found)
        return
    with group(found, 100 * MIB, 20) as made:
        ran(MEMORY_FILE, *made.procs)
        ran(FORK, *made.procs)
        killed, refused = made.events()
        assert (killed >= 1, refused >= 1) == (True, True)

        for memory, processes in ((400 * MIB, 30), (50 * MIB, 10), (200 * MIB, 25)):
            made.limit(memory, processes)
            assert made.limits() == (memory, processes)
            assert made.events() == (0, 0)
            assert ran(FORK, *made.procs).stdout == f"{processes}\n"
        assert ran(MEMORY_FILE, *made.procs).stdout == "160\n"


def assert_partial_truth(found: Found) -> None:
    """Where a limit is missing, a group has the other one; where both are, there is no group."""
    if not found.version:
        assert_no_group_can_be_made()
        return
    with group(found) as made:
        assert made.limits() == (64 * MIB if found.memory else None, 20 if found.pids else None)


def test_more_processes_than_a_kernel_can_number_is_no_error(found: Found) -> None:
    if not found.pids:
        assert_no_group_can_be_made()
        return
    with group(found, 2**60, 2**40) as made:
        assert ran(FORK, *made.procs).stdout == "101\n"


def test_group_with_a_living_process_stays_until_it_is_gone(found: Found) -> None:
    if not found.version:
        assert_no_group_can_be_made()
        return
    made = Group.create(found, 64 * MIB, 20)
    with subprocess.Popen(
        program(STAY, *made.procs), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as stays:
        assert stays.stdout is not None
        pid = int(stays.stdout.readline())
        assert made.members() == [pid]

        assert made.close() is False
        assert made.members() == [pid]
        stays.kill()
    # Not even reaped a moment ago: what is dead does not hold a group.
    assert (made.close(), made.close()) == (True, True)
    assert made.members() == []


def test_kill_ends_all_of_a_group(found: Found) -> None:
    """One by one in version 1."""
    if not found.version:
        assert_no_group_can_be_made()
        return
    made = Group.create(found, 64 * MIB, 20)
    assert_kill_ends_all(made)
    assert made.close()


def test_kill_ends_all_of_a_group_at_once_where_the_kernel_can() -> None:
    """Version 2, which any process may be moved in without a limit being there."""
    place = unified()
    if place is None:
        return
    made = Group(Found(2, place, place), f"tongs-{os.getpid()}-{os.urandom(8).hex()}")
    os.mkdir(os.path.dirname(made.procs[0]))
    assert_kill_ends_all(made)
    assert made.close()


def assert_kill_ends_all(made: Group) -> None:
    stays = [
        subprocess.Popen(
            program(STAY, *made.procs),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        for _ in range(3)
    ]
    for process in stays:
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
    made.kill()
    for process in stays:
        process.communicate()
    assert [process.returncode for process in stays] == [-signal.SIGKILL] * 3


def unified() -> str | None:
    """This process's group in a hierarchy of version 2, if groups can be made in it."""
    own = next(
        (path for path in Path("/proc/self/cgroup").read_text().split() if path[:3] == "0::"), ""
    )[3:]
    for kind, _, root, point in cgroups._hierarchies(Path("/proc/self/mountinfo").read_bytes()):
        folder = cgroups._below(point, root, own.encode())
        if kind == b"cgroup2" and own and folder and os.access(folder, os.W_OK):
            return folder
    return None


def settings(folder: str) -> dict[str, bytes]:
    """What an existing group is set to; counters are left out."""
    read: Callable[[str], bytes] = cgroups._read
    names = ("cgroup.subtree_control", "memory.max", "memory.limit_in_bytes", "pids.max")
    return {name: read(f"{folder}/{name}") for name in names}


def test_probe_leaves_nothing_behind_and_changes_no_existing_group() -> None:
    folders = {folder for place in places() for folder in (place.memory, place.pids) if folder}
    before = {folder: settings(folder) for folder in folders}

    pid, _ = probed()

    assert {folder: settings(folder) for folder in folders} == before
    left = [name for folder in folders for name in os.listdir(folder) if f"-{pid}-" in name]
    assert left == []


def test_group_of_a_killed_process_is_removed_by_the_next_probe(found: Found) -> None:
    script = """
group = cgroups.Group.create(cgroups.Found(*eval(sys.argv[2])), 64 * MIB, 20)
print(*group.procs, flush=True)
os.kill(os.getpid(), 9)
"""
    if not found.version:
        assert_no_group_can_be_made()
        return
    left = [*map(os.path.dirname, ran(script, repr(found.data())).stdout.split())]
    assert left
    with group(found) as mine:
        probed()

        assert [path for path in left if os.path.exists(path)] == []
        assert all(map(os.path.exists, mine.procs))


def test_group_in_use_elsewhere_is_left_alone(tmp_path: Path) -> None:
    # A process of another container: its number means nothing here, its lock does.
    used = tmp_path / "tongs-4194305-x"
    used.mkdir()
    descriptor = os.open(used, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    cgroups._sweep(str(tmp_path))
    assert used.exists()

    os.close(descriptor)
    cgroups._sweep(str(tmp_path))
    assert not used.exists()


def test_ordinary_user_is_told_at_once_and_without_noise() -> None:
    script = """
if os.getuid() == 0: os.setuid(61234)
times = []
for _ in range(20):
    start = time.perf_counter()
    found = cgroups.probe()
    times.append(time.perf_counter() - start)
print(found and found.data(), min(times))
"""

    done = ran(script)

    assert (done.returncode, done.stderr) == (0, "")
    data, _, shortest = done.stdout.rpartition(" ")
    assert data == "None" or os.getuid() != 0
    assert data != "None" or float(shortest) < 0.001


def test_folder_that_only_looks_like_a_hierarchy_is_no_place(tmp_path: Path) -> None:
    listed, mounts = tmp_path / "cgroup", tmp_path / "mountinfo"
    hierarchy = tmp_path / "fs"
    hierarchy.mkdir()
    listed.write_text("1:memory,pids:/\n")
    mounts.write_text(f"1 1 0:1 / {hierarchy} rw - cgroup cgroup rw,memory,pids\n")

    assert cgroups.probe(str(listed), str(mounts)) is None
    assert [*hierarchy.iterdir()] == []


@pytest.mark.parametrize(
    ("listed", "mounts", "expected"),
    [
        (
            "4:memory:/a/b\n8:pids:/\n0::/\n",
            """32 31 0:29 / /c/memory rw - cgroup cgroup rw,memory
               33 31 0:30 / /c/pids rw - cgroup cgroup rw,pids
               34 31 0:31 / /c/cpu rw - cgroup cgroup rw,cpu""",
            [(1, "/c/memory/a/b", "/c/pids")],
        ),
        (
            "4:memory,pids:/x\n",
            "32 31 0:29 / /c/both rw - cgroup cgroup rw,memory,pids\n",
            [(1, "/c/both/x", "/c/both/x")],
        ),
        (
            "8:pids:/docker/abc/in\n4:memory:/docker/abcd\n",
            """32 31 0:29 /docker/abc /c/pids rw - cgroup cgroup rw,pids
               33 31 0:30 /docker/abc /c/memory rw - cgroup cgroup rw,memory""",
            [(1, None, "/c/pids/in")],
        ),
        ("4:memory:/../b\n", "32 31 0:29 / /c/memory rw - cgroup cgroup rw,memory\n", []),
        ("4:memory:/b\n", "32 31 0:29 / /c\\040d rw - cgroup cgroup rw,memory\n", []),
        ("4:cpu:/b\n", "32 31 0:29 / /c rw - ext4 /dev/x rw,memory\n", []),
        ("", "", []),
    ],
    ids=["separate", "together", "container", "outside", "escaped", "none", "nothing"],
)
def test_own_group_of_version_1_is_the_place(
    listed: str, mounts: str, expected: list[tuple[int, str | None, str | None]]
) -> None:
    lines = "\n".join(line.strip() for line in mounts.splitlines())

    made = cgroups._candidates(listed.encode(), lines.encode())

    assert [place.data() for place in made] == expected


@pytest.mark.parametrize(
    ("own", "above", "limits", "expected"),
    [
        ("", "cpu memory pids", {}, [("above", "above")]),
        ("", "pids", {}, [(None, "above")]),
        ("memory pids", "memory pids", {}, [("own", "own"), ("above", "above")]),
        ("", "", {}, []),
        # Beside its own group a process would be free of what somebody set there.
        ("", "memory pids", {"memory.max": "1000000000"}, []),
        ("", "memory pids", {"memory.high": "1000000000"}, []),
        ("", "memory pids", {"cpu.max": "50000 100000"}, []),
        ("", "memory pids", {"memory.max": "max", "cpu.max": "max 100000"}, [("above", "above")]),
        ("", "memory pids", {"pids.max": "20000"}, [("above", "above")]),
    ],
)
def test_group_above_of_version_2_is_a_place_unless_a_limit_would_be_left(
    tmp_path: Path,
    own: str,
    above: str,
    limits: dict[str, str],
    expected: list[tuple[str | None, str | None]],
) -> None:
    folders = {"above": tmp_path / "app.slice", "own": tmp_path / "app.slice" / "x.scope"}
    folders["own"].mkdir(parents=True)
    for name, controllers in (("above", above), ("own", own)):
        (folders[name] / "cgroup.subtree_control").write_text(f"{controllers}\n")
    for name, value in limits.items():
        (folders["own"] / name).write_text(f"{value}\n")
    mounts = f"32 31 0:29 / {tmp_path} rw - cgroup2 cgroup2 rw\n"

    made = cgroups._candidates(b"0::/app.slice/x.scope\n", mounts.encode())

    assert [place.data() for place in made] == [
        (2, *(name and str(folders[name]) for name in pair)) for pair in expected
    ]


def test_top_of_a_hierarchy_of_version_2_has_nothing_above(tmp_path: Path) -> None:
    (tmp_path / "cgroup.subtree_control").write_text("memory pids\n")
    mounts = f"32 31 0:29 /in {tmp_path} rw - cgroup2 cgroup2 rw\n"

    made = cgroups._candidates(b"0::/in\n", mounts.encode())

    assert [place.data() for place in made] == [(2, str(tmp_path), str(tmp_path))]


def test_a_group_is_used_again_when_nobody_is_in_it(found: Found) -> None:
    groups = Groups(found)
    first = groups.take(64 * MIB, 8)
    first.leave()

    second = groups.take(128 * MIB, 9)

    assert second is first
    assert second.limits() == (128 * MIB if found.memory else None, 9 if found.pids else None)
    second.leave()
    groups.close()
    assert not any(os.path.exists(path) for path in second.procs)


def test_a_group_with_somebody_in_it_is_left_alone(found: Found) -> None:
    groups = Groups(found)
    first = groups.take(64 * MIB, 8)
    if not first.procs:
        groups.close()
        return
    with subprocess.Popen(["sleep", "60"]) as child:
        for path in first.procs:
            Path(path).write_text(str(child.pid))
        first.leave()

        second = groups.take(64 * MIB, 8)

        assert second is not first
        child.kill()
    second.leave()
    groups.close()
    assert not any(os.path.exists(path) for path in (*first.procs, *second.procs))
