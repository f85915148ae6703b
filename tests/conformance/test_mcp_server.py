"""The MCP conformance suites against `tongs mcp serve --http`, in both eras.

`make test-full` fetches the suites. The tools that they call lie in `tools/`. What they ask for and
Tongs does not offer stands in `expected_server.yml`, each with its reason, down to the single
check: one that fails and is not listed fails the test, and so does one that is listed and passes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
import yaml
from tests.mcp_http import Serving

pytestmark = pytest.mark.full

HERE = Path(__file__).resolve().parent
NODE = HERE.parents[1] / ".suites" / "node"
UNASKED = "test_simple_text,test_error_handling,test_tool_with_progress,test_logging_tool"
UNASKED += ",json_schema_2020_12_tool,test_x_mcp_header"

# Which suite, against which server; how many checks have to pass, so that none is left out unseen.
RUNS = {
    "0.1.16 with sessions": ("conformance-1", ["--suite", "active"], ["--sessions"], 12),
    "0.1.16 without sessions": ("conformance-1", ["--suite", "active"], [], 9),
    "0.2.0-alpha.12 for 2025-11-25": (
        "conformance-2", ["--spec-version", "2025-11-25"], ["--sessions"], 40),
    "0.2.0-alpha.12 for 2026-07-28": (
        "conformance-2", ["--requirements", "2026-07-28"], [], 110),
}  # fmt: skip
Record = Callable[[str, object], None]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    shutil.copytree(HERE / "tools", tmp_path / "user" / "tools")
    for name in ("home", "project"):
        (tmp_path / name).mkdir()
    return {
        "PATH": f"{NODE / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "TONGS_HOME": str(tmp_path / "user"),
        "TONGS_GLOBAL": str(tmp_path / "global"),
    }


@pytest.mark.parametrize("run", RUNS)
def test_mcp_conformance_as_server(
    run: str, world: dict[str, str], tmp_path: Path, record_property: Record
) -> None:
    suite, wanted, options, least = RUNS[run]

    with Serving("--auto-approve", UNASKED, *options, cwd=tmp_path / "project", env=world) as tongs:
        found = _checks(suite, tongs.url, wanted, tmp_path / "found", world)

    failed = sorted(check for check, status in found.items() if status == "FAILURE")
    passed = [check for check, status in found.items() if status == "SUCCESS"]
    record_property("passed", len(passed))
    record_property("expected failures", len(failed))
    expected = _expected(run)
    assert [check for check in failed if not _listed(check, expected)] == []
    assert [each for each in expected if not _listed_any(each, failed)] == []
    assert len(passed) >= least


def _checks(
    suite: str, url: str, wanted: list[str], folder: Path, env: dict[str, str]
) -> dict[str, str]:
    """Each check by its scenario and id; the worst of those with the same one."""
    program = NODE / "node_modules" / suite / "dist" / "index.js"
    done = subprocess.run(
        ["node", str(program), "server", "--url", url, *wanted, "-o", str(folder)],
        env=env, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert "=== SUMMARY ===" in done.stdout, done.stdout + done.stderr
    found: dict[str, str] = {}
    for file in sorted(folder.rglob("checks.json")):
        # server-NAME-2026-11-15T…
        scenario = re.sub(r"^server-|-\d{4}-\d\d-\d\dT.*$", "", file.parent.name)
        for check in json.loads(file.read_text(encoding="utf-8")):
            name = f"{scenario}: {check['id']}"
            found[name] = min(found.get(name, "SUCCESS"), check["status"])
    return found


def _expected(run: str) -> list[str]:
    kept = yaml.safe_load((HERE / "expected_server.yml").read_text(encoding="utf-8"))
    return [check for each in kept if run in each["runs"] for check in each["checks"]]


def _listed(check: str, expected: list[str]) -> bool:
    return any(fnmatchcase(check, each) for each in expected)


def _listed_any(each: str, failed: list[str]) -> bool:
    return any(fnmatchcase(check, each) for check in failed)
