"""A person talks to a model in a real terminal, with real keys; the model is a loopback server."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Place, Run
from tests.model_servers import ModelServer, Turn
from tests.tmux import Tmux

SMALL_SERVER = Path(__file__).parents[1] / "small_mcp_server.py"
SHOUT = (
    "description: says it loudly\nbash: echo to {WHO}, {MODE}\n"
    "parameters:\n  WHO: {}\n  MODE: {enum: [loud, quiet], default: loud}\n"
    "approval: {required: true, reason: it is loud}\npermissions: {fs: {read: [.]}}\n"
)
READS = "description: waits\nbash: echo it began; sleep 60\ntags: [read]\n"
GREET = {
    "description": "greets",
    "kind": "command",
    "inputs": {"schema": {"type": "object", "properties": {}}},
    "exec": {"command": {"entrypoint": "echo", "args": ["good day"]}},
    "permissions": {"network": False, "fs": {"read": []}, "secrets": {}},
}
QUESTION = "[a]llow once"
PROMPT = "Ctrl-D ends"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    made = ModelServer()
    yield made
    made.gone.set()
    made.close()


@pytest.fixture
def tmux(place: Place) -> Iterator[Tmux]:
    session = Tmux(place.project, place.env, rows=40)
    yield session
    session.close()


@pytest.fixture
def chat(tmux: Tmux, server: ModelServer) -> Callable[..., Tmux]:
    """`chat(Turn(…), …)`: the chat has begun, and its model will say these."""

    def begin(*turns: Turn, options: str = "") -> Tmux:
        server.turns[:] = turns
        model = f"--model openai-compatible:small --base-url {server.base_url}"
        tmux.wait_for("$")
        tmux.line(f"clear; {TONGS} chat {model} --auto-approve tool:read {options}; echo exit $?")
        tmux.wait_for(PROMPT)
        return tmux

    return begin


def told(server: ModelServer) -> list[dict[str, object]]:
    """What the model was sent last."""
    messages: list[dict[str, object]] = server.asked[-1].json["messages"]
    return messages


def change_who(screen: Tmux, old: str, new: str) -> None:
    """Answer a question of `shout` by editing its first argument."""
    screen.keys("e", "Enter")
    screen.wait_for("Ctrl-S: run with these arguments")
    screen.keys("Up", "Up", "End", "Left", "Left", *["BSpace"] * len(old))
    screen.keys(literal=new)
    screen.wait_for(f'"{new}"')
    screen.keys("C-s")


def test_an_answer_is_seen_while_it_comes_and_stopped_by_a_key(
    chat: Callable[..., Tmux], server: ModelServer
) -> None:
    screen = chat(Turn(text=["one \x1b[31mtwo"], hold=True), Turn(text=["Gladly."]))
    screen.line("count")
    screen.wait_for("one \\x1b[31mtwo")
    assert not server.gone.is_set()
    screen.keys("C-c")
    screen.wait_for("stopped: nothing of it runs any more")
    assert server.gone.wait(20)
    screen.wait_for(PROMPT)
    screen.line("go on")
    screen.wait_for("Gladly.")
    screen.wait_for(PROMPT)
    screen.keys("C-d")
    text = screen.wait_for("exit 0")
    assert "kept: tongs chat --continue " in text


def test_a_call_is_edited_and_the_model_is_told_what_ran(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("shout", SHOUT, scope="user")
    screen = chat(
        Turn(text=["I will."], calls=[("shout", {"WHO": "world"})]), Turn(text=["It is done."])
    )
    screen.line("greet the world")
    text = screen.wait_for(QUESTION)
    assert 'I will.\ncall: shout WHO="world"\nshout wants to run (asked by: model' in text
    change_who(screen, "world", "everybody")
    text = screen.wait_for("It is done.")
    assert 'edited: shout WHO="everybody" MODE="loud" (the model is told)' in text
    assert "  | to everybody, loud\ndone: shout (" in text
    assert "to everybody, loud" in str(told(server)[-1]["content"])
    assert "everybody" in place.copy


def test_a_key_stops_a_call_or_a_question_with_all_its_processes(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("wait", READS, scope="user")
    place.tool("shout", SHOUT, scope="user")
    screen = chat(
        Turn(calls=[("wait", {})]), Turn(calls=[("shout", {"WHO": "a"})]), Turn(text=["Well."])
    )
    screen.line("first")
    screen.wait_for("  | it began")
    screen.keys("C-c")
    screen.wait_for("stopped: nothing of it runs")
    screen.wait_for(PROMPT)
    screen.line("second")
    screen.wait_for(QUESTION)
    screen.keys("C-c")
    screen.wait_for("no longer asked")
    screen.wait_for(PROMPT)
    screen.line("third")
    screen.wait_for("Well.")
    answers = [message["content"] for message in told(server) if message["role"] == "tool"]
    assert len(answers) == 2
    assert all("CANCELLED" in str(answer) for answer in answers)


def test_a_slash_command_is_completed_run_and_given_to_the_model(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("shout", SHOUT, scope="user")
    screen = chat(Turn(text=["I see."]))
    screen.keys("Tab", literal="/sho")
    screen.wait_for("> /shout")
    screen.keys(literal=" 'both of you' M")
    screen.keys("Tab")
    screen.wait_for("MODE=")
    screen.keys("Tab", literal="q")
    screen.wait_for("MODE=quiet")
    screen.keys("Enter")
    screen.wait_for(QUESTION)
    screen.keys("a", "Enter")
    text = screen.wait_for("/give hands this to the model")
    assert 'call: shout WHO="both of you" MODE="quiet"' in text
    assert "asked by: user" in text
    assert "  | to both of you, quiet\ndone: shout (" in text
    assert not server.asked
    screen.wait_for(PROMPT)
    screen.line("/give what is this?")
    screen.wait_for("I see.")
    said = str(told(server)[-1]["content"])
    assert "I ran `/shout 'both of you' MODE=quiet` myself" in said
    assert "to both of you, quiet" in said
    assert said.endswith("what is this?")


@pytest.mark.full
def test_a_tool_of_the_project_is_read_and_trusted_before_it_runs(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("mine", "description: of the project\nbash: echo it ran\ntags: [read]\n")
    screen = chat(Turn(text=["Hello."]))
    screen.line("/mine")
    screen.wait_for("trust mine? [y/N]")
    screen.keys("y", "Enter")
    screen.wait_for("  | it ran")
    screen.wait_for(PROMPT)
    screen.line("hi")
    screen.wait_for("Hello.")
    assert "mine" in [each["function"]["name"] for each in server.asked[-1].json["tools"]]


@pytest.mark.full
def test_a_key_stops_a_call_of_the_persons_own(place: Place, chat: Callable[..., Tmux]) -> None:
    place.tool("wait", READS, scope="user")
    screen = chat(Turn())
    screen.line("/wait")
    screen.wait_for("  | it began")
    screen.keys("C-c")
    screen.wait_for("stopped: nothing of it runs")
    screen.wait_for(PROMPT)
    screen.keys("C-c")
    screen.wait_for("Ctrl-C again, or Ctrl-D, ends the chat")
    screen.keys("C-c")
    screen.wait_for("exit 0")


@pytest.mark.full
def test_commands_of_the_chat_answer_and_mistakes_do_not_end_it(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("shout", SHOUT, scope="user")
    screen = chat(Turn(text=["Two lines."]))
    screen.keys("Escape", "Enter", literal="line one")
    screen.paste("line two\nline three")
    screen.wait_for("line three")
    screen.keys("Enter")
    screen.wait_for("Two lines.")
    assert told(server)[-1]["content"] == "line one\nline two\nline three"
    for line, answer in (
        ("/tols", "did you mean `/tools`"),
        ("/shout a b c", "`c` is one word too many"),
        ("/shout MODE=none", "hint: /shout WHO [MODE]"),
        ("/give", "there is no result to give"),
        ("/model", "model: openai-compatible:small"),
        ("/model nonsense", "error: "),
        ("/approve", "nothing waits, and nothing was decided"),
        ("/save", "hint: /save FILE"),
        ("/save talk.md", "saved: talk.md"),
        ("/save talk.md", "replace talk.md? [y/N]"),
        ("n", PROMPT),
        ("/help", "Enter sends, Alt-Enter"),
    ):
        if answer != PROMPT:
            screen.wait_for(PROMPT)
            screen.keys("C-l")
        screen.line(line)
        screen.wait_for(answer)
    screen.wait_for(PROMPT)
    screen.line("/quit")
    screen.wait_for("exit 0")
    assert (
        "## You\n\n> line one\n> line two\n> line three\n"
        in (place.project / "talk.md").read_text()
    )
    history = place.state / "chat" / "history"
    assert history.stat().st_mode & 0o777 == 0o600
    assert "+line one\n+line two\n" in history.read_text()


def test_a_conversation_goes_on_after_the_chat_was_killed(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("shout", SHOUT, scope="user")
    screen = chat(Turn(text=["I try."], calls=[("shout", {"WHO": "you"})]))
    screen.line("please shout")
    screen.wait_for(QUESTION)
    os.kill(screen.child(), signal.SIGKILL)
    screen.wait_for("exit 137")
    screen = chat(Turn(text=["On we go."]), options="--continue")
    text = screen.wait_for(PROMPT)
    assert '> please shout\nI try.\ncall: shout WHO="you"\nfailed: shout: interrupted: ' in text
    assert "interrupted: the last answer did not come to its end" in text
    screen.line("go on")
    screen.wait_for("On we go.")
    roles = [message["role"] for message in told(server)]
    assert roles[-4:] == ["user", "assistant", "tool", "user"]
    assert "it was not run" in str(told(server)[-2]["content"])


def test_servers_that_were_never_connected_are_and_the_model_gets_their_tools(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    tools = place.project / "tools.json"
    tools.write_text(json.dumps([{"name": "greet", "inputSchema": {"type": "object"}}]))
    small = shutil.copy(SMALL_SERVER, place.project)
    servers = {
        "small": {"command": ["python3", str(small), str(tools)]},
        "broken": {"command": ["python3", "nowhere.py"]},
    }
    (place.user / "config.yml").write_text(json.dumps({"mcp": {"servers": servers}}))
    screen = chat(Turn(calls=[("small__greet", {})]), Turn(text=["Greeted."]))
    screen.keys(literal="half a li")
    screen.wait_for("connected: small; the model has 1 tool more")
    screen.wait_for("warning: broken was not connected: ")
    screen.wait_for("> half a li")
    screen.line("ne")
    text = screen.wait_for("Greeted.")
    assert "  | greet {}\ndone: small__greet (" in text
    assert [message["content"] for message in told(server) if message["role"] == "user"] == [
        "half a line"
    ]


def test_a_question_outlives_a_killed_chat_is_edited_later_and_its_call_runs_once(
    place: Place, chat: Callable[..., Tmux], server: ModelServer
) -> None:
    place.tool("shout", SHOUT, scope="user")
    (place.user / "config.yml").write_text("approvals: {wait: 10m}\n")
    call = Turn(calls=[("shout", {"WHO": "you"})])
    screen = chat(call)
    screen.line("please shout")
    screen.wait_for(QUESTION)
    os.kill(screen.child(), signal.SIGKILL)
    screen.wait_for("exit 137")
    screen = chat(call, Turn(text=["On we go."]), options="--continue")
    screen.wait_for("approvals: 1 call waits for an answer: /approve")
    screen.line("/approve")
    text = screen.wait_for(" answers it")
    (name,) = re.findall(r"hint: /approve (\S+) answers it", text)
    screen.wait_for(PROMPT)
    screen.line(f"/approve {name}")
    screen.wait_for(QUESTION)
    change_who(screen, "you", "everybody")
    screen.wait_for(f'approved: shout ({name}), with WHO="everybody" MODE="loud"')
    screen.wait_for(PROMPT)
    screen.keys("C-l")
    screen.line("go on")
    text = screen.wait_for("On we go.")
    assert "  | to everybody, loud\ndone: shout (" in text
    assert QUESTION not in text
    assert place.copy.count("TOOL_EXECUTED") == 1
    screen.wait_for(PROMPT)
    screen.line(f"/approve {name}")
    screen.wait_for("cannot be answered: it was approved, and the call has run")


@pytest.mark.full
def test_a_tool_that_the_model_creates_is_read_in_the_chat_and_then_called(
    chat: Callable[..., Tmux], server: ModelServer
) -> None:
    made = {"name": "greet", "definition": GREET}
    screen = chat(
        Turn(calls=[("tool_create", made)]), Turn(calls=[("greet", {})]), Turn(text=["Greeted."])
    )
    screen.line("make a tool that greets")
    text = screen.wait_for("approve greet? [y/N]")
    assert "greet was created by openai-compatible:small" in text
    assert "reach no host" in text
    screen.keys("y", "Enter")
    text = screen.wait_for(QUESTION)
    assert "the person has approved greet" in text
    screen.keys("A", "Enter")
    screen.wait_for("[?]: A")
    screen.wait_for("back)")
    screen.keys("1", "Enter")
    screen.wait_for("[s]ession")
    screen.keys("s", "Enter")
    screen.wait_for("until when")
    screen.keys("Enter")
    screen.wait_for("Greeted.")
    assert "good day" in str(told(server)[-1]["content"])
    screen.wait_for(PROMPT)
    screen.line("/approve")
    text = screen.wait_for("SESSION")
    assert "always" in text


def test_conversations_are_listed_and_exported(
    place: Place, chat: Callable[..., Tmux], tongs: Run
) -> None:
    assert tongs("chat", "--list").stderr == "no conversation is kept\n"
    screen = chat(Turn(text=["Good day."]))
    screen.line("hello")
    screen.wait_for("Good day.")
    screen.wait_for(PROMPT)
    screen.keys("C-d")
    screen.wait_for("exit 0")
    listed = json.loads(tongs("chat", "--list", "--json").stdout)
    assert [each["title"] for each in listed] == ["hello"]
    name = listed[0]["id"]
    assert f"{name}  " in tongs("chat", "--list").stdout
    assert "## You\n\n> hello\n" in tongs("chat", "--export", name).stdout
    exported = json.loads(tongs("chat", "--export", name, "--format", "json").stdout)
    assert exported["messages"][0] == {"type": "user", "text": "hello"}


@pytest.mark.parametrize(
    ("options", "said", "code"),
    [
        ((), "there is no terminal to chat on", 4),
        (("--export", "nothing"), "there is no conversation `nothing`", 2),
        (("--list", "--continue"), "exclude each other", 2),
        (("--format", "json"), "belongs to --export", 2),
        (("--json",), "belongs to --list", 2),
    ],
)
def test_what_cannot_be_done_is_said(
    tongs: Run, options: tuple[str, ...], said: str, code: int
) -> None:
    done = tongs("chat", *options)
    assert said in done.stderr
    assert (done.stdout, done.code) == ("", code)
