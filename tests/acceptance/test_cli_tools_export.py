"""`tongs tools export`."""

from __future__ import annotations

import json

import pytest
from tests.acceptance.conftest import Place, Run

WEATHER = """\
description: Tell the weather
bash: echo {CITY}
parameters:
  CITY: {description: Where, minLength: 2}
tags: [read, social]
"""
OTHER = "description: Something else\nbash: echo\n"


@pytest.fixture(autouse=True)
def tools(place: Place) -> None:
    place.tool("weather", WEATHER, scope="user")
    place.tool("other", OTHER, scope="user")
    place.tool("stranger", OTHER)


@pytest.mark.parametrize(
    "form", ["openai", "openai-responses", "openai-flat", "anthropic", "gemini", "mcp"]
)
def test_every_format_is_json_on_stdout(tongs: Run, form: str) -> None:
    done = tongs("tools", "export", "--format", form, "--tools", "weather,other")

    assert done.code == 0
    text = json.dumps(json.loads(done.stdout))
    assert "weather" in text
    assert "other" in text


def test_markdown_is_a_page(tongs: Run) -> None:
    done = tongs("tools", "export", "--format", "markdown", "--tags", "social")

    assert done.stdout.startswith("# Tools\n\n## weather\n\nTell the weather\n")


def test_what_is_lost_is_said_on_stderr(tongs: Run) -> None:
    done = tongs("tools", "export", "--format", "openai", "--strict", "--tools", "weather")

    assert json.loads(done.stdout)[0]["function"]["strict"] is True
    assert done.stderr == "warning: weather: /CITY: `minLength` is only told in words\n"


def test_stranger_is_not_offered(tongs: Run) -> None:
    done = tongs("tools", "export", "--format", "openai-flat")

    names = [each["name"] for each in json.loads(done.stdout)]
    assert {"weather", "other"} <= set(names)
    assert "stranger" not in names


def test_limit_leaves_the_search_for_the_others(tongs: Run) -> None:
    done = tongs("tools", "export", "--format", "openai-flat", "--limit", "2")

    assert [each["name"] for each in json.loads(done.stdout)][-1] == "tools_search"


def test_nothing_to_export_is_said(tongs: Run) -> None:
    done = tongs("tools", "export", "--format", "openai", "--tags", "no-such-tag")

    assert (done.code, json.loads(done.stdout)) == (0, [])
    assert "no tool fits" in done.stderr


def test_unknown_tool_and_missing_format_are_usage_errors(tongs: Run) -> None:
    unknown = tongs("tools", "export", "--format", "mcp", "--tools", "weathr")
    missing = tongs("tools", "export")

    assert (unknown.code, "did you mean `weather`?" in unknown.stderr) == (2, True)
    assert (missing.code, "--format is missing" in missing.stderr) == (2, True)
