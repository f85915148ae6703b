"""The terminal approver, asked on a real pseudo-terminal."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.screen import Screen

from tongs.approvers.terminal import Terminal
from tongs.approvers.terminal_question import as_json, description, permissions_line
from tongs.core.approval import ApprovalRequest
from tongs.core.permissions import Permissions, Secret

ASKING = str(Path(__file__).with_name("asking.py"))
QUESTION = "[a]llow once  [e]dit  [A]lways  [N]ever  [d]eny  [?]: "

Ask = Callable[..., Screen]


@pytest.fixture
def answer_file(tmp_path: Path) -> Path:
    return tmp_path / "answer.json"


@pytest.fixture
def ask(answer_file: Path, tmp_path: Path) -> Iterator[Ask]:
    screens = []

    def start(*more: str, stdin: int | None = None, term: str = "xterm-256color") -> Screen:
        command = [sys.executable, ASKING, str(answer_file), *more]
        env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": term}
        screens.append(Screen(command, cwd=tmp_path, env=env, stdin=stdin))
        return screens[-1]

    yield start
    for screen in screens:
        screen.close()


def answer(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def test_the_question_shows_what_will_really_run(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)

    assert screen.text == (
        "deploy wants to run (asked by: claude, rule: approval.required)\n"
        "reason: it costs money\n"
        "  | bash:\n"
        "  |   deploy prod\\x1b[2J\n"
        '  TARGET  "prod"\n'
        '  CMD     "rm \\u202ex"   RAW: inserted as code\n'
        "network: h   reads: none   writes: ./out   secrets: TOKEN\n" + QUESTION
    )

    screen.type("a\n")
    assert screen.end() == 0
    assert answer(answer_file) == [True, None, "terminal", ""]


def test_what_a_server_asks_is_a_form_that_nothing_is_remembered_of(
    ask: Ask, answer_file: Path
) -> None:
    form = "[e] fill in and send  [a] send as it stands  [d]ecline  [?]: "
    screen = ask("form", term="dumb")
    screen.wait_for(form)
    assert screen.text.startswith(
        "deeds__ask wants to ask you something (asked by: library, rule: elicitation)\n"
        "reason: the server deeds asks\n"
        "  | the MCP server deeds asks, not Tongs: Who are you?\n"
        '  name  ""\n'
    )

    screen.type("A\n")
    # What is typed before the question stands there again is no answer to it.
    screen.wait_for("please answer a, e, d or ?\n" + form)
    screen.type("?\n")
    screen.wait_for(form)
    assert "send nothing" in screen.text
    screen.type("e\n")
    screen.wait_for("on one line")
    screen.type('{"name": "ann"}\n')

    assert screen.end() == 0
    assert answer(answer_file) == [True, {"name": "ann"}, "terminal", ""]


def test_no_reason_and_no_path_can_fake_a_line_of_the_question() -> None:
    request = ApprovalRequest(
        step_id="1",
        tool="deploy",
        args={"A": "x\nnetwork: off"},
        reason="fine\nnetwork: off",
        preview="one\nnetwork: off",
        permissions=Permissions(network=True, read=("a\nnetwork: off",)),
    )

    lines = description(request).split("\n")

    assert [line for line in lines if line.startswith("network:")] == [
        "network: on   reads: a network: off   writes: none   secrets: none"
    ]


def test_a_denial_can_give_its_reason(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("d\n")
    screen.wait_for("why (optional): ")
    screen.type("not on a friday\n")

    assert screen.end() == 0
    assert answer(answer_file) == [False, None, "terminal", "not on a friday"]


def test_only_an_answer_is_an_answer(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    for typed in ("\n", "y\n", "aye\n", " x\n"):
        screen.wait_for(QUESTION)
        screen.type(typed)
        screen.wait_for("please answer a, e, A, N, d or ?")
    screen.wait_for(QUESTION)
    screen.type("d no\n")

    assert screen.end() == 0
    assert answer(answer_file) == [False, None, "terminal", "no"]


def test_a_closed_input_is_a_denial(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("\x04")

    assert screen.end() == 0
    assert answer(answer_file) == [False, None, "terminal", "the input was closed"]


def test_arguments_are_edited_in_place(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("Ctrl-S")
    # To the first line, down to the second, over `  "TARGET": "`, and type before `prod`.
    screen.type("\x1b[A" * 5 + "\x01" + "\x1b[B" + "\x1b[C" * 13 + "pre-" + "\x13")

    assert screen.end() == 0
    assert answer(answer_file) == [
        True,
        {"TARGET": "pre-prod", "CMD": "rm \u202ex"},
        "terminal",
        "",
    ]


def test_bad_json_is_said_and_edited_again(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("Ctrl-S")
    screen.type("junk\x13")
    screen.wait_for("this is no JSON")
    screen.wait_for("Ctrl-S")
    screen.type("\x7f" * 4 + "\x13")

    assert screen.end() == 0
    assert answer(answer_file)[:2] == [True, {"TARGET": "prod", "CMD": "rm \u202ex"}]


def test_keys_from_before_the_arguments_were_shown_do_not_accept_them(
    ask: Ask, answer_file: Path
) -> None:
    """Its twin is the one above, where they are typed afterwards."""
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("Ctrl-S")
    screen.type("junk\x13" + "\x7f" * 4 + "\x13")
    screen.wait_for("this is no JSON")
    screen.wait_for("Ctrl-S")
    screen.type("\x03")
    screen.wait_for(QUESTION)
    screen.type("d no\n")

    assert screen.end() == 0
    assert answer(answer_file) == [False, None, "terminal", "no"]


def test_editing_can_be_given_up(ask: Ask, answer_file: Path) -> None:
    screen = ask()
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("Ctrl-S")
    screen.type("\x03")
    screen.wait_for(QUESTION)
    screen.type("a\n")

    assert screen.end() == 0
    assert answer(answer_file) == [True, None, "terminal", ""]


def test_editing_works_inside_an_event_loop(ask: Ask, answer_file: Path) -> None:
    screen = ask("loop")
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("Ctrl-S")
    screen.type("\x13")

    assert screen.end() == 0
    assert answer(answer_file)[:2] == [True, {"TARGET": "prod", "CMD": "rm \u202ex"}]


def test_a_dumb_terminal_takes_the_arguments_on_one_line(ask: Ask, answer_file: Path) -> None:
    screen = ask(term="dumb")
    screen.wait_for(QUESTION)
    screen.type("e\n")
    screen.wait_for("(empty: back): ")
    screen.type("[1]\n")
    screen.wait_for("must be one JSON object")
    screen.wait_for("(empty: back): ")
    screen.type('{"TARGET": "test"}\n')

    assert screen.end() == 0
    assert answer(answer_file) == [True, {"TARGET": "test"}, "terminal", ""]


def test_the_person_is_reached_when_stdin_is_a_pipe(ask: Ask, answer_file: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"a\n")
    os.close(writer)
    screen = ask(stdin=reader)
    os.close(reader)
    screen.wait_for(QUESTION)
    screen.type("d no\n")

    assert screen.end() == 0
    assert answer(answer_file) == [False, None, "terminal", "no"]


def test_without_a_terminal_nobody_is_reached(answer_file: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, ASKING, str(answer_file)],
        input=b"a\n",
        capture_output=True,
        start_new_session=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert answer(answer_file) is None


def test_only_a_plain_yes_is_a_yes(tmp_path: Path) -> None:
    for typed, agreed in [
        ("y\n", True),
        ("YES\n", True),
        ("\n", False),
        ("ye\n", False),
        ("", False),
    ]:
        file = tmp_path / "typed"
        file.write_text(typed, encoding="utf-8")
        with file.open(encoding="utf-8") as reader, open(os.devnull, "w", encoding="utf-8") as out:
            assert Terminal(reader, out).agrees("sure?") is agreed


@pytest.mark.parametrize(
    "value", ["plain", "é東", "\u202e", "\x1b", "\x7f", "\x85", "a\nb", {"k\u200b": ["\udcff"]}]
)
def test_json_shows_hidden_characters_and_reads_back_equal(value: Any) -> None:
    text = as_json(value, indent=2)
    assert json.loads(text) == value
    assert all(c.isprintable() or c == "\n" for c in text)


def test_permissions_fit_on_one_line() -> None:
    assert (
        permissions_line(Permissions())
        == "network: off   reads: none   writes: none   secrets: none"
    )
    everything = Permissions(True, (".",), ("a", "b"), (Secret("X"), Secret("Y")))
    assert permissions_line(everything) == "network: on   reads: .   writes: a, b   secrets: X, Y"
