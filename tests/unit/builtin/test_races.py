"""A second process swaps what the tools name; nothing outside is read or touched."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import races


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TONGS_HOME", str(tmp_path / "user"))


def test_tools_stay_inside_while_everything_is_swapped(tmp_path: Path) -> None:
    ended = races.race(tmp_path, seconds=4, seed=6)

    # Both happened, so the race was real and the tools were still of use.
    assert ended["ok"] > 50, ended
    assert ended["INVALID_PATH"] > 20, ended
    assert "INTERNAL_ERROR" not in ended


def test_without_openat2_tools_stay_inside_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongs.sandbox.beneath._walks_whole", lambda: False)

    ended = races.race(tmp_path, seconds=2, seed=7)

    assert ended["ok"] > 10, ended
    assert "INTERNAL_ERROR" not in ended


def test_looking_first_and_opening_then_does_get_out(tmp_path: Path) -> None:
    """The twin: the same swaps, against a tool that checks a path and then opens it."""
    escaped = races.naive(tmp_path, seconds=30, seed=6)

    assert set(escaped) == {"read outside", "wrote outside"}
