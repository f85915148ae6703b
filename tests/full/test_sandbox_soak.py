"""Calls by the thousand, at once, while their processes are killed: nothing of them is left."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from tests.full.sandbox_soak import CALM, PARTS

CHECKOUT = Path(__file__).resolve().parents[2]
WARM_UP = 3  # parts until caches and allocator arenas are filled
ROOM = 1024  # KiB


@pytest.mark.full
@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("tier", "calls"), [("namespaces", 20_000), ("landlock", 4000)], ids=["tier A", "tier B"]
)
def test_random_kills_leave_nothing_behind(
    tier: str, calls: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.full.sandbox_soak", tier, str(calls), str(tmp_path / "soak")],
        cwd=CHECKOUT,
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)

    ended, struck = found["ended"], found["struck"]
    record_property("calls", sum(ended.values()))
    for name, count in {**ended, **{f"struck {what}": n for what, n in struck.items()}}.items():
        record_property(name, count)
    assert found["wrong"] == []
    assert sum(ended.values()) == calls
    # Everything that can happen to a call happened, and often.
    for name in ("done", "out of time", "cancelled", "killed", "lost"):
        assert ended[name] > calls / 400, ended
    assert ended.get("not started", 0) < calls / 500, ended
    for name in ("server", "supervisor", "payload"):
        assert struck[name] >= calls / 2000, struck
    # No process, zombie, descriptor, mount, file or cgroup.
    assert found["alive"] == []
    assert found["after"] == found["before"]
    assert {server["descriptors"] for server in found["servers"]} == {5}
    assert all(server["mounts"] == found["before"]["mounts"] for server in found["servers"])
    grown = {
        "tongs": _growth([sample["tongs"] for sample in found["kib"][WARM_UP:]]),
        "server": _growth([sample["server"] for sample in found["kib"][PARTS - CALM :]]),
    }
    record_property("KiB grown", grown["tongs"])
    record_property("KiB grown, fork server", grown["server"])
    assert max(grown.values()) <= ROOM, found["kib"]


def _growth(samples: list[int]) -> float:
    quarter = max(1, len(samples) // 4)
    return median(samples[-quarter:]) - median(samples[:quarter])
