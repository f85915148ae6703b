"""The chat and `tongs run` are ended from outside: nothing goes on, nothing is lost."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from tests.acceptance.conftest import SCRIPTED, Place, Run, Script, Show
from tests.alive import ended, started
from tests.screen import Screen

SLOW = "description: s\nbash: 'echo it began; sleep {word} & wait'\ntags: [read]\n"
WORD = f"33{os.getpid() % 1000:03d}"


@pytest.fixture
def begun(place: Place, screen: Show, script: Script) -> Screen:
    """A chat at its prompt."""
    place.tool("slow", SLOW.format(word=WORD), scope="user")
    file = script([["slow", {}]], "never")
    words = (SCRIPTED, file, "chat", "--auto-approve", "tool:read")
    shown = screen(*words, command=(sys.executable,))
    shown.wait_for("Ctrl-D ends")
    return shown


@pytest.fixture
def in_a_call(begun: Screen) -> tuple[Screen, list[int]]:
    begun.type("go\r")
    begun.wait_for("| it began")
    return begun, started(WORD)


def last_said(tongs: Run) -> str:
    name = tongs("chat", "--list").stdout.splitlines()[1].split()[0]
    return tongs("chat", "--export", name).stdout


def test_sigterm_in_a_call_ends_the_chat_with_a_line_and_leaves_the_terminal_as_it_was(
    in_a_call: tuple[Screen, list[int]], tongs: Run
) -> None:
    chat, pids = in_a_call
    chat.signal(signal.SIGTERM)
    chat.wait_for("kept: tongs chat --continue ")
    assert chat.echoes()
    assert chat.end() == 130
    assert "stopped: nothing of it runs any more\nended: by SIGTERM\n" in chat.text
    assert ended(pids)
    assert "CANCELLED" in last_said(tongs)


def test_sigterm_at_the_prompt_ends_the_chat(begun: Screen) -> None:
    begun.signal(signal.SIGTERM)
    begun.wait_for("ended: by SIGTERM")
    assert begun.echoes()
    assert begun.end() == 130


def test_a_terminal_that_is_closed_in_a_call_ends_the_chat_and_the_call(
    in_a_call: tuple[Screen, list[int]], tongs: Run, place: Place
) -> None:
    chat, pids = in_a_call
    assert chat.hang_up() == 130
    assert ended(pids)
    assert "CANCELLED" in last_said(tongs)
    assert not (place.state / "log" / "tongs.log").exists()


def test_a_terminal_that_is_closed_at_the_prompt_ends_the_chat(begun: Screen, place: Place) -> None:
    assert begun.hang_up() == 130
    assert not (place.state / "log" / "tongs.log").exists()


def test_a_terminal_that_is_closed_ends_a_run(
    place: Place, screen: Show, script: Script, tongs: Run
) -> None:
    place.tool("slow", SLOW.format(word=WORD), scope="user")
    words = (SCRIPTED, script([["slow", {}]]), "run", "go", "--auto-approve", "tool:read")
    shown = screen(*words, command=(sys.executable,))
    # A person sees what a tool puts out while it runs.
    shown.wait_for("call: slow\n  | it began")
    shown.wait_for("  | … slow runs, nothing new for ")
    assert "\\x1b" not in shown.text
    pids = started(WORD)
    assert shown.hang_up() == 130
    assert ended(pids)
    assert "CANCELLED" in last_said(tongs)
