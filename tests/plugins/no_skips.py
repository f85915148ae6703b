"""A skipped test is a failed test when TONGS_NO_SKIPS=1, as the make targets set it.

A test that quietly skips because a kernel feature or a program is missing proves nothing, and
nobody reads the skip count. A run by hand (plain `pytest`) may still skip. An expected failure
(`xfail`) is no skip.
"""

import os
from collections.abc import Generator
from typing import TypeVar

import pytest

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)

STRICT = os.environ.get("TONGS_NO_SKIPS") == "1"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    return _fail_if_skipped((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    # A module that skips itself never reaches the hook above.
    return _fail_if_skipped((yield))


def _fail_if_skipped(report: Report) -> Report:
    if STRICT and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: skipped, and TONGS_NO_SKIPS=1 forbids it: {reason}"
    return report
