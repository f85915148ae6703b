"""Many processes answer one question: one answer wins, and one call runs with it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.store.test_approvals import REQUEST

from tongs.store.approvals import ApprovalStore

RACER = str(Path(__file__).with_name("approval_racer.py"))
RACERS = 24


def test_of_many_answers_one_wins_and_one_call_runs_with_it(tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    question = ApprovalStore(state).ask(REQUEST, 0, awaited=False).id
    racers = [
        subprocess.Popen(
            [sys.executable, RACER, state, question, str(number)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(RACERS)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"

    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
    outcomes = []
    for racer in racers:
        assert racer.stdout is not None
        outcomes.append(json.loads(racer.stdout.read()))
        racer.stdout.close()
        assert racer.wait() == 0

    (winner,) = [outcome for outcome in outcomes if outcome["answered"]]
    (ran,) = [outcome for outcome in outcomes if outcome["spent"]]
    assert ran["ran"] == {"BY": winner["number"]}
    assert ApprovalStore(state).state_of(question) == "used"
