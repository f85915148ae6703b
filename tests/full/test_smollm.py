"""A real model on this machine: it calls tools, people are asked, walls hold, and it answers.

`make smollm` fetches it. Which tool it picks, and whether it picks one, is its own affair; the
model named CALLS_FIRST always calls one before it answers.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.acceptance.conftest import TONGS, Place, Run, Show
from tests.full.smollm import CALLS_FIRST, FREE
from tests.tmux import Tmux

pytestmark = [pytest.mark.full, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv" / "smollm" / "bin" / "python"
PROMPT = "What is the weather in Paris?"
QUESTION = "[a]llow once"
# It would like to leave a mark outside the project.
WEATHER = """\
description: Gives the weather in a city
bash: |
  touch "$MARK" 2>/dev/null
  echo 17 degrees and rain in {CITY}
environment: {MARK: '%s'}
parameters: {CITY: {description: Name of the city}}
tags: [write]
"""
COUNT = """\
description: Counts the letters of a word
bash: printf %s {WORD} | wc -c
parameters: {WORD: {description: The word}}
tags: [read]
"""
# The model is slow where the machine is busy.
PATIENCE = 60


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    assert PYTHON.exists(), "hint: make smollm"
    serving = subprocess.Popen(
        [PYTHON, "-m", "tests.full.smollm"],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with serving:
        assert serving.stdout is not None
        yield serving.stdout.readline().strip()


@pytest.fixture
def mark(place: Place) -> Path:
    """What the tool `weather` would make if nothing held it."""
    path = place.home / "mark"
    place.tool("weather", WEATHER % path, scope="user")
    place.tool("count_letters", COUNT, scope="user")
    return path


@pytest.fixture
def tmux(place: Place) -> Iterator[Tmux]:
    session = Tmux(place.project, place.env, rows=40)
    yield session
    session.close()


def of(address: str, model: str = CALLS_FIRST) -> tuple[str, ...]:
    return ("--model", f"openai-compatible:{model}", "--base-url", address)


def events(tongs: Run) -> list[tuple[str, Any]]:
    """What the audit log has of the calls, and with which arguments where it says so."""
    found: list[dict[str, Any]] = json.loads(tongs("audit", "list", "--json").stdout)
    return [(each["event"], each.get("arguments")) for each in found if "tool" in each]


def allowed(address: str, screen: Show) -> str:
    """What stands on the terminal after a person has allowed the call: that it ran, the answer."""
    shown = screen("run", PROMPT, *of(address), "--tools", "weather")
    shown.wait_for(QUESTION, PATIENCE)
    assert "weather wants to run (asked by: model" in shown.text
    shown.type("a\n")
    assert shown.end(PATIENCE) == 0
    return shown.text


def test_a_question_leads_to_an_approved_confined_call_and_an_answer_with_its_result(
    address: str, mark: Path, tongs: Run, screen: Show
) -> None:
    _, answer = allowed(address, screen).split("done: weather")

    assert "17 degrees" in answer
    assert not mark.exists()
    asked, approved, started, executed = events(tongs)
    assert asked[0] == "APPROVAL_REQUESTED"
    assert list(asked[1]) == ["CITY"]
    assert approved == ("TOOL_APPROVED", None)
    assert started == ("TOOL_STARTED", asked[1])
    assert executed == ("TOOL_EXECUTED", None)


def test_without_walls_the_same_call_leaves_its_mark(
    place: Place, address: str, mark: Path, screen: Show
) -> None:
    (place.user / "config.yml").write_text("security: {enforcement: off}\n")

    assert "done: weather" in allowed(address, screen)

    assert mark.exists()


def test_a_call_is_edited_in_the_chat_and_the_answer_has_the_result_of_what_ran(
    address: str, mark: Path, tongs: Run, tmux: Tmux
) -> None:
    tmux.wait_for("$")
    options = " ".join(of(address))
    tmux.line(f"clear; {TONGS} chat {options} --tools weather; echo exit $?")
    tmux.wait_for("Ctrl-D ends")
    tmux.line(PROMPT)
    tmux.wait_for(QUESTION, PATIENCE)
    tmux.keys("e", "Enter")
    tmux.wait_for("Ctrl-S: run with these arguments")
    # Whatever the model wrote, the person writes it all anew.
    tmux.keys(*["BSpace"] * 60)
    tmux.keys(literal='{"CITY": "Oslo"}')
    tmux.wait_for('{"CITY": "Oslo"}')
    tmux.keys("C-s")
    text = tmux.wait_for("done: weather", PATIENCE)
    assert "  | 17 degrees and rain in Oslo\n" in text
    tmux.wait_for("Ctrl-D ends", PATIENCE)
    tmux.keys("C-d")
    text = tmux.wait_for("exit 0")

    _, answer = text.split("done: weather")
    assert "17 degrees" in answer
    assert ("TOOL_STARTED", {"CITY": "Oslo"}) in events(tongs)


@pytest.mark.usefixtures("mark")
def test_whatever_it_picks_every_call_is_valid_and_answered(address: str, tongs: Run) -> None:
    tools = ("--tools", "weather,count_letters", "--auto-approve", "*")

    done = tongs("run", PROMPT, *of(address, FREE), *tools, "--json")

    assert done.code == 0, done.stderr
    said = [json.loads(line) for line in done.stdout.splitlines()]
    calls = [each for each in said if each["event"] == "call"]
    results = [each for each in said if each["event"] == "result"]
    assert [each["id"] for each in calls] == [each["id"] for each in results]
    assert all(each["ok"] for each in results)
    assert said[-1]["outcome"] == "ended"
    assert said[-1]["text"]
