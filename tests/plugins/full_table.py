"""Keeps what the long tests measured: one table in bench/full.md, written by `make test-full`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

TABLE = Path(__file__).resolve().parents[2] / "bench" / "full.md"


class Table:
    def __init__(self) -> None:
        self.rows: list[tuple[str, str, str, str]] = []
        # What the other tests counted, added up.
        self.sums: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        # Not by the keywords: the name of the checkout's own folder is one of them.
        if not report.nodeid.startswith(("tests/full/", "tests/conformance/")):
            counted = {name: n for name, n in report.user_properties if isinstance(n, int)}
            self.sums.update(counted)
            return
        measured = ", ".join(f"{name} {value}" for name, value in report.user_properties)
        name = report.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " ")
        self.rows.append((name, report.outcome, f"{report.duration:.0f} s", measured or "—"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.rows or hasattr(session.config, "workerinput"):
            return
        lines = ["# The long tests", "", "Written by `make test-full`.", ""]
        lines += ["| test | outcome | took | measured |", "|---|---|---|---|"]
        lines += [f"| {' | '.join(row)} |" for row in sorted(self.rows)]
        lines += ["", "Counted by the other tests, which all passed or the run failed:", ""]
        lines += [f"- {name}: {count:,}" for name, count in sorted(self.sums.items())]
        TABLE.parent.mkdir(exist_ok=True)
        TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Table(), "tongs-full-table")
