"""Keeps what came of the attacks: one table in bench/escape.md, with `-p tests.escape.table`."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

TABLE = Path(__file__).resolve().parents[2] / "bench" / "escape.md"

PROPERTY = "escape"
HELD = "held"
DECLARED = "declared"
OPEN = "open"

HEADER = """# What came of the attacks

Written by `pytest -p tests.escape.table tests/escape`. Held: nothing got through. Declared: it got
through, and the result of every such call says so (`notEnforced`). Open: it got through, and nobody
says so; the tests fail then.

| tier | user | topic | held | declared | open |
|---|---|---|---|---|---|
"""

Row = tuple[str, str, str]


class Table:
    def __init__(self) -> None:
        self.counts: dict[Row, Counter[str]] = {}
        self.user = "root" if os.geteuid() == 0 else "ordinary"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        for key, value in report.user_properties:
            if key == PROPERTY and isinstance(value, list):
                tier, topic, _, verdict = value
                for row in ((tier, self.user, topic), (tier, self.user, "all")):
                    self.counts.setdefault(row, Counter())[verdict] += 1

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.counts or hasattr(session.config, "workerinput"):
            return
        lines = {row: text for row, text in kept().items() if row[1] != self.user}
        for row, count in self.counts.items():
            numbers = " | ".join(str(count[name]) for name in (HELD, DECLARED, OPEN))
            lines[row] = f"| {' | '.join(row)} | {numbers} |"
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text(HEADER + "\n".join(lines[row] for row in sorted(lines)) + "\n")


def kept() -> dict[Row, str]:
    """The rows that are there already: root and an ordinary user write one after the other."""
    if not TABLE.exists():
        return {}
    found = {}
    for line in TABLE.read_text().splitlines()[len(HEADER.splitlines()) :]:
        tier, user, topic = (cell.strip() for cell in line.split("|")[1:4])
        found[tier, user, topic] = line
    return found


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Table(), "tongs-escape-table")
