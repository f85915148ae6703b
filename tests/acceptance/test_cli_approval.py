"""A person answers on a terminal."""

from collections.abc import Iterator

import pytest
from tests.acceptance.conftest import TONGS, Place, Show
from tests.tmux import Tmux

TEXT = (
    "bash: echo to {WHO} {RAW:CMD}\n"
    "parameters:\n  WHO: {}\n  CMD: {default: ''}\n  N: {type: integer, default: 1}\n"
    "approval: {required: true, reason: it is loud}\npermissions: {fs: {read: [.]}}\n"
)
QUESTION = "[a]llow once  [e]dit  [A]lways  [N]ever  [d]eny  [?]: "


def test_the_question_shows_the_command_and_the_permissions(place: Place, screen: Show) -> None:
    place.tool("shout", TEXT, scope="user")
    shown = screen("tool", "run", "shout", "WHO=me", "CMD=; date \u202e")
    shown.wait_for(QUESTION)
    assert "shout wants to run (asked by: user, rule: approval.required)\n" in shown.text
    assert "reason: it is loud\n" in shown.text
    assert 'CMD  "; date \\u202e"   RAW: inserted as code\n' in shown.text
    assert f"network: off   reads: {place.project}   writes: none   secrets: none\n" in shown.text
    assert "echo to" in shown.text
    shown.type("d too loud\n")
    assert shown.end() == 3
    assert "denied: shout was not run: terminal denied it (too loud)" in shown.text


def test_allowed_once_it_runs_once(place: Place, screen: Show) -> None:
    place.tool("shout", TEXT, scope="user")
    for _ in range(2):
        shown = screen("tool", "run", "shout", "WHO=me")
        shown.wait_for(QUESTION)
        shown.type("a\n")
        assert shown.end() == 0
        assert shown.text.endswith("to me\n")


def test_edited_arguments_are_checked_again(place: Place, screen: Show) -> None:
    place.tool("shout", TEXT, scope="user")
    shown = screen("tool", "run", "shout", "WHO=me", env={"TERM": "dumb"})
    shown.wait_for(QUESTION)
    shown.type("e\n")
    shown.wait_for("(empty: back): ")
    shown.type('{"WHO": "you", "N": "many"}\n')
    assert shown.end() == 2
    assert "shout was not run: N " in shown.text


def test_the_result_can_be_json_while_a_person_is_asked(place: Place, screen: Show) -> None:
    place.tool("shout", TEXT, scope="user")
    out = place.project / "out.json"
    with out.open("wb") as file:
        shown = screen("tool", "run", "shout", "WHO=me", "--json", stdout=file.fileno())
        shown.wait_for(QUESTION)
        shown.type("a\n")
        assert shown.end() == 0
    assert '"output": "to me\\n"' in out.read_text(encoding="utf-8")


@pytest.fixture
def tmux(place: Place) -> Iterator[Tmux]:
    session = Tmux(place.project, place.env)
    yield session
    session.close()


def test_an_approval_is_edited_by_keys_in_a_real_terminal(place: Place, tmux: Tmux) -> None:
    place.tool("shout", TEXT, scope="user")
    tmux.wait_for("$")
    tmux.keys("Enter", literal=f"clear; {TONGS} tool run shout WHO=world; echo exit $?")
    tmux.wait_for(QUESTION.strip())
    tmux.keys("e", "Enter")
    tmux.wait_for("Ctrl-S: run with these arguments")
    # From the end of the text up to `  "WHO": "world",`, to its end, over `",`, and back over it.
    tmux.keys("Up", "Up", "Up", "End", "Left", "Left", *["BSpace"] * 5)
    tmux.keys(literal="everybody")
    tmux.wait_for('"WHO": "everybody"')
    tmux.keys("C-s")
    text = tmux.wait_for("exit 0")
    assert "to everybody" in text
