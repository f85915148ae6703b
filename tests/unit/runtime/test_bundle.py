"""Everything that defines a tool, as one digest and one text."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.core.errors import DefinitionInvalid
from tongs.runtime.bundle import MOST_BYTES, _is_the_systems, bundle


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
