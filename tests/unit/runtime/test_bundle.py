"""Everything that defines a tool, as one digest and one text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.runtime.bundle import (
    MOST_BYTES,
    Snapshot,
    _is_the_systems,
    bundle,
    bundle_digest,
    snapshot,
)


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    folder = tmp_path / "t"
    (folder / "scripts").mkdir(parents=True)
    (folder / "tool.yml").write_text("name: t\n")
    (folder / "scripts" / "run.sh").write_text("echo hi\n")
    (tmp_path / "outside.sh").write_text("echo outside\n")
    return folder


def digest(tool: Path) -> str:
    return bundle(str(tool), [str(tool.parent / "outside.sh")]).digest


@pytest.mark.parametrize(
    "change",
    [
        lambda tool: (tool / "tool.yml").write_text("name: u\n"),
        lambda tool: (tool / "scripts/run.sh").write_text("echo ho\n"),
        lambda tool: (tool / "scripts/run.sh").chmod(0o755),
        lambda tool: (tool / "scripts/run.sh").rename(tool / "scripts/other.sh"),
        lambda tool: (tool / "new").touch(),
        lambda tool: (
            (tool / "scripts/__pycache__").mkdir()
            or (tool / "scripts/__pycache__/x.pyc").write_bytes(b"\0")
        ),
        lambda tool: (tool.parent / "outside.sh").write_text("echo evil\n"),
        lambda tool: os.symlink("tool.yml", tool / "link"),
    ],
)
def test_every_change_shows(tool: Path, change: Callable[[Path], object]) -> None:
    before = digest(tool)
    assert digest(tool) == before

    change(tool)

    assert digest(tool) != before


def test_what_a_link_leads_to_counts_too(tool: Path) -> None:
    os.symlink(tool.parent / "outside.sh", tool / "link")
    before = bundle(str(tool)).digest

    (tool.parent / "outside.sh").write_text("echo evil\n")

    assert bundle(str(tool)).digest != before


def test_text_has_every_file_under_a_heading(tool: Path) -> None:
    (tool / "picture.png").write_bytes(b"\x89PNG\0\xff")
    (tool / "latin.py").write_bytes(b"# \xe9\n=== other.py\n")
    (tool / "scripts/run.sh").chmod(0o755)

    text = bundle(str(tool), [str(tool.parent / "outside.sh")]).text.decode()

    assert "=== tool.yml\n  name: t\n" in text
    assert "=== scripts/run.sh, executable\n  echo hi\n" in text
    assert "=== ../outside.sh\n  echo outside\n" in text
    assert "=== picture.png\n  (no text: 6 bytes, sha256 " in text
    # Nothing in a file looks like the heading of another, and nothing hides.
    assert "=== latin.py\n  # \\xe9\n  === other.py\n" in text


def test_bytes_that_were_read_are_the_ones_that_count(tool: Path) -> None:
    path = str(tool / "tool.yml")
    before = bundle(str(tool)).digest

    (tool / "tool.yml").write_text("name: evil\n")

    assert bundle(str(tool), (), {path: b"name: t\n"}).digest == before


@pytest.mark.parametrize("path", ["/library/x.py", "/binaries/x", "/usr/src/app/x.py"])
def test_only_what_an_administrator_put_there_is_the_systems(path: str) -> None:
    assert not _is_the_systems(path)


def test_what_belongs_to_the_system_is_not_pinned(tool: Path) -> None:
    assert bundle(str(tool), ["/usr/bin/env"]).digest == bundle(str(tool)).digest


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda tool: os.mkfifo(tool / "pipe"), "it is no file"),
        (lambda tool: os.symlink("/nowhere", tool / "link"), "cannot be read"),
        (lambda tool: os.symlink("/usr", tool / "link"), "a link to no file"),
        (lambda tool: os.truncate(tool / "tool.yml", MOST_BYTES + 1), "more than 16 MiB"),
    ],
)
def test_what_cannot_be_read_whole_is_refused(
    tool: Path, spoil: Callable[[Path], object], reason: str
) -> None:
    spoil(tool)

    with pytest.raises(DefinitionInvalid) as caught:
        bundle(str(tool))

    assert reason in str(caught.value)


# --- the same once more ---------------------------------------------------------------------------


def seen(folder: Path, *also: Path) -> Snapshot:
    paths = [str(path) for path in also]
    found = snapshot(str(folder), paths, bundle_digest(str(folder), paths))
    assert found is not None
    return found


CHANGES: dict[str, Callable[[Path], object]] = {
    "a byte": lambda folder: (folder / "a").write_text("B"),
    "one byte more": lambda folder: (folder / "a").write_text("A\n"),
    "an empty file": lambda folder: (folder / "a").write_text(""),
    "a file is gone": lambda folder: (folder / "a").unlink(),
    "a new file": lambda folder: (folder / "z").touch(),
    "another name": lambda folder: (folder / "a").rename(folder / "c"),
    "the executable bit": lambda folder: (folder / "a").chmod(0o755),
    "a link to the same": lambda folder: (
        (folder / "a").rename(folder.parent / "kept"),
        (folder / "a").symlink_to(folder.parent / "kept"),
    ),
    "a pipe": lambda folder: ((folder / "a").unlink(), os.mkfifo(folder / "a")),
    "a folder": lambda folder: ((folder / "a").unlink(), (folder / "a").mkdir()),
    "what lies beside": lambda folder: (folder.parent / "beside").write_text("other"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_snapshot_notices_what_the_digest_covers(tmp_path: Path, change: str) -> None:
    folder = tmp_path / "tool"
    folder.mkdir()
    (folder / "a").write_text("A")
    (folder / "b").write_text("B")
    (tmp_path / "beside").write_text("beside")
    found = seen(folder, tmp_path / "beside")
    assert found.holds()
    assert found.holds()

    CHANGES[change](folder)

    assert not found.holds()


def test_snapshot_notices_a_file_where_one_is_looked_for(tmp_path: Path) -> None:
    folder, wanted = tmp_path / "tool", tmp_path / "module/__init__.py"
    folder.mkdir()
    wanted.parent.mkdir()
    found = snapshot(str(folder), [], bundle_digest(str(folder)), [str(wanted)])
    assert found is not None
    assert found.holds()

    wanted.touch()

    assert not found.holds()


def test_snapshot_with_a_folder_beside_it_never_holds(tmp_path: Path) -> None:
    folder, package = tmp_path / "tool", tmp_path / "package"
    for each in (folder, package):
        each.mkdir()
        (each / "file").touch()

    assert not seen(folder, package).holds()


def test_snapshot_of_what_is_not_plain_never_holds(tmp_path: Path) -> None:
    deep, linked, large = tmp_path / "deep", tmp_path / "linked", tmp_path / "large"
    for folder in (deep / "below", linked, large):
        folder.mkdir(parents=True)
    (deep / "below/file").touch()
    (linked / "file").symlink_to(tmp_path / "large/file")
    (large / "file").write_bytes(bytes(300_000))

    assert [seen(folder).holds() for folder in (deep, linked, large)] == [False] * 3


def test_there_is_no_snapshot_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("A")

    assert snapshot(str(tmp_path), [], "0" * 64) is None
