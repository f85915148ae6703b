"""Killed at any moment, and written by many: one chain, and no call without its record."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.audit.verify import entries, verify

pytestmark = pytest.mark.full

ROUNDS = 300
WRITERS = 4
THREADS = 4
EACH = 2000

# Makes calls until it is killed; each call leaves a file of its own name behind.
CALLS = """
import os, sys
from tongs import Runtime
with Runtime.open(sys.argv[1], auto_approve=["*"]) as runtime:
    print("ready", flush=True)
    while True:
        runtime.call_sync("mark", ID=os.urandom(6).hex())
"""

APPENDS = """
import sys, threading
from tongs.audit.chain import Chain
chain = Chain(sys.argv[1], largest=200_000)
def write(number):
    for count in range(int(sys.argv[2])):
        padding = "x" * (count % 50 * 100)
        chain.append(f'"event":"X","writer":{number},"count":{count},"x":"{padding}"')
threads = [threading.Thread(target=write, args=(n,)) for n in range(int(sys.argv[3]))]
print("ready", flush=True)
for thread in threads: thread.start()
for thread in threads: thread.join()
chain.close()
"""


@pytest.mark.timeout(900)
def test_kill_of_calling_processes_leaves_no_call_without_its_start_record(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(20261115)
    home, project = tmp_path / "home", tmp_path / "project"
    tools = home / ".tongs" / "tools"
    tools.mkdir(parents=True)
    (project / ".git").mkdir(parents=True)
    (tools / "mark.yaml").write_text(
        "run: mkdir done/{ID}\nparameters: {ID: {type: string}}\ntags: [write]\n"
    )
    (project / "done").mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    folder = home / ".tongs" / "state" / "audit"
    began = time.monotonic()
    kills = 0

    while kills < ROUNDS and time.monotonic() - began < 600:
        running = [_started(CALLS, project, env=env) for _ in range(2)]
        time.sleep(chance.uniform(0, 0.3))
        for process in running:
            kills += _killed(process)

    found = verify(str(folder))
    assert [finding for finding in found.findings if not finding.note] == []
    begun = {
        entry.data()["arguments"]["ID"]
        for entry in entries(str(folder))
        if entry.data()["event"] == "TOOL_STARTED"
    }
    done = {path.name for path in (project / "done").iterdir()}
    assert done
    assert done <= begun
    record_property("killed", kills)
    record_property("records", found.records)
    record_property("calls begun", len(begun))
    record_property("calls that ran", len(done))
    record_property("torn lines", len(found.findings))


@pytest.mark.timeout(600)
def test_kill_of_writing_processes_leaves_one_chain(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    chance = random.Random(1)
    kills = 0
    began = time.monotonic()

    while kills < ROUNDS and time.monotonic() - began < 300:
        running = [_started(APPENDS, tmp_path, "100000", "2") for _ in range(3)]
        time.sleep(chance.uniform(0, 0.05))
        for process in running:
            kills += _killed(process)

    found = verify(str(tmp_path))
    assert [finding for finding in found.findings if not finding.note] == []
    record_property("killed", kills)
    record_property("records", found.records)
    record_property("files", found.files)
    record_property("torn lines", len(found.findings))


@pytest.mark.timeout(300)
def test_processes_and_threads_write_one_chain(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    began = time.monotonic()
    running = [_started(APPENDS, tmp_path, str(EACH), str(THREADS)) for _ in range(WRITERS)]
    for process in running:
        assert process.wait() == 0
        assert process.stdout is not None
        process.stdout.close()
    took = time.monotonic() - began

    found = verify(str(tmp_path))
    assert found.findings == []
    written = [entry.data() for entry in entries(str(tmp_path))]
    assert sum(record["event"] == "X" for record in written) == WRITERS * THREADS * EACH
    assert [record["seq"] for record in written] == list(range(1, len(written) + 1))
    record_property("records", found.records)
    record_property("files", found.files)
    record_property("records per second", round(found.records / took))


def _started(
    program: str, folder: Path, *words: str, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", program, folder, *words],
        env=env,
        cwd=folder,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    return process


def _killed(process: subprocess.Popen[bytes]) -> int:
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert process.stdout is not None
    process.stdout.close()
    return process.returncode == -signal.SIGKILL
