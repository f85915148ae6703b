"""Killed at any step from the question to the run, no approval is lost and none is used twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.full

CRASH = str(Path(__file__).with_name("approval_crash.py"))
ROUNDS = 500
SEED = 20261115


@pytest.mark.timeout(900)
def test_kill_at_every_step_of_an_approval_loses_none_and_uses_none_twice(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    done = subprocess.run(
        [sys.executable, CRASH, str(tmp_path), str(ROUNDS), str(SEED)],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    outcome = json.loads(done.stdout)
    counts = outcome["counts"]
    assert outcome["wrong"] == []
    assert counts["killed"] + counts["not killed"] == ROUNDS
    assert counts["killed"] > ROUNDS * 3 // 4
    assert counts["found again"] > 0
    assert counts["asked again"] > 0
    for name in ("killed", "found again", "asked again", "ran"):
        record_property(name, counts[name])
