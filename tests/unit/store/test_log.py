"""The log rotates, is private, and never breaks a call."""

from __future__ import annotations

from pathlib import Path

from tongs.store import log as module
from tongs.store.log import Log


def test_levels_below_the_least_are_not_written(tmp_path: Path) -> None:
    log = Log(str(tmp_path), "warning")

    log.write("info", "quiet")
    log.write("error", "loud")

    text = Path(log.path).read_text()
    assert "loud" in text
    assert "quiet" not in text
    assert Path(log.path).stat().st_mode & 0o777 == 0o600


def test_full_log_is_rotated_and_old_ones_dropped(tmp_path: Path) -> None:
    log = Log(str(tmp_path))
    for number in range(6):
        log.write("info", f"part {number} " + "x" * module.LARGEST)

    names = sorted(path.name for path in (tmp_path / "log").iterdir())
    assert names == ["tongs.log", *(f"tongs.log.{n}" for n in range(1, module.KEPT + 1))]
    assert "part 5" in Path(log.path).read_text()[:100]


def test_log_that_cannot_be_written_is_no_trouble(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a file where the folder should be")

    Log(str(tmp_path)).write("error", "x")


def test_traceback_is_found_by_its_id(tmp_path: Path) -> None:
    log = Log(str(tmp_path))
    try:
        raise KeyError("gone")
    except KeyError as error:
        mark = log.traceback(error)

    assert f"id={mark}" in Path(log.path).read_text()
    assert "KeyError: 'gone'" in Path(log.path).read_text()
