"""Killed at any moment, Tongs leaves whole files behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.schema.document import parse

pytestmark = pytest.mark.full

ROUNDS = 150
# A cold `tool add` takes about this long, so that kills fall before, into and after the writing.
LONGEST = 0.25


@pytest.mark.timeout(300)
def test_kill_during_tool_add_leaves_whole_files_or_none(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(20261115)
    project, home = tmp_path / "project", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    text = "x" * 100_000
    finished = 0

    for number in range(ROUNDS):
        command = [sys.executable, "-m", "tongs", "tool", "add", f"t{number}"]
        options = ["--description", text, "--bash", "echo {A}", "--parameter", "A", "a"]
        process = subprocess.Popen(
            [*command, *options], cwd=project, env=env, stderr=subprocess.DEVNULL
        )
        time.sleep(chance.uniform(0, LONGEST))
        process.send_signal(signal.SIGKILL)
        finished += process.wait() == 0

    tools = sorted((project / ".tongs" / "tools").glob("*.yaml"))
    for path in tools:
        assert parse(path.read_bytes(), str(path)).data["description"] == text
    trust = json.loads((home / ".tongs" / "state" / "trust.json").read_bytes())
    assert {Path(path).suffix for path in trust} == {".yaml"}
    log = (project / ".tongs" / "audit" / "tools.log").read_text()
    assert all(line.startswith("[20") for line in log.splitlines())
    listed = subprocess.run(
        [sys.executable, "-m", "tongs", "tool", "list", "--json"],
        cwd=project,
        env=env,
        capture_output=True,
        check=True,
    )
    assert {entry["name"] for entry in json.loads(listed.stdout)} == {path.stem for path in tools}
    assert 0 < finished < ROUNDS
    record_property("killed", ROUNDS - finished)
    record_property("finished", finished)
    record_property("whole files", len(tools))
