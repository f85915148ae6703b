"""Control groups of calls, looked at from outside: none may be left, however Tongs ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.escape.attack import LIMITS, TIERS
from tests.escape.scene import Scene
from tests.escape.test_calls import marked, wait_for_end
from tests.escape.world import World

KEYS = (*TIERS, LIMITS)

# A program with Tongs in it, which makes calls one after the other and stays in the last one.
TONGS = """
import sys
from tests.escape.world import NATIVE, PATH, driven
from tongs.core.errors import ToolError
from tongs.core.execution import Command, Policy
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import create
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter

key, project, home, mark, *scripts = sys.argv[1:]
host = Host(home=home, state=home + "/.tongs/state", native=NATIVE)
sandbox = create(key, direct=False, host=host)
limits = Limits(memory=64 * 1024**2)
policy = Policy(Permissions(read=(project,)), limits, project, "call", project)
for script in scripts:
    session = sandbox.open(policy, BlockingWaiter())
    try:
        command = Command(("sh", "-c", script), {"PATH": PATH, "MARK": mark}, project, timeout=1)
        driven(session.run(command, lambda event: print("up", flush=True)))
    except ToolError:
        pass
    finally:
        session.close()
sandbox.close()
print("over", flush=True)
"""

QUIET = "true"
DAEMON = "(setsid sleep 60 &)"
LATE = "sleep 60 & sleep 60"
GREEDY = "head -c 200000000 /dev/zero | tail"
STAYING = "(setsid sleep 60 &); echo up; sleep 60"


@pytest.mark.parametrize("key", KEYS)
def test_no_group_is_left_when_calls_are_over(world: World, key: str) -> None:
    with world.scene(control=False) as scene, tongs(scene, key, QUIET, DAEMON, LATE, GREEDY) as it:
        assert it.stdout is not None
        assert it.stdout.read().endswith(b"over\n")

    assert groups_of(it.pid) == []


@pytest.mark.parametrize("key", KEYS)
def test_what_a_killed_tongs_left_goes_with_the_next_call(world: World, key: str) -> None:
    mark = f"mark-{os.urandom(8).hex()}"
    with world.scene(control=False) as scene:
        with tongs(scene, key, STAYING, mark=mark) as it:
            assert it.stdout is not None
            assert it.stdout.readline() == b"up\n"
            first = marked(mark)[0]
            own = f"/tongs-{it.pid}-" in Path(f"/proc/{first}/cgroup").read_text()
            assert own == bool(groups_of(it.pid))
            it.send_signal(signal.SIGKILL)
        while left := marked(mark):
            for pid in left:
                wait_for_end(pid)
        with tongs(scene, key, QUIET) as following:
            assert following.stdout is not None
            following.stdout.read()

    assert groups_of(it.pid) == []
    assert groups_of(following.pid) == []


@contextmanager
def tongs(
    scene: Scene, key: str, *scripts: str, mark: str = ""
) -> Iterator[subprocess.Popen[bytes]]:
    places = (str(scene.project), str(scene.home))
    with subprocess.Popen(
        [sys.executable, "-c", TONGS, key, *places, mark, *scripts], stdout=subprocess.PIPE
    ) as process:
        yield process


def groups_of(pid: int) -> list[str]:
    """The groups that a process has made, wherever groups can be made."""
    mounts = [line.split(" - ") for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    tops = [where.split()[4] for where, what in mounts if what.startswith("cgroup")]
    return [
        os.path.join(folder, name)
        for top in tops
        for folder, names, _ in os.walk(top)
        for name in names
        if name.startswith(f"tongs-{pid}-")
    ]
