"""Opening and renaming by descriptor: by the kernel in one go, and part by part."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tongs.sandbox.beneath import Beneath, _linked
from tongs.sandbox.host import Host


@pytest.fixture(params=[True, False], ids=["whole", "parts"])
def beneath(request: pytest.FixtureRequest) -> Beneath:
    return Beneath(Host(), whole=request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "a" / "b" / "file").write_text("found")
    (tmp_path / "secret").write_text("secret")
    for name, target in {
        "out": "../secret",
        "in": "a",
        "a/up": "..",
        "a/b/link": "file",
        "absolute": str(tmp_path),
        "magic": "/proc/self/cwd",
    }.items():
        (tmp_path / "root" / name).symlink_to(target)
    descriptor = os.open(tmp_path / "root", os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


def test_this_kernel_walks_whole_paths() -> None:
    assert Beneath(Host())._whole


def test_plain_path_is_opened(beneath: Beneath, folder: int) -> None:
    descriptor = beneath.open(folder, "a/b/file", os.O_RDONLY)
    try:
        assert os.read(descriptor, 10) == b"found"
        assert not os.get_inheritable(descriptor)
    finally:
        os.close(descriptor)


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("out", errno.ELOOP),
        ("in/b/file", errno.ELOOP),
        ("a/up/a", errno.ELOOP),
        ("a/b/link", errno.ELOOP),
        ("absolute/secret", errno.ELOOP),
        ("magic/x", errno.ELOOP),
        ("../secret", errno.EXDEV),
        ("a/../../secret", errno.EXDEV),
        ("a/b/none", errno.ENOENT),
        ("none/x", errno.ENOENT),
        ("a/b/file/x", errno.ENOTDIR),
        ("a\0b", errno.EINVAL),
    ],
)
def test_other_paths_are_refused(beneath: Beneath, folder: int, path: str, number: int) -> None:
    with pytest.raises(OSError, match=r"\w") as refused:
        beneath.open(folder, path, os.O_RDONLY)

    assert refused.value.errno == number


def test_no_descriptor_is_left_open(beneath: Beneath, folder: int) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for path in ("out", "a/b/none", "in/b", "../secret", "a/b/file/x"):
        with pytest.raises(OSError, match=r"\w"):
            beneath.open(folder, path, os.O_RDONLY)

    assert len(os.listdir("/proc/self/fd")) == before


def test_renaming_never_replaces(beneath: Beneath, folder: int, tmp_path: Path) -> None:
    (tmp_path / "root" / "one").write_text("1")
    (tmp_path / "root" / "two").write_text("2")

    with pytest.raises(FileExistsError):
        beneath.rename_new((folder, "one"), (folder, "two"))
    beneath.rename_new((folder, "one"), (folder, "three"))

    assert (tmp_path / "root" / "two").read_text() == "2"
    assert (tmp_path / "root" / "three").read_text() == "1"


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_old_kernels_do_not_replace_either(folder: int, tmp_path: Path, kind: str) -> None:
    root = tmp_path / "root"
    if kind == "file":
        (root / "one").write_text("1")
    elif kind == "folder":
        (root / "one").mkdir()
    else:
        (root / "one").symlink_to("nowhere")
    (root / "two").mkdir() if kind == "folder" else (root / "two").write_text("2")

    with pytest.raises(FileExistsError):
        _linked((folder, "one"), (folder, "two"))
    _linked((folder, "one"), (folder, "three"))

    assert not os.path.lexists(root / "one")
    assert os.path.lexists(root / "three")


def test_exchange_swaps_in_one_step(beneath: Beneath, folder: int, tmp_path: Path) -> None:
    (tmp_path / "root" / "one").write_text("1")
    (tmp_path / "root" / "two").write_text("2")

    assert beneath.exchange((folder, "one"), (folder, "two"))
    with pytest.raises(FileNotFoundError):
        beneath.exchange((folder, "one"), (folder, "none"))

    assert (tmp_path / "root" / "one").read_text() == "2"


def test_kernel_without_these_calls_is_said_or_gone_around(
    folder: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "root" / "one").write_text("1")
    (tmp_path / "root" / "two").write_text("2")

    def unknown(name: str, *arguments: int | bytes) -> int:
        raise OSError(errno.ENOSYS, name)

    monkeypatch.setattr("tongs.sandbox.kernel.syscall", unknown)
    beneath = Beneath(Host())

    assert not beneath.exchange((folder, "one"), (folder, "two"))
    beneath.rename_new((folder, "one"), (folder, "three"))
    os.close(beneath.open(folder, "three", os.O_RDONLY))
    assert not beneath._whole


def test_what_is_held_has_the_parts_of_git_that_run_something(tmp_path: Path) -> None:
    (tmp_path / ".git" / "hooks").mkdir(parents=True)
    host = Host(state="/state", authority=("/authority",))

    held = Beneath(host).held(str(tmp_path))

    assert {"/state", "/authority", str(tmp_path / ".git" / "hooks")} <= set(held)
