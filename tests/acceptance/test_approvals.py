"""Approvals that wait, are answered elsewhere, and are remembered."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.acceptance.conftest import TONGS, Outcome, Place, Run, Show
from tests.tmux import Tmux
from tests.web import Reply, Web

TEXT = (
    "bash: echo to {WHO}\n"
    "parameters:\n  WHO: {}\n  N: {type: integer, default: 1}\n"
    "approval: {required: true, reason: it is loud}\ntags: [write]\n"
    "permissions: {fs: {read: [.]}}\n"
)
QUESTION = "[a]llow once  [e]dit  [A]lways  [N]ever  [d]eny  [?]: "


@pytest.fixture
def shout(place: Place) -> Path:
    return place.tool("shout", TEXT, scope="user")


@pytest.fixture
def tmux(place: Place) -> Iterator[Tmux]:
    session = Tmux(place.project, place.env, columns=110, rows=40)
    yield session
    session.close()


def configure(place: Place, text: str) -> None:
    (place.user / "config.yml").write_text(text, encoding="utf-8")


def waiting(tongs: Run) -> str:
    """The id of the one question, once it is asked."""
    until = time.monotonic() + 50
    while time.monotonic() < until:
        found = json.loads(tongs("approvals", "pending", "--json").stdout)
        if found:
            return str(found[-1]["id"])
    raise AssertionError("nothing was asked")


class Waiting:
    """A call in the background, without a terminal."""

    def __init__(self, place: Place, *words: str) -> None:
        self._process = subprocess.Popen(
            [TONGS, "tool", "run", "shout", *words],
            cwd=place.project,
            env=place.env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def end(self) -> Outcome:
        out, err = self._process.communicate(timeout=30)
        return Outcome(out, err, self._process.returncode)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def interrupt(self) -> Outcome:
        self._process.send_signal(signal.SIGINT)
        return self.end()


def test_headless_with_nothing_configured_is_denied_at_once(shout: Path, tongs: Run) -> None:
    done = tongs("tool", "run", "shout", "WHO=me")

    assert (done.stdout, done.code) == ("", 3)
    assert "shout was not run: it is loud, and nobody could be asked" in done.stderr
    assert not (shout.parents[1] / "state" / "approvals.db").exists()


def test_a_call_waits_for_an_answer_from_another_terminal(
    place: Place, shout: Path, tongs: Run
) -> None:
    call = Waiting(place, "WHO=me", "--wait", "1m")
    question = waiting(tongs)

    assert "shout wants to run" in tongs("approvals", "pending", question).stdout
    answer = tongs("approvals", "approve", question)

    assert (answer.stderr, answer.code) == (f"approved shout ({question})\n", 0)
    done = call.end()
    assert (done.stdout, done.code) == ("to me\n", 0)


def test_a_denial_from_another_terminal_gives_its_reason(
    place: Place, shout: Path, tongs: Run
) -> None:
    configure(place, "approvals: {wait: 1m}\n")
    call = Waiting(place, "WHO=me", "--json")

    assert tongs("approvals", "deny", waiting(tongs), "--reason", "not now").code == 0

    done = call.end()
    assert done.code == 3
    error = json.loads(done.stdout)["error"]
    assert (error["code"], error["blockedBy"]) == ("APPROVAL_DENIED", "approval")
    assert error["details"]["reason"] == "not now"


def test_the_model_is_told_what_really_ran(place: Place, shout: Path, tongs: Run) -> None:
    call = Waiting(place, "WHO=me", "--wait", "1m", "--json")
    question = waiting(tongs)

    wrong = tongs("approvals", "approve", question, "--arguments", '{"WHO": "all", "N": "x"}')
    assert (wrong.code, "N must be an integer" in wrong.stderr) == (2, True)
    assert tongs("approvals", "approve", question, "--arguments", '{"WHO": "all"}').code == 0

    result = json.loads(call.end().stdout)
    assert result["output"] == "to all\n"
    assert result["metadata"]["modifiedArguments"] == {"WHO": "all", "N": 1}
    assert result["warnings"][-1] == (
        'user changed the arguments before allowing it; it ran with {"WHO": "all", "N": 1}'
    )


def test_nobody_answers_in_time(shout: Path, tongs: Run) -> None:
    done = tongs("tool", "run", "shout", "WHO=me", "--wait", "300ms")

    assert (done.stdout, done.code) == ("", 3)
    assert "it is loud, and nobody answered within 0.3s" in done.stderr
    assert json.loads(tongs("approvals", "pending", "--json").stdout) == []


def test_a_call_that_does_not_wait_is_pending_until_it_is_made_again(
    shout: Path, tongs: Run
) -> None:
    first = tongs("tool", "run", "shout", "WHO=me", "--wait", "0", "--json")
    error = json.loads(first.stdout)["error"]
    assert (first.code, error["code"]) == (3, "APPROVAL_PENDING")
    question = error["details"]["approval"]
    assert f"tongs approvals approve {question}" in error["details"]["hint"]

    answer = tongs("approvals", "approve", question)
    assert "nobody waits for it now" in answer.stderr
    again = tongs("tool", "run", "shout", "WHO=me", "--wait", "0")
    assert (again.stdout, again.code) == ("to me\n", 0)
    # An approval is used once.
    assert tongs("tool", "run", "shout", "WHO=me", "--wait", "0").code == 3


def test_an_approval_is_for_the_standard_input_that_was_shown(place: Place, tongs: Run) -> None:
    place.tool("feed", "bash: cat\napproval: {required: true}\n", scope="user")
    words = ("tool", "run", "feed", "--stdin", "--wait", "0")
    tongs(*words, stdin=b"harmless\n")
    assert "harmless" in tongs("approvals", "pending", "--json").stdout
    tongs("approvals", "approve", waiting(tongs))

    other = tongs(*words, stdin=b"harmful\n")
    same = tongs(*words, stdin=b"harmless\n")

    assert "harmful" not in other.stdout
    assert same.stdout == "harmless\n"


def test_a_changed_definition_is_asked_again(place: Place, shout: Path, tongs: Run) -> None:
    pending = json.loads(tongs("tool", "run", "shout", "WHO=me", "--wait", "0", "--json").stdout)
    question = pending["error"]["details"]["approval"]
    tongs("approvals", "approve", question)

    place.tool("shout", TEXT.replace("echo to", "echo rm"), scope="user")

    again = json.loads(tongs("tool", "run", "shout", "WHO=me", "--wait", "0", "--json").stdout)
    assert again["error"]["code"] == "APPROVAL_PENDING"
    assert again["error"]["details"]["approval"] != question


def test_an_approval_outlives_the_killed_call(place: Place, shout: Path, tongs: Run) -> None:
    call = Waiting(place, "WHO=me", "--wait", "1m")
    question = waiting(tongs)
    call.kill()

    assert tongs("approvals", "approve", question).code == 0

    done = tongs("tool", "run", "shout", "WHO=me", "--wait", "0")
    assert (done.stdout, done.code) == ("to me\n", 0)


def test_a_cancelled_call_takes_its_question_with_it(place: Place, shout: Path, tongs: Run) -> None:
    call = Waiting(place, "WHO=me", "--wait", "1m")
    question = waiting(tongs)

    assert call.interrupt().code == 130

    late = tongs("approvals", "approve", question)
    assert (late.code, "the call that asked has given up" in late.stderr) == (3, True)


def test_what_is_answered_or_unknown_cannot_be_answered(shout: Path, tongs: Run) -> None:
    pending = json.loads(tongs("tool", "run", "shout", "WHO=me", "--wait", "0", "--json").stdout)
    question = pending["error"]["details"]["approval"]
    tongs("approvals", "deny", question)

    late = tongs("approvals", "approve", question)
    unknown = tongs("approvals", "approve", "0000")

    assert (late.code, "it is denied already" in late.stderr) == (3, True)
    assert (unknown.code, "there is no approval `0000`" in unknown.stderr) == (2, True)


@pytest.mark.parametrize(
    "words", [("list",), ("pending",), ("approve", "x"), ("deny", "x"), ("revoke", "x")]
)
def test_a_tool_can_do_nothing_about_approvals(
    place: Place, tongs: Run, words: tuple[str, ...]
) -> None:
    place.tool(
        "sneaky",
        f"run: {TONGS} approvals {' '.join(words)}\ntags: [run]\n"
        f"environment: {{TONGS_HOME: {place.user}}}\n",
        scope="user",
    )

    # Without walls, so that nothing else keeps it from trying.
    configure(place, "security: {enforcement: 'off'}\n")

    done = tongs("tool", "run", "sneaky")

    assert done.code == 1
    assert "a tool may not" in done.stderr


def test_a_question_answered_elsewhere_leaves_the_terminal(
    shout: Path, tongs: Run, screen: Show
) -> None:
    shown = screen("tool", "run", "shout", "WHO=me", "--wait", "1m")
    shown.wait_for(QUESTION)

    assert tongs("approvals", "approve", waiting(tongs)).code == 0

    shown.wait_for("answered elsewhere, or no longer asked")
    assert shown.end() == 0
    assert shown.text.endswith("to me\n")


def test_a_question_answered_elsewhere_ends_the_editing(
    shout: Path, tongs: Run, screen: Show
) -> None:
    shown = screen("tool", "run", "shout", "WHO=me", "--wait", "1m")
    shown.wait_for(QUESTION)
    shown.type("e\n")
    shown.wait_for("Ctrl-S")

    assert tongs("approvals", "deny", waiting(tongs), "--reason", "no").code == 0

    assert shown.end() == 3
    assert "user denied it (no)" in shown.text


def test_the_terminal_answers_a_call_that_waits(shout: Path, screen: Show) -> None:
    shown = screen("tool", "run", "shout", "WHO=me", "--wait", "1m")
    shown.wait_for(QUESTION)
    shown.type("a\n")

    assert shown.end() == 0
    assert shown.text.endswith("to me\n")


def test_a_call_on_a_terminal_can_be_interrupted(shout: Path, screen: Show) -> None:
    shown = screen("tool", "run", "shout", "WHO=me", "--wait", "1m")
    shown.wait_for(QUESTION)
    shown.type("\x03")

    assert shown.end() == 130


def program(place: Place, text: str) -> str:
    file = place.user / "decide"
    file.write_text(f"#!{sys.executable}\n{text}", encoding="utf-8")
    file.chmod(0o755)
    return str(file)


def test_a_program_of_ones_own_decides(place: Place, shout: Path, tongs: Run) -> None:
    decide = program(
        place,
        "import json, sys\nasked = json.load(sys.stdin)\n"
        "ok = asked['args']['WHO'] == 'me' and asked['caller']['name'] == 'user'\n"
        "print(json.dumps({'approved': ok, 'reason': 'I know ' + asked['tool']}))\n",
    )
    configure(place, f"approvals: {{command: [{decide}]}}\n")

    allowed, denied = (tongs("tool", "run", "shout", f"WHO={who}") for who in ("me", "you"))

    assert (allowed.stdout, allowed.code) == ("to me\n", 0)
    assert (denied.stdout, denied.code) == ("", 3)
    assert "command decide denied it (I know shout)" in denied.stderr


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("print('yes')", "the answer is no JSON"),
        ("print('[]')", "the answer is no JSON object"),
        ("""print('{"approved": 1}')""", '`"approved": true`'),
        ("""print('{"approved": true, "modified_args": {}}')""", "unknown key 'modified_args'"),
        ("""print('{"approved": true, "approved": false}')""", "a key stands there twice"),
        ("""print('{"approved": true}'); raise SystemExit(3)""", "it ended with code 3"),
        ("import time\nwhile True: time.sleep(1)", "it did not answer within 1s"),
        ("print('x' * 5_000_000)", "the answer is larger than"),
        ("""print('{"approved": true, "modifiedArgs": {"WHO": 1}}')""", "WHO must be a string"),
    ],
)
def test_what_is_no_answer_is_a_denial(
    place: Place, shout: Path, tongs: Run, text: str, reason: str
) -> None:
    decide = program(place, text)
    configure(place, f"approvals: {{command: [{decide}], timeout: 1s}}\n")

    done = tongs("tool", "run", "shout", "WHO=me")

    assert done.stdout == ""
    assert done.code in (2, 3)
    assert reason in done.stderr


def test_a_program_that_is_not_there_is_a_denial(place: Place, shout: Path, tongs: Run) -> None:
    configure(place, "approvals: {command: [/nowhere/decide]}\n")

    done = tongs("tool", "run", "shout", "WHO=me")

    assert (done.code, "it could not be started" in done.stderr) == (3, True)


def test_a_project_cannot_bring_its_own_approver(place: Place, shout: Path, tongs: Run) -> None:
    decide = program(place, """print('{"approved": true}')""")
    (place.project / ".tongs" / "config.yml").write_text(f"approvals: {{command: [{decide}]}}\n")

    done = tongs("tool", "run", "shout", "WHO=me")

    assert (done.code, "nobody could be asked" in done.stderr) == (3, True)


def test_a_server_decides(place: Place, shout: Path, tongs: Run, web: Web) -> None:
    web.answer = lambda asked: Reply.of({"approved": True, "modifiedArgs": {"WHO": "all"}})
    configure(
        place,
        f"approvals:\n  webhook:\n    url: {web.url}/ask?x=1\n"
        "    headers: {Authorization: env:TOKEN}\n",
    )
    done = tongs("tool", "run", "shout", "WHO=me", env={"TOKEN": "Bearer s3cret"})

    assert (done.stdout, done.code) == ("to all\n", 0)
    (asked,) = web.asked
    assert (asked.method, asked.target) == ("POST", "/ask?x=1")
    assert asked.headers["authorization"] == "Bearer s3cret"
    assert asked.json["tool"] == "shout"
    assert asked.json["args"] == {"WHO": "me", "N": 1}
    assert len(asked.json["digest"]) == 64


def test_a_server_is_told_no_secret(place: Place, tongs: Run, web: Web) -> None:
    web.answer = lambda asked: Reply.of({"approved": False})
    place.tool(
        "clean",
        "bash: rm -rf {DIR}\nparameters: {DIR: {}}\npermissions: {secrets: {API_KEY: {}}}\n",
        scope="user",
    )
    rule = "{name: rm-asks, when: {command: rm, caller: person}, decision: ask}"
    configure(
        place,
        f"security: {{rules: [{rule}]}}\napprovals: {{webhook: {{url: '{web.url}/'}}}}\n",
    )

    done = tongs("tool", "run", "clean", "DIR=./hunter22", env={"API_KEY": "hunter22"})

    (asked,) = web.asked
    assert "[redacted]" in asked.json["reason"]
    kept = tongs("audit", "export", "--json").stdout
    assert "rm-asks" in kept
    assert "hunter22" not in json.dumps(asked.json) + done.stdout + done.stderr + kept


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(500), "it answered with status 500"),
        (Reply.redirect("http://example.org/"), "it answered with status 302"),
        (Reply.of({"approved": "yes"}), '`"approved": true`'),
        (Reply.of({"approved": False, "reason": "after hours"}), "after hours"),
        (Reply(200, b'{"a":' * 100_000), "nested too deeply"),
    ],
)
def test_what_a_server_says_otherwise_is_a_denial(
    place: Place, shout: Path, tongs: Run, web: Web, reply: Reply, reason: str
) -> None:
    web.answer = lambda asked: reply
    configure(place, f"approvals: {{webhook: {{url: '{web.url}/'}}}}\n")
    done = tongs("tool", "run", "shout", "WHO=me")

    assert (done.stdout, done.code) == ("", 3)
    assert reason in done.stderr


def test_a_server_may_leave_the_answer_to_somebody_else(
    place: Place, shout: Path, tongs: Run, web: Web
) -> None:
    web.answer = lambda asked: Reply(202)
    configure(place, f"approvals: {{wait: 1m, webhook: {{url: '{web.url}'}}}}\n")
    call = Waiting(place, "WHO=me")
    assert tongs("approvals", "approve", waiting(tongs)).code == 0
    done = call.end()

    assert (done.stdout, done.code) == ("to me\n", 0)


def test_always_for_a_path_is_asked_once(place: Place, tmux: Tmux, tongs: Run) -> None:
    place.tool(
        "show",
        "bash: cat {FILE}\nparameters: {FILE: {}}\n"
        "approval: {required: true, reason: it reads}\ntags: [read]\n",
        scope="user",
    )
    for name in ("src/a", "src/deep/b", "c"):
        file = place.project / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"text of {name}\n", encoding="utf-8")
    tmux.wait_for("$")
    tmux.line(f"clear; {TONGS} tool run show FILE=src/a; echo exit $?")
    tmux.wait_for(QUESTION.strip())
    tmux.line("A")
    tmux.wait_for("2  show where FILE lies below a folder")
    tmux.line("2")
    tmux.wait_for(f"below which folder [{place.project}/src]:")
    tmux.line("")
    tmux.wait_for("[s]ession  [p]roject  [u]ser")
    tmux.line("p")
    tmux.wait_for("until when")
    tmux.line("8h")
    screen = tmux.wait_for("exit 0")
    print(screen)
    assert (
        f"always allow: show where FILE lies in {place.project}/src/**, in this project" in screen
    )
    assert "text of src/a" in screen

    again, outside = (
        tongs("tool", "run", "show", "FILE=src/deep/b"),
        tongs("tool", "run", "show", "FILE=src/../c"),
    )
    assert (again.stdout, again.code) == ("text of src/deep/b\n", 0)
    assert (outside.stdout, outside.code) == ("", 3)
    (entry,) = json.loads(tongs("approvals", "list", "--json").stdout)
    assert entry["decision"] == "always"
    assert entry["when"] == {
        "tool": "show",
        "argument": {"FILE": {"path": [f"{place.project}/src/**"]}},
    }
    assert (entry["span"], entry["project"]) == ("project", str(place.project))
    assert (entry["answers"], entry["caller"]) == ("approval.required", "person user")

    revoked = tongs("approvals", "revoke", entry["id"])
    assert revoked.stderr.startswith(f"revoked {entry['id']}: always show where FILE lies in")
    assert tongs("tool", "run", "show", "FILE=src/a").code == 3


def test_the_file_of_decisions_is_readable_and_the_persons_own(
    place: Place, shout: Path, screen: Show, tongs: Run
) -> None:
    shown = screen("tool", "run", "shout", "WHO=é\u202e\U0001f600")
    for question, typed in [(QUESTION, "A\n"), ("(empty: back): ", "1\n"), ("[u]ser", "u\n")]:
        shown.wait_for(question)
        shown.type(typed)
    shown.wait_for("until when")
    shown.type("\n")
    assert shown.end() == 0

    file = place.state / "approvals.yml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    text = file.read_text(encoding="utf-8")
    assert "\u202e" not in text
    (entry,) = yaml.safe_load(text)["decisions"]
    assert entry["when"] == {"tool": "shout", "arguments": {"WHO": "é\u202e\U0001f600", "N": 1}}
    assert tongs("tool", "run", "shout", "WHO=é\u202e\U0001f600").code == 0
    # Another program could have written it, and a person may.
    assert os.listdir(place.state) >= ["approvals.yml"]
    assert tongs("approvals", "list").stdout.splitlines()[1].split()[1:4] == [
        "always",
        "user",
        "revoked",
    ]


def test_always_holds_for_this_definition_only(
    place: Place, shout: Path, screen: Show, tongs: Run
) -> None:
    shown = screen("tool", "run", "shout", "WHO=me")
    for question, typed in [(QUESTION, "A\n"), ("(empty: back): ", "3\n"), ("[u]ser", "u\n")]:
        shown.wait_for(question)
        shown.type(typed)
    shown.wait_for("until when")
    shown.type("\n")
    assert shown.end() == 0
    assert tongs("tool", "run", "shout", "WHO=anybody").stdout == "to anybody\n"

    place.tool("shout", TEXT.replace("[.]", "[., /etc]"), scope="user")

    assert tongs("tool", "run", "shout", "WHO=me").code == 3


def test_never_denies_whatever_would_allow_it(shout: Path, screen: Show, tongs: Run) -> None:
    shown = screen("tool", "run", "shout", "WHO=me")
    for question, typed in [
        (QUESTION, "N\n"),
        ("(empty: back): ", "2\n"),
        ("(WHO, N): ", "WHO\n"),
        ("[u]ser", "p\n"),
        ("until when", "\n"),
        ("why (optional): ", "they sleep\n"),
    ]:
        shown.wait_for(question)
        shown.type(typed)
    assert shown.end() == 3

    denied = tongs("--auto-approve", "shout", "tool", "run", "shout", "WHO=me", "N=7", "--yes")
    other = tongs("tool", "run", "shout", "WHO=you", "--yes")

    assert (denied.stdout, denied.code) == ("", 3)
    assert "never to allow it (they sleep)" in denied.stderr
    assert "tongs approvals revoke" in denied.stderr
    assert other.stdout == "to you\n"


def test_a_file_of_decisions_that_nobody_understands_stops_calls(
    place: Place, shout: Path, tongs: Run
) -> None:
    place.state.mkdir(exist_ok=True, mode=0o700)
    (place.state / "approvals.yml").write_text("decisions: [{id: x}]\n", encoding="utf-8")

    done = tongs("tool", "run", "shout", "WHO=me", "--yes")

    assert (done.stdout, done.code) == ("", 3)
    assert "approvals.yml cannot be used: decision 1" in done.stderr


def test_what_is_raw_is_said_before_it_is_always_allowed(place: Place, screen: Show) -> None:
    place.tool(
        "raw",
        "bash: echo {RAW:CMD}\nparameters: {CMD: {}}\n"
        "approval: {required: true, reason: it runs anything}\n",
        scope="user",
    )
    shown = screen("tool", "run", "raw", "CMD=x")
    for question, typed in [(QUESTION, "A\n"), ("(empty: back): ", "3\n"), ("[u]ser", "u\n")]:
        shown.wait_for(question)
        shown.type(typed)
    shown.wait_for("until when")
    shown.type("\n")
    shown.wait_for("allow that without a question? [y/N] ")
    assert "! CMD is RAW: whatever is in it runs as code" in shown.text
    assert "! raw is of level run: its arguments decide what it does" in shown.text
    shown.type("n\n")
    shown.wait_for(QUESTION)
    shown.type("d\n")
    shown.wait_for("why")
    shown.type("\n")

    assert shown.end() == 3
    assert not (place.state / "approvals.yml").exists()


def test_the_persons_own_editor_edits(place: Place, shout: Path, screen: Show) -> None:
    editor = place.user / "edit"
    editor.write_text('#!/bin/sh\nsed -i s/me/all/ "$1"\n', encoding="utf-8")
    editor.chmod(0o755)
    shown = screen("tool", "run", "shout", "WHO=me", env={"EDITOR": str(editor)})
    shown.wait_for(QUESTION)
    shown.type("E\n")

    assert shown.end() == 0
    assert "to all\n" in shown.text


def test_a_waiting_call_is_edited_from_another_terminal(
    place: Place, shout: Path, tongs: Run, screen: Show
) -> None:
    call = Waiting(place, "WHO=me", "--wait", "1m")
    shown = screen("approvals", "approve", waiting(tongs), "--edit", env={"TERM": "dumb"})
    shown.wait_for("(empty: back): ")
    shown.type('{"WHO": "all"}\n')

    assert shown.end() == 0
    assert call.end().stdout == "to all\n"


def test_long_values_are_cut_and_shown_on_request(shout: Path, screen: Show) -> None:
    shown = screen("tool", "run", "shout", f"WHO={'a' * 300}MIDDLE{'z' * 300}")
    shown.wait_for(QUESTION)
    assert "characters …" in shown.text
    assert "(cut where it says …; v shows everything)" in shown.text
    assert "MIDDLE" not in shown.text
    shown.type("v\n")
    shown.wait_for("MIDDLE")
    shown.wait_for(QUESTION)
    shown.type("?\n")
    shown.wait_for("tongs approvals revoke ID")
    shown.wait_for(QUESTION)
    shown.type("d\n")
    shown.wait_for("why")
    shown.type("\n")
    assert shown.end() == 3


def test_programs_read_every_command_as_json(shout: Path, tongs: Run) -> None:
    def pending() -> str:
        done = tongs("tool", "run", "shout", "WHO=me", "--wait", "0", "--json")
        return str(json.loads(done.stdout)["error"]["details"]["approval"])

    first = pending()
    table = tongs("approvals", "pending").stdout.splitlines()
    shown = json.loads(tongs("approvals", "pending", first, "--json").stdout)
    denied = json.loads(tongs("approvals", "deny", first, "--reason", "no", "--json").stdout)
    tongs("tool", "run", "shout", "WHO=me", "--wait", "0")
    approved = json.loads(tongs("approvals", "approve", pending(), "--json").stdout)

    assert table[0].split() == ["ID", "TOOL", "ASKED", "BY", "RULE", "AGO", "WAITING"]
    assert table[1].split()[:4] == [first, "shout", "user", "approval.required"]
    assert shown["request"]["args"] == {"WHO": "me", "N": 1}
    assert (shown["id"], shown["awaited"]) == (first, False)
    assert denied == {**shown, "approved": False, "reason": "no"}
    assert (approved["approved"], approved["modifiedArgs"]) == (True, None)
    assert json.loads(tongs("approvals", "list", "--json").stdout) == []
    assert tongs("approvals", "pending").stderr == "nothing waits for an approval\n"
    assert tongs("approvals", "revoke", "x").code == 2


@pytest.mark.parametrize("text", ["{", "[]", "7"])
def test_arguments_that_are_no_object_are_refused(shout: Path, tongs: Run, text: str) -> None:
    tongs("tool", "run", "shout", "WHO=me", "--wait", "0")
    question = waiting(tongs)

    done = tongs("approvals", "approve", question, "--arguments", text)
    headless = tongs("approvals", "approve", question, "--edit")
    both = tongs("approvals", "approve", question, "--edit", "--arguments", "{}")

    assert (done.code, "--arguments" in done.stderr) == (2, True)
    assert (headless.code, "there is no terminal to edit on" in headless.stderr) == (3, True)
    assert (both.code, "exclude each other" in both.stderr) == (2, True)
