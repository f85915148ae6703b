"""The MCP conformance suites with the gateway as the client, in both eras.

`make test-full` fetches the suites; `client.py` is what they start. What is expected to fail stands
in `expected_client.yml`, as in test_mcp_server.py.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
NODE = ROOT / ".suites" / "node"

# Which suite, for which revision of the protocol, and how many checks have to pass, so that none is
# left out unseen. What is a draft or an extension there is no part of a revision.
RUNS = {
    "0.1.16": ("conformance-1", "2025-11-25", 8),
    "0.2.0-alpha.12 for 2025-11-25": ("conformance-2", "2025-11-25", 12),
    "0.2.0-alpha.12 for 2026-07-28": ("conformance-2", "2026-07-28", 30),
}
# A suite would start all of them at once.
AT_ONCE = 2
Record = Callable[[str, object], None]


@pytest.mark.parametrize("run", RUNS)
def test_mcp_conformance_as_client(run: str, tmp_path: Path, record_property: Record) -> None:
    suite, revision, least = RUNS[run]
    tried = Suite(suite, revision, tmp_path)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(tried.run, tried.scenarios()))

    found = tried.checks()
    failed = sorted(check for check, status in found.items() if status == "FAILURE")
    passed = [check for check, status in found.items() if status == "SUCCESS"]
    record_property("passed", len(passed))
    record_property("expected failures", len(failed))
    kept = yaml.safe_load((HERE / "expected_client.yml").read_text(encoding="utf-8"))
    expected = [check for each in kept if run in each["runs"] for check in each["checks"]]
    assert [check for check in failed if not _any(check, expected)] == []
    assert [each for each in expected if not any(fnmatchcase(one, each) for one in failed)] == []
    assert len(passed) >= least


class Suite:
    """One suite, whose findings lie in a folder."""

    def __init__(self, suite: str, revision: str, folder: Path) -> None:
        self._program = NODE / "node_modules" / suite / "dist" / "index.js"
        self._revision = revision
        self._folder = folder
        self._client = folder / "client"
        self._client.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{HERE / "client.py"}" "$@"\n')
        self._client.chmod(0o755)

    def scenarios(self) -> list[str]:
        """All that the suite has for a client of this revision."""
        listed = self._output("list").partition("Client scenarios")[2].partition("\n\n")[0]
        lines = re.findall(r"- (\S+) \[(.*)\]", listed)
        return [name for name, revisions in lines if self._revision in revisions.split(",")]

    def run(self, scenario: str) -> None:
        words = ["client", "--command", str(self._client), "--scenario", scenario]
        if "alpha" in self._output("--version"):
            words += ["--spec-version", self._revision]
        self._output(*words, "--timeout", "90000", "-o", str(self._folder / "found"))

    def checks(self) -> dict[str, str]:
        """Each check by its scenario and id; the worst of those with the same one."""
        found: dict[str, str] = {}
        for file in sorted((self._folder / "found").rglob("checks.json")):
            # auth/NAME-2026-11-15T…
            place = file.parent.relative_to(self._folder / "found").as_posix()
            scenario = re.sub(r"-\d{4}-\d\d-\d\dT.*$", "", place)
            for check in json.loads(file.read_text(encoding="utf-8")):
                name = f"{scenario}: {check['id']}"
                found[name] = min(found.get(name, "SUCCESS"), check["status"])
        return found

    def _output(self, *words: str) -> str:
        path = f"{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            ["node", str(self._program), *words],
            env={"PATH": path, "HOME": str(self._folder), "PYTHONPATH": str(ROOT)},
            capture_output=True, text=True, timeout=200, check=False,
        ).stdout  # fmt: skip


def _any(check: str, expected: list[str]) -> bool:
    return any(fnmatchcase(check, each) for each in expected)
