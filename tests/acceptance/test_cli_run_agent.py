"""`tongs run`: what a person sees and a script reads, with a model that a test has written."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.conftest import SCRIPTED, Agent, Place, Run, Script, Show
from tests.alive import ended, started

LOOK = "description: look\nbash: echo seen {X}\nparameters: {X: {}}\ntags: [read]\n"
SAY = "description: says it\nbash: echo said {X}\nparameters: {X: {}}\n"


def begun(place: Place, file: str, *options: str, **streams: int) -> subprocess.Popen[str]:
    """`tongs run go` under way, in a session of its own, as what may be killed should be."""
    return subprocess.Popen(
        [sys.executable, SCRIPTED, file, "run", "go", *options],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
        **streams,  # type: ignore[call-overload]  # stdout and stderr only
    )


def test_the_words_go_to_stdout_and_the_rest_to_stderr(
    place: Place, agent: Agent, told: Callable[[], list[Any]]
) -> None:
    place.tool("look", LOOK, scope="user")
    turns = [[["look", {"X": "it"}]], "all fine"]
    done = agent(turns, "what", "is", "there?", "--auto-approve", "tool:read")
    assert (done.stdout, done.code) == ("allfine\n", 0)
    assert done.stderr.startswith('call: look X="it"\ndone: look (')
    first, second = told()
    assert first == [{"type": "user", "text": "what is there?"}]
    assert second[-1]["answers"][0]["text"] == "seen it\n"


def test_what_tools_put_out_is_said_in_a_log_on_request(place: Place, agent: Agent) -> None:
    place.tool("look", LOOK, scope="user")
    done = agent([[["look", {"X": "it"}]], "fine"], "go", "-v", "--auto-approve", "tool:read")
    assert (done.stdout, done.code) == ("fine\n", 0)
    assert 'call: look X="it"\n  | seen it\ndone: look (' in done.stderr


def test_warnings_of_a_call_are_seen_by_the_person_too(place: Place, agent: Agent) -> None:
    place.tool("look", LOOK, scope="user")
    (place.user / "config.yml").write_text("security: {enforcement: off}\n")
    done = agent([[["look", {"X": "it"}]], "fine"], "go", "--auto-approve", "tool:read")
    assert "\nwarning: security.enforcement is off: the walls may not stand\ndone:" in done.stderr


def test_what_is_piped_in_stands_below_the_prompt(
    agent: Agent, told: Callable[[], list[Any]]
) -> None:
    assert agent(["ok"], "sum it up", stdin=b"one\ntwo\n").code == 0
    assert told()[0][0]["text"] == "sum it up\n\none\ntwo"


def test_there_must_be_a_prompt(agent: Agent) -> None:
    done = agent(["ok"])
    assert (done.code, done.stdout) == (2, "")
    assert "there is no prompt" in done.stderr


def test_events_are_lines_of_json(place: Place, agent: Agent) -> None:
    place.tool("look", LOOK, scope="user")
    turns = [[["look", {"X": "it"}]], "fine"]
    done = agent(turns, "go", "--json", "--auto-approve", "tool:read")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds == ["thinking", "step", "call", "output", "result", "text", "step", "end"]
    end = events[-1]
    assert (end["outcome"], end["text"], end["steps"]) == ("ended", "fine", 2)
    assert end["usage"] == {"input": 20, "output": 4}


def test_a_denial_has_an_exit_code_of_its_own(place: Place, agent: Agent) -> None:
    place.tool("say", SAY, scope="user")
    done = agent([[["say", {"X": "it"}]], "I may not"], "go")
    assert (done.code, done.stdout) == (3, "Imaynot\n")
    assert "nobody could be asked" in done.stderr


def test_the_step_limit_has_an_exit_code_of_its_own(place: Place, agent: Agent, tongs: Run) -> None:
    place.tool("look", LOOK, scope="user")
    turns = [[["look", {"X": "1"}]], [["look", {"X": "2"}]]]
    done = agent(turns, "go", "--max-steps", "2", "--auto-approve", "tool:read")
    assert done.code == 5
    assert "not done after 2 steps" in done.stderr
    assert "--max-steps 4" in done.stderr
    assert place.copy.count("TOOL_EXECUTED") == 1


@pytest.mark.parametrize("wrong", ["0", "-1", "many"])
def test_a_number_of_steps_is_a_number(agent: Agent, wrong: str) -> None:
    done = agent(["ok"], "go", f"--max-steps={wrong}")
    assert done.code == 2
    assert "--max-steps must be a number" in done.stderr


def test_options_that_exclude_each_other_are_said(agent: Agent) -> None:
    assert agent(["ok"], "go", "--no-tools", "--tools", "a").code == 2
    assert agent(["ok"], "go", "--continue", "--conversation", "a").code == 2


def test_a_failure_of_the_model_is_a_sentence(agent: Agent) -> None:
    done = agent([{"fail": "auth", "hint": "set the key"}], "go")
    assert (done.code, done.stdout) == (1, "")
    assert "error: auth: it failed\nhint: set the key\n" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_rate_limit_is_waited_for_and_said(agent: Agent) -> None:
    done = agent([{"fail": "rate", "after": 0.01}, "here I am"], "go")
    assert (done.code, done.stdout) == (0, "hereIam\n")
    assert "waiting: rate: it failed; again at once" in done.stderr


def test_a_conversation_goes_on(agent: Agent, told: Callable[[], list[Any]]) -> None:
    assert agent(["one"], "first").code == 0
    assert agent(["two"], "second", "--continue").code == 0
    assert [message.get("text") for message in told()[-1]] == ["first", "one", "second"]
    assert agent(["x"], "y", "--conversation", "nothing").code == 2


def test_on_a_terminal_the_person_edits_a_call_and_the_model_hears_of_it(
    place: Place, screen: Show, script: Script, told: Callable[[], list[Any]]
) -> None:
    place.tool("say", SAY, scope="user")
    file = script([["say", {"X": "wild"}]], "done")
    shown = screen(SCRIPTED, file, "run", "go", command=(sys.executable,), env={"TERM": "dumb"})
    shown.wait_for("[d]eny")
    shown.type("e\n")
    shown.wait_for("(empty: back): ")
    shown.type('{"X": "tame"}\n')
    assert shown.end() == 0
    assert "done" in shown.text
    answer = told()[-1][-1]["answers"][0]["text"]
    assert answer.startswith("said tame")
    assert "tame" in answer.partition("warning: ")[2]


def test_on_a_terminal_a_denial_is_told_with_its_reason(
    place: Place, screen: Show, script: Script, told: Callable[[], list[Any]]
) -> None:
    place.tool("say", SAY, scope="user")
    file = script([["say", {"X": "it"}]], "well")
    shown = screen(SCRIPTED, file, "run", "go", command=(sys.executable,))
    shown.wait_for("[d]eny")
    shown.type("d too loud\n")
    assert shown.end() == 3
    assert "too loud" in told()[-1][-1]["answers"][0]["text"]


def test_a_question_tells_letters_apart_that_look_alike(
    place: Place, screen: Show, script: Script
) -> None:
    place.tool("say", SAY, scope="user")
    file = script([["say", {"X": "\u0441at"}]], "well")
    shown = screen(SCRIPTED, file, "run", "go", command=(sys.executable,))
    shown.wait_for("[d]eny")
    assert 'call: say X="\\u0441at"' in shown.text
    assert "| __t0='\\u0441at'" in shown.text
    shown.type("a\n")
    assert shown.end() == 0
    # It is only shown in another way.
    assert "| said \u0441at" in shown.text


def test_ctrl_c_at_a_question_ends_it_and_runs_nothing(
    place: Place, screen: Show, script: Script
) -> None:
    place.tool("say", SAY, scope="user")
    file = script([["say", {"X": "it"}]], "never")
    shown = screen(SCRIPTED, file, "run", "go", command=(sys.executable,))
    shown.wait_for("[d]eny")
    shown.type("\x03")
    assert shown.end() == 130
    assert "said it" not in shown.text


GREET = {
    "description": "greets",
    "kind": "command",
    "inputs": {"schema": {"type": "object", "properties": {}}},
    "exec": {"command": {"entrypoint": "echo", "args": ["hello"]}},
    "permissions": {"network": False, "fs": {"read": [], "write": []}, "secrets": {}},
}
CREATE = [["tool_create", {"name": "greet", "definition": GREET}]]


def test_ctrl_c_at_a_review_ends_it_and_approves_nothing(
    place: Place, screen: Show, script: Script, tongs: Run
) -> None:
    shown = screen(SCRIPTED, script(CREATE, "never"), "run", "go", command=(sys.executable,))
    shown.wait_for("approve greet?")
    shown.type("\x03")
    assert shown.end() == 130
    assert "greet" in tongs("review").stdout


def test_a_tool_that_the_model_creates_is_reviewed_and_used(
    place: Place, screen: Show, script: Script, told: Callable[[], list[Any]]
) -> None:
    file = script(CREATE, [["greet", {}]], "done")
    shown = screen(SCRIPTED, file, "run", "go", command=(sys.executable,))
    shown.wait_for("approve greet?")
    assert "created by scripted" in shown.text
    shown.type("y\n")
    shown.wait_for("[d]eny")
    shown.type("a\n")
    assert shown.end() == 0
    assert told()[-1][-1]["answers"][0]["text"] == "hello\n"


@pytest.mark.parametrize(("number", "by"), [(signal.SIGINT, ""), (signal.SIGTERM, "by SIGTERM: ")])
def test_a_signal_ends_the_call_with_its_processes_and_keeps_what_was_said(
    place: Place,
    script: Script,
    agent: Agent,
    told: Callable[[], list[Any]],
    number: int,
    by: str,
) -> None:
    word = f"30{os.getpid() % 1000:03d}"
    place.tool("slow", f"description: s\nbash: 'sleep {word} & wait'\n", scope="user")
    file = script([["slow", {}]], "never")
    running = begun(place, file, "--auto-approve", "*", stderr=subprocess.PIPE)
    pids = started(word)
    running.send_signal(number)
    assert running.wait(20) == 130
    assert running.stderr is not None
    with running.stderr:
        said = running.stderr.read()
    assert f"stopped: {by}nothing of it runs any more\n" in said
    assert "hint: tongs run --conversation " in said
    assert ended(pids)
    assert agent(["I see"], "and?", "--continue").code == 0
    *_, answers, _ = told()[-1]
    assert "the person stopped it" in answers["answers"][0]["text"]


def test_while_a_process_has_a_conversation_no_other_goes_on_with_it(
    place: Place, script: Script, tongs: Run
) -> None:
    """Its twin is the next one: once that process has gone, the conversation goes on."""
    wait = "description: w\nbash: 'until test -e go; do sleep 0.05; done; echo went'\n"
    place.tool("wait", wait, scope="user")
    options = ("--auto-approve", "*", "--json")
    file = script([["wait", {}]], "done")
    running = begun(place, file, *options, stdout=subprocess.PIPE)
    assert running.stdout is not None
    with running.stdout:
        while '"event": "call"' not in running.stdout.readline():
            assert running.poll() is None
        other = (SCRIPTED, script("never"), "run", "and?", "--continue")
        refused = tongs(*other, command=sys.executable)
        (place.project / "go").touch()
        *_, last = running.stdout
    assert "is open in another process" in refused.stderr
    assert (refused.code, running.wait(20)) == (1, 0)
    exported = tongs("chat", "--export", json.loads(last)["conversation"], "--format", "json")
    answers = [each for each in json.loads(exported.stdout)["messages"] if each["type"] == "tools"]
    assert [answer["text"] for each in answers for answer in each["answers"]] == ["went\n"]


def test_after_kill_9_in_a_call_the_conversation_goes_on(
    place: Place, script: Script, agent: Agent, told: Callable[[], list[Any]]
) -> None:
    word = f"31{os.getpid() % 1000:03d}"
    place.tool("slow", f"description: s\nbash: 'sleep {word} & wait'\n", scope="user")
    file = script([["slow", {}]], "never")
    running = begun(place, file, "--auto-approve", "*")
    pids = started(word)
    running.kill()
    running.wait()
    assert ended(pids)
    assert agent(["I see"], "and?", "--continue").code == 0
    *_, answers, last = told()[-1]
    assert "it had begun" in answers["answers"][0]["text"]
    assert last == {"type": "user", "text": "and?"}


def test_after_kill_9_at_a_question_it_still_waits_and_its_answer_counts(
    place: Place, script: Script, agent: Agent, tongs: Run, told: Callable[[], list[Any]]
) -> None:
    place.tool("say", SAY, scope="user")
    (place.user / "config.yml").write_text("approvals: {wait: 10m}\n")
    call = [["say", {"X": "it"}]]
    running = begun(place, script(call), stderr=subprocess.PIPE)
    assert running.stderr is not None
    with running.stderr:
        while "tongs approvals approve" not in (line := running.stderr.readline()):
            assert line, "it never asked"
    question = line.split()[-1]
    running.kill()
    running.wait()
    assert tongs("approvals", "approve", question).code == 0
    done = agent([call, "done"], "go on", "--continue")
    assert (done.code, done.stdout) == (0, "done\n")
    answers = [message["answers"][0] for message in told()[-1] if message["type"] == "tools"]
    assert answers[0]["text"].startswith("interrupted: ")
    assert answers[1]["text"] == "said it\n"


def test_whoever_stops_reading_ends_it(place: Place, script: Script) -> None:
    file = script("word " * 20000)
    running = subprocess.Popen(
        [sys.executable, SCRIPTED, file, "run", "go"],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert running.stdout is not None
    assert running.stderr is not None
    running.stdout.read(10)
    running.stdout.close()
    with running.stderr:
        assert running.stderr.read() == b""
    assert running.wait(20) == 141
