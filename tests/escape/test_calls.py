"""What belongs to one call: shared by its steps, seen by no other call, gone afterwards."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.escape.attack import LANDLOCK, LIMITS, NAMESPACES, NOTHING, TIERS, writing
from tests.escape.scene import Scene, differences
from tests.escape.world import World

from tongs.core.errors import ToolError
from tongs.core.permissions import Permissions

VIEW = Permissions(scratch=(".",))

# Leaves a file wherever a payload can, and says what is there already.
TRACES = """
for folder in "$TMPDIR" "$HOME" /tmp /dev/shm /var/tmp; do
    test -e "$folder/trace" && echo "found $folder"
done
for folder in "$TMPDIR" "$HOME" /tmp /dev/shm /var/tmp; do
    echo left > "$folder/trace"
done 2> /dev/null
ipcs -m 2> /dev/null | grep -q ^0x && echo "found segments"
ipcmk -M 4096 > /dev/null 2>&1
true
"""


@pytest.mark.parametrize("tier", TIERS)
def test_the_steps_of_a_call_share_its_scratch_folder(world: World, tier: str) -> None:
    with world.call(tier, NOTHING) as call:
        call.run("bash", "-c", 'echo kept > "$TMPDIR/file"')
        completed = call.run("bash", "-c", 'cat "$TMPDIR/file"')

    assert completed.stdout == b"kept\n"


def test_the_steps_of_a_call_share_its_view_of_the_project(world: World) -> None:
    with world.scene(control=False) as scene:
        with world.call(NAMESPACES, VIEW, scene=scene) as call:
            call.run("bash", "-c", "echo kept > new; rm data.txt; echo more >> src/main.py")
            completed = call.run("bash", "-c", "cat new; ls data.txt; tail -n 1 src/main.py")

        assert completed.stdout == b"kept\nmore\n"
        assert not (scene.project / "new").exists()
        assert (scene.project / "data.txt").exists()


def test_without_a_view_of_its_own_a_call_is_refused_what_it_writes(world: World) -> None:
    with world.call(LANDLOCK, VIEW) as call:
        completed = call.run("bash", "-c", "cat data.txt; echo kept > new")

        assert "scratch-view" in call.session.not_enforced
    assert completed.stdout == b"plain data\n"
    assert (completed.exit_code, b"Permission denied" in completed.stderr) == (1, True)


@pytest.mark.parametrize("tier", TIERS)
def test_a_later_call_finds_nothing_of_an_earlier_one(world: World, tier: str) -> None:
    with world.scene(control=False) as scene:
        for _ in range(4):
            with world.call(tier, writing("out"), scene=scene) as call:
                said = call.run("bash", "-c", TRACES).stdout

            assert said == b""


def test_control_without_a_sandbox_a_later_call_finds_what_an_earlier_one_left(
    world: World,
) -> None:
    with world.scene(control=True) as scene:
        with world.call(LIMITS, NOTHING, scene=scene) as call:
            call.run("bash", "-c", 'echo left > "$HOME/trace"')
        with world.call(LIMITS, NOTHING, scene=scene) as call:
            completed = call.run("bash", "-c", 'test -e "$HOME/trace" && echo found')

    assert completed.stdout == b"found\n"


@pytest.mark.parametrize("tier", TIERS)
def test_an_environment_made_anew_between_two_calls_is_used(world: World, tier: str) -> None:
    with world.scene(control=False) as scene:
        settings = scene.project / ".venv/pyvenv.cfg"
        for text in (b"first\n", b"second\n"):
            shutil.rmtree(scene.project / ".venv")
            settings.parent.mkdir()
            settings.write_bytes(text)
            with world.call(tier, NOTHING, scene=scene) as call:
                completed = call.run("cat", str(settings))

            assert completed.stdout == text, completed.output


@pytest.mark.parametrize("tier", TIERS)
def test_a_step_after_a_hostile_one_still_works(world: World, tier: str) -> None:
    with world.call(tier, writing("out")) as call:
        call.run("bash", "-c", 'rm -rf "$TMPDIR"/* out/*; rmdir "$TMPDIR" out')
        completed = call.run("bash", "-c", 'echo x > "$TMPDIR/file" && cat "$TMPDIR/file"')

    assert completed.stdout == b"x\n", completed.output


# A program with Tongs in it: a call that writes to its view of the project until it is killed.
TONGS = """
import sys
from tests.escape.world import NATIVE, PATH, driven
from tongs.core.execution import Command, Policy
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import create
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter

key, project, home, mark = sys.argv[1:]
host = Host(home=home, state=home + "/.tongs/state", native=NATIVE)
sandbox = create(key, direct=False, host=host)
policy = Policy(Permissions(scratch=(project,)), Limits(), project, "call", project)
session = sandbox.open(policy, BlockingWaiter())
beat = "while :; do echo evil >> data.txt; done 2> /dev/null"
script = f"(setsid sh -c '{beat}' &); {{ echo evil >> data.txt; }} 2> /dev/null; echo up; sleep 60"
environment = {"PATH": PATH, "MARK": mark}
command = Command(("sh", "-c", script), environment, project)
driven(session.run(command, lambda event: print("up", flush=True)))
"""


@pytest.mark.parametrize("tier", TIERS)
def test_nothing_survives_of_a_view_when_tongs_is_killed(world: World, tier: str) -> None:
    with killed(world, tier) as (scene, before):
        assert differences(before, scene.snapshot(VIEW)) == []
        mounts = Path("/proc/self/mountinfo").read_text()
        assert str(scene.project) not in mounts


def test_control_without_a_sandbox_what_a_killed_call_wrote_is_there(world: World) -> None:
    with killed(world, LIMITS) as (scene, before):
        assert "work/project/data.txt was changed" in differences(before, scene.snapshot(VIEW))


@contextmanager
def killed(world: World, key: str) -> Iterator[tuple[Scene, dict[str, tuple[object, ...]]]]:
    """A scene in which Tongs was killed in the middle of a call, and the call is over, too."""
    mark = f"mark-{os.urandom(8).hex()}"
    with world.scene(control=key == LIMITS) as scene:
        before = scene.snapshot(VIEW)
        with subprocess.Popen(
            [sys.executable, "-c", TONGS, key, str(scene.project), str(scene.home), mark],
            stdout=subprocess.PIPE,
        ) as tongs:
            assert tongs.stdout is not None
            assert tongs.stdout.readline() == b"up\n"
            tongs.send_signal(signal.SIGKILL)
            tongs.wait()
        while left := marked(mark):
            for pid in left:
                wait_for_end(pid)
        yield scene, before


def marked(mark: str) -> list[int]:
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError):
            if f"MARK={mark}".encode() in Path(f"/proc/{name}/environ").read_bytes():
                found.append(int(name))
    return found


def wait_for_end(pid: int) -> None:
    with suppress(ProcessLookupError):
        process = os.pidfd_open(pid)
        poller = select.poll()
        poller.register(process, select.POLLIN)
        assert poller.poll(20_000)
        os.close(process)


@pytest.mark.parametrize("tier", TIERS)
def test_a_folder_swapped_for_a_link_while_it_is_granted_leads_nowhere(
    world: World, tier: str
) -> None:
    with swapping(world) as scene:
        for _ in range(25):
            # It is refused when the link is there at the wrong moment.
            with suppress(ToolError), world.call(tier, writing("out"), scene=scene) as call:
                call.run("sh", "-c", f"echo evil > {scene.project}/out/new")

        assert sorted(os.listdir(scene.outside)) == [
            "folder",
            "program",
            "secret.txt",
            "victim.txt",
        ]


def test_control_without_a_sandbox_a_swapped_folder_leads_outside(world: World) -> None:
    with swapping(world) as scene:
        until = time.monotonic() + 20
        while "new" not in os.listdir(scene.outside) and time.monotonic() < until:
            with suppress(FileNotFoundError):
                (scene.project / "out/new").write_text("evil")

        assert "new" in os.listdir(scene.outside)


@contextmanager
def swapping(world: World) -> Iterator[Scene]:
    """A scene in which `out` is a folder one moment, and a link to the outside the next."""
    over = threading.Event()
    with world.scene(control=False) as scene:
        folder, link, aside = (scene.project / name for name in ("out", "out.link", "out.folder"))
        link.symlink_to(scene.outside)

        def swap() -> None:
            while not over.is_set():
                folder.rename(aside)
                link.rename(folder)
                folder.rename(link)
                aside.rename(folder)

        swapper = threading.Thread(target=swap)
        swapper.start()
        try:
            yield scene
        finally:
            over.set()
            swapper.join()
