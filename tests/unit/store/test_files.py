"""Files are whole or not there."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tongs.store.files import private_folder, read_whole, real_path, write_whole


def test_written_file_replaces_the_old_one_with_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")

    write_whole(str(path), b"new", mode=0o640)

    assert path.read_bytes() == b"new"
    assert path.stat().st_mode & 0o777 == 0o640 & ~_umask()
    assert list(tmp_path.iterdir()) == [path]


def test_failed_write_leaves_the_old_file_and_no_rest(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "kept").write_text("x")

    with pytest.raises(OSError, match="directory"):
        write_whole(str(folder), b"new")

    assert [p.name for p in tmp_path.iterdir()] == ["f"]


def test_reading_stops_one_byte_after_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"x" * 100)

    assert read_whole(str(path), 10) == b"x" * 11
    assert read_whole(str(tmp_path / "none"), 10) is None


def test_named_pipe_in_a_tool_folder_does_not_hang_the_reader(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")

    assert read_whole(str(tmp_path / "p"), 10) == b""


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_folder_that_cannot_be_made_is_an_error() -> None:
    with pytest.raises(OSError, match="/proc/nothing"):
        private_folder("/proc/nothing/state")


def test_real_path_is_that_of_the_standard_library(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder/file").touch()
    (tmp_path / "link").symlink_to("folder")
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "gone (deleted)").symlink_to("gone")
    names = ["folder", "folder/file", "link/file", "link", "loop/x", "no/such", "gone (deleted)"]
    paths = [str(tmp_path / name) for name in names]
    paths += [f"{tmp_path}/folder/../folder/./file", f"{tmp_path}//folder", "/", "relative"]

    assert [real_path(path) for path in paths] == [os.path.realpath(path) for path in paths]
