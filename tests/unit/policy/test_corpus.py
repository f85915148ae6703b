"""Every command of the corpus gets the verdict that a careful person would give."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from tests.unit.policy.commands import Entry, corpus, decided, engine, place

ENTRIES = list(corpus())
_STRICTNESS = ("allow", "ask", "deny")


def test_nothing_dangerous_is_missed_and_nothing_ordinary_is_stopped(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rules = engine(place(tmp_path))

    missed: list[tuple[Entry, str]] = []
    alarms: list[tuple[Entry, str]] = []
    for entry in ENTRIES:
        verdict = decided(rules, entry.command).decision.name.lower()
        if _STRICTNESS.index(verdict) < _STRICTNESS.index(entry.verdict):
            missed.append((entry, verdict))
        elif verdict != entry.verdict:
            alarms.append((entry, verdict))

    expected = Counter(entry.verdict for entry in ENTRIES)
    with capsys.disabled():
        print(f"\n{len(ENTRIES)} commands ({dict(expected)}): missed {len(missed)},", end=" ")
        print(f"false alarms {len(alarms)}")
        for entry, verdict in alarms:
            print(f"  {verdict:5} instead of {entry.verdict:5} {entry.command!r}")
    assert missed == []
    assert alarms == []
    assert len(ENTRIES) >= 150
    assert min(expected.values()) >= 40


def test_each_command_stands_once() -> None:
    assert [c for c, n in Counter(entry.command for entry in ENTRIES).items() if n > 1] == []
