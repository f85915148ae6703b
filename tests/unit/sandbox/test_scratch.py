"""The folders of a call, and their removal whatever a tool made of them."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.unit.sandbox.running import World, bash

from tongs.sandbox.scratch import Scratch, _swept, remove_tree


def test_nothing_is_made_before_it_is_needed(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path))

    scratch.close()

    assert [*tmp_path.glob("*/*")] == []


def test_its_folders_are_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        scratch = Scratch(str(tmp_path))
        written = Path(scratch.write("file", b"data"))
        modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (scratch.tmp, written.parent)]
    finally:
        os.umask(before)

    assert modes == [0o700, 0o700]
    assert written.read_bytes() == b"data"


def test_a_file_written_again_is_replaced_and_never_through_a_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_bytes(b"precious")
    scratch = Scratch(str(tmp_path))
    path = Path(scratch.write("file", b"one"))
    path.unlink()
    path.symlink_to(victim)

    scratch.write("file", b"two")

    assert (path.read_bytes(), victim.read_bytes()) == (b"two", b"precious")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path))
    assert os.path.isdir(scratch.tmp)

    scratch.close()
    scratch.close()

    assert [path for path in tmp_path.rglob("*") if "-" in path.name] == [users_folder(tmp_path)]


def test_what_a_killed_process_left_is_removed_by_the_next_call(tmp_path: Path) -> None:
    program = (
        "import os, sys; from tongs.sandbox.scratch import Scratch; "
        "Scratch(sys.argv[1]).write('f', b''); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)
    (left,) = users_folder(tmp_path).iterdir()
    held = Scratch(str(tmp_path))
    assert os.path.isdir(held.tmp)

    assert not left.exists()
    other = Scratch(str(tmp_path))
    assert os.path.isdir(other.tmp)
    assert os.path.isdir(held.tmp)


def test_folder_in_use_elsewhere_is_left_alone(tmp_path: Path) -> None:
    # A process of another container: its number means nothing here, its lock does.
    used = users_folder(tmp_path) / "tongs-4194305-x"
    used.mkdir(parents=True)
    used.parent.chmod(0o700)
    descriptor = os.open(used, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)

    assert os.path.isdir(Scratch(str(tmp_path)).tmp)
    assert used.exists()

    os.close(descriptor)
    _swept.clear()  # as in the next process
    assert os.path.isdir(Scratch(str(tmp_path)).tmp)
    assert not used.exists()


@pytest.mark.parametrize("mode", [0o777, 0o750])
def test_folder_that_others_can_enter_is_not_used(tmp_path: Path, mode: int) -> None:
    users_folder(tmp_path).mkdir()
    users_folder(tmp_path).chmod(mode)

    scratch = Scratch(str(tmp_path))

    assert Path(scratch.tmp).parent.parent == tmp_path


def users_folder(root: Path) -> Path:
    return root / f"tongs-{os.geteuid()}"


def test_removal_takes_links_away_and_what_they_name_stays(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    inside = tmp_path / "inside"
    (inside / "deep").mkdir(parents=True)
    (inside / "link").symlink_to(outside)
    (inside / "deep" / "link").symlink_to(outside / "precious")
    (inside / "loop").symlink_to(inside)

    remove_tree(str(inside))

    assert not inside.exists()
    assert (outside / "precious").read_bytes() == b"x"


def test_removal_of_a_link_itself_is_refused(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "link").symlink_to(outside)

    remove_tree(str(tmp_path / "link"))

    assert outside.is_dir()


def test_removal_of_nothing_is_harmless(tmp_path: Path) -> None:
    remove_tree(str(tmp_path / "none"))


def test_removal_reaches_any_depth(tmp_path: Path) -> None:
    top = tmp_path / "top"
    top.mkdir()
    here = os.open(top, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=here)
        below = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)

    remove_tree(str(top))

    assert not top.exists()


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    """A folder that an ordinary user can reach, unlike tmp_path."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    subprocess.run(["rm", "-rf", str(folder)], check=True)


# Only root can become somebody else; an ordinary user already is.
@pytest.mark.parametrize("user", [0, 61234] if os.geteuid() == 0 else [os.geteuid()])
def test_removal_works_when_a_tool_took_all_rights_away(open_to_all: Path, user: int) -> None:
    top = open_to_all / "top"
    (top / "a" / "b" / "c").mkdir(parents=True)
    (top / "a" / "b" / "file").write_bytes(b"x")
    for path in (top / "a" / "b" / "c", top / "a" / "b", top / "a", top):
        os.chown(path, user, -1)
        path.chmod(0o700 if path == top else 0)

    copy = os.fork()
    if copy == 0:
        try:
            os.setuid(user)
            remove_tree(str(top))
        finally:
            os._exit(0)
    os.waitpid(copy, 0)

    assert not top.exists()


def test_scratch_of_a_session_goes_with_everything_a_tool_put_there(
    world: World, tmp_path: Path
) -> None:
    world.temp_root = str(tmp_path)
    session = world.session()
    script = 'cd "$1"; mkdir -p a/b; ln -s / a/root; mkfifo a/b/fifo; chmod 0 a/b; chmod 0 a'

    assert world.run(bash(script, session.scratch)).exit_code == 0
    session.close()

    assert [*tmp_path.glob("*/*")] == []


def test_a_folder_that_was_left_as_it_was_made_is_as_new(tmp_path: Path) -> None:
    scratch = Scratch(str(tmp_path))
    scratch.write("script", b"echo hi")

    assert scratch.is_as_new()
    assert os.listdir(scratch.folder) == ["tmp"]
    scratch.close()


@pytest.mark.parametrize(
    "use",
    [
        lambda tmp: (Path(tmp) / "file").touch(),
        lambda tmp: os.chmod(tmp, 0o755),
        lambda tmp: os.setxattr(tmp, "user.note", b"from the last call"),
    ],
    ids=["a file", "its mode", "an attribute"],
)
def test_a_folder_that_keeps_a_trace_of_its_call_is_not_as_new(
    tmp_path: Path, use: Callable[[str], None]
) -> None:
    scratch = Scratch(str(tmp_path))
    use(scratch.tmp)

    assert not scratch.is_as_new()
    scratch.close()
