"""The races of tests/unit/builtin, for longer and with more than one order of events."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import races

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]


@pytest.mark.parametrize("whole", [True, False], ids=["openat2", "parts"])
@pytest.mark.parametrize("seed", [11, 12])
def test_nothing_outside_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int, whole: bool
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TONGS_HOME", str(tmp_path / "user"))
    monkeypatch.setattr("tongs.sandbox.beneath._walks_whole", lambda: whole)

    ended = races.race(tmp_path, seconds=40, seed=seed)

    assert ended["ok"] > 500, ended
    assert ended["INVALID_PATH"] > 200, ended
    assert "INTERNAL_ERROR" not in ended
