"""Conversations that go on: by one process at a time, and nothing of them is lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.acceptance.conftest import SCRIPTED, Agent, Outcome, Place, Run, Script
from tests.alive import started
from tests.prepared import TONGS

# Runs a command where nothing below a folder can be written.
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && shift && exec "$@"'
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


def test_one_that_is_open_is_not_deleted(talking: subprocess.Popen[bytes], tongs: Run) -> None:
    name = the_one(tongs)
    assert tongs("chat", "--delete", name) == Outcome(
        "",
        f"error: the conversation {name} is open in another process\nhint: end it there first\n",
        1,
    )
    talking.kill()
    talking.wait()
    assert tongs("chat", "--delete", name) == Outcome("", f"deleted {name}: first\n", 0)


def test_conversations_are_deleted_by_their_ids(agent: Agent, tongs: Run) -> None:
    for prompt in ("one", "two", "three"):
        assert agent(["x"], prompt).code == 0
    third, second, first = json.loads(tongs("chat", "--list", "--json").stdout)
    assert tongs("chat", "--delete", first["id"], third["id"]) == Outcome(
        "", f"deleted {first['id']}: one\ndeleted {third['id']}: three\n", 0
    )
    assert the_one(tongs) == second["id"]
    assert agent(["x"], "go", "--conversation", first["id"]).code == 2


def test_an_id_that_nothing_has_deletes_nothing(agent: Agent, tongs: Run) -> None:
    assert agent(["x"], "one").code == 0
    name = the_one(tongs)
    assert tongs("chat", "--delete", name, "zzz") == Outcome(
        "", "error: there is no conversation `zzz`\nhint: tongs chat --list shows them\n", 2
    )
    assert the_one(tongs) == name


def test_to_delete_excludes_everything_else(tongs: Run) -> None:
    for other in (["--list"], ["--export", "1"], ["--continue"]):
        done = tongs("chat", "--delete", "1", *other)
        assert (done.code, "exclude each other" in done.stderr) == (2, True)


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


def test_what_is_exported_from_a_chat_has_its_title(agent: Agent, tongs: Run) -> None:
    assert agent(["x"], "how many\nare there?").code == 0
    assert tongs("chat", "--export", the_one(tongs)).stdout.startswith("# how many are there?\n")


def test_a_database_that_cannot_be_used_is_said(place: Place, agent: Agent, tongs: Run) -> None:
    place.state.mkdir(exist_ok=True)
    (place.state / "conversations.db").write_bytes(
        b"no database, and long enough to be read as one"
    )
    for done in (tongs("chat", "--list"), tongs("chat", "--export", "1"), agent(["x"], "go")):
        assert (done.stdout, done.code) == ("", 1)
        assert "conversations.db: file is not a database\nhint: its folder must be" in done.stderr


def test_a_state_folder_that_cannot_be_used_is_said(place: Place, agent: Agent) -> None:
    if place.state.exists():
        shutil.rmtree(place.state)
    place.state.write_text("in the way")
    done = agent(["x"], "go")
    assert (done.stdout, done.code) == ("", 1)
    assert "conversations cannot be read or kept in " in done.stderr


@pytest.fixture
def read_only(place: Place, tongs: Run) -> Run:
    """`read_only("chat", "--list")`: with a state folder in which nothing can be written."""
    namespace = ("--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "_")

    def run(*arguments: str) -> Outcome:
        return tongs(*namespace, str(place.state), TONGS, *arguments, command="unshare")

    return run


def test_conversations_are_read_where_nothing_can_be_written(
    agent: Agent, tongs: Run, read_only: Run
) -> None:
    assert agent(["fine"], "how is it?").code == 0
    name = the_one(tongs)
    for reading in (("--list",), ("--list", "--json"), ("--export", name), ("--export", "zzz")):
        assert read_only("chat", *reading) == tongs("chat", *reading)
    deleted = read_only("chat", "--delete", name)
    assert (deleted.code, "Read-only file system" in deleted.stderr) == (1, True)
    assert the_one(tongs) == name


def test_one_that_goes_on_is_read_where_nothing_can_be_written(
    talking: subprocess.Popen[bytes], tongs: Run, read_only: Run
) -> None:
    assert read_only("chat", "--export", the_one(tongs)).stdout.startswith("# first\n")


def test_reading_makes_no_file(place: Place, tongs: Run) -> None:
    assert tongs("chat", "--list").stderr == "no conversation is kept\n"
    assert tongs("chat", "--export", "1").code == tongs("chat", "--delete", "1").code == 2
    assert not list(place.state.glob("conversations.*"))


def test_tags_that_no_tool_has_are_said(agent: Agent) -> None:
    done = agent(["x"], "go", "--tags", "nope")
    assert (done.stdout, done.code) == ("", 2)
    assert "no tool has one of the tags: nope" in done.stderr
