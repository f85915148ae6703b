"""`tongs schema`, through the real command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.acceptance.conftest import Outcome, Run

NAMES = ("yaml", "manifest", "description", "config", "server")


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_printed_as_it_ships(tongs: Run, name: str) -> None:
    path = Path(tongs("schema", name, "--path").stdout.strip())

    assert tongs("schema", name) == Outcome(path.read_text(), "", 0)
    assert json.loads(path.read_text())["$schema"].endswith("2020-12/schema")


def test_all_schemas_are_listed_with_their_paths(tongs: Run) -> None:
    rows = json.loads(tongs("schema", "--json").stdout)
    lines = tongs("schema").stdout.splitlines()

    assert [row["name"] for row in rows] == list(NAMES)
    assert lines[0].split() == ["NAME", "DESCRIBES", "PATH"]
    assert [line.split()[0] for line in lines[1:]] == list(NAMES)
    assert tongs("schema", "--path").stdout.splitlines() == [row["path"] for row in rows]


def test_an_unknown_schema_is_a_usage_error(tongs: Run) -> None:
    outcome = tongs("schema", "tool")

    assert (outcome.stdout, outcome.code) == ("", 2)
    assert "yaml" in outcome.stderr


def test_a_broken_config_keeps_nobody_from_reading_a_schema(tongs: Run) -> None:
    assert tongs("schema", "config", env={"TONGS_HOME": "/proc/self"}).code == 0
