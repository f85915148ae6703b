"""Conversations that go on: by one process at a time, and nothing of them is lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.acceptance.conftest import SCRIPTED, Agent, Place, Run, Script
from tests.alive import started

SLOW = "description: s\nbash: 'sleep {word} & wait'\n"


@pytest.fixture
def talking(place: Place, script: Script) -> Iterator[subprocess.Popen[bytes]]:
    """A process that is in the middle of a call."""
    word = f"32{os.getpid() % 1000:03d}"
    place.tool("slow", SLOW.format(word=word), scope="user")
    running = subprocess.Popen(
        [sys.executable, SCRIPTED, script([["slow", {}]]), "run", "first", "--auto-approve", "*"],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    started(word)
    yield running
    running.kill()
    running.wait()


def the_one(tongs: Run) -> str:
    (listed,) = json.loads(tongs("chat", "--list", "--json").stdout)
    return str(listed["id"])


def test_no_second_process_goes_on_with_a_conversation(
    talking: subprocess.Popen[bytes], agent: Agent, tongs: Run
) -> None:
    name = the_one(tongs)
    done = agent(["two"], "second", "--continue")
    assert (done.stdout, done.code) == ("", 1)
    assert f"the conversation {name} is open in another process" in done.stderr
    assert f"tongs chat --continue {name} --copy" in done.stderr
    assert (
        len(json.loads(tongs("chat", "--export", name, "--format", "json").stdout)["messages"]) == 2
    )


def test_it_is_free_as_soon_as_the_first_process_is_gone(
    talking: subprocess.Popen[bytes], agent: Agent
) -> None:
    talking.kill()
    talking.wait()
    assert agent(["two"], "second", "--continue").code == 0


def test_a_copy_goes_on_beside_it(
    talking: subprocess.Popen[bytes], agent: Agent, tongs: Run, told: Callable[[], list[Any]]
) -> None:
    name = the_one(tongs)
    assert agent(["two"], "second", "--continue", "--copy").code == 0
    # The call is still under way in the other one, and has no answer that could be copied.
    assert [message.get("text") for message in told()[-1]] == ["first", "second"]
    copy, source = json.loads(tongs("chat", "--list", "--json").stdout)
    assert (source["id"], source["messages"]) == (name, 2)
    assert (copy["title"], copy["messages"]) == ("first", 3)


def test_a_copy_has_the_answers_to_calls(place: Place, agent: Agent, tongs: Run) -> None:
    place.tool("look", "description: look\nbash: echo seen\ntags: [read]\n", scope="user")
    assert agent([[["look", {}]], "fine"], "go", "--auto-approve", "tool:read").code == 0
    assert agent(["two"], "second", "--continue", "--copy").code == 0
    copy, source = (
        json.loads(tongs("chat", "--export", each["id"], "--format", "json").stdout)["messages"]
        for each in json.loads(tongs("chat", "--list", "--json").stdout)
    )
    assert copy[: len(source)] == source
    assert copy[len(source)]["text"] == "second"


def test_a_copy_is_one_of_something(agent: Agent, tongs: Run) -> None:
    assert "--copy belongs to" in agent(["x"], "y", "--copy").stderr
    assert "--copy belongs to" in tongs("chat", "--copy").stderr
