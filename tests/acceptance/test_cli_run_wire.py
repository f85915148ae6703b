"""`tongs run` and a provider: servers on the loopback that speak the real protocols."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place, Run
from tests.model_servers import ModelServer, Turn

LOOK = "description: look\nbash: echo seen {X}\nparameters: {X: {}}\ntags: [read]\n"

Serve = Callable[..., ModelServer]


@pytest.fixture
def serve(model_server: Serve) -> Serve:
    def start(*turns: Turn, protocol: str = "openai") -> ModelServer:
        return model_server(protocol, *turns)

    return start


def asked(tongs: Run, server: ModelServer, *arguments: str, **options: Any) -> Outcome:
    return tongs(*words(server), *arguments, **options)


def words(server: ModelServer) -> tuple[str, ...]:
    return ("run", "go", "--model", "openai-compatible:m", "--base-url", server.base_url)


def said_to(server: ModelServer) -> list[dict[str, Any]]:
    """The messages of the last request."""
    messages: list[dict[str, Any]] = json.loads(server.asked[-1].body)["messages"]
    return messages


def test_calls_of_one_turn_are_run_and_answered_on_the_wire(
    place: Place, tongs: Run, serve: Serve
) -> None:
    place.tool("look", LOOK, scope="user")
    calls = [("look", {"X": "one"}), ("look", {"X": "two"}), ("look", '{"X": '), ("lock", {})]
    server = serve(Turn(text=["I ", "look."], calls=calls), Turn(text=["Both ", "seen."]))
    done = asked(tongs, server, "--auto-approve", "tool:read")
    assert (done.stdout, done.code) == ("I look.\nBoth seen.\n", 0)
    answers = [each["content"] for each in said_to(server) if each["role"] == "tool"]
    assert answers[:2] == ["seen one\n", "seen two\n"]
    assert "INVALID_ARGUMENTS" in answers[2]
    assert "TOOL_NOT_FOUND" in answers[3]


def test_a_rate_limit_is_waited_for(tongs: Run, serve: Serve) -> None:
    limit = Turn(status=429, body={"error": {"message": "slow"}}, headers={"Retry-After": "0"})
    done = asked(tongs, serve(limit, Turn(text=["here"])))
    assert (done.stdout, done.code) == ("here\n", 0)
    assert "waiting: rate: " in done.stderr


def test_what_the_provider_refuses_is_a_sentence(tongs: Run, serve: Serve) -> None:
    wrong = Turn(status=401, body={"error": {"message": "wrong key"}})
    done = asked(tongs, serve(wrong))
    assert (done.code, done.stdout) == (1, "")
    assert done.stderr.startswith("error: auth: ")


def test_half_characters_of_a_model_or_a_person_end_no_conversation(
    place: Place, tongs: Run, serve: Serve
) -> None:
    place.tool("look", LOOK, scope="user")
    wild = Turn(text=["a\ud800b"], calls=[("look", '{"X": "\\ud800"}')])
    server = serve(wild, Turn(text=["k"]), Turn(text=["on"]))
    done = asked(tongs, server, "--auto-approve", "tool:read")
    assert (done.stdout, done.code) == ("a\ufffdb\nk\n", 0), done.stderr
    done = asked(tongs, server, os.fsdecode(b"caf\xe9"), "--continue")
    assert (done.stdout, done.code) == ("on\n", 0), done.stderr
    assert said_to(server)[-1]["content"] == "go caf\ufffd"


@pytest.mark.parametrize("words", ["no", "no\ncall: delete {}\ndone: delete (0.1 s)"])
def test_a_refusal_stands_on_one_line(tongs: Run, serve: Serve, words: str) -> None:
    done = asked(tongs, serve(Turn(text=[words], stop="refusal")))
    assert [line.partition(":")[0] for line in done.stderr.splitlines()] == ["error", "hint"]


@pytest.mark.full
def test_a_call_that_is_cut_off_does_not_run_and_the_model_is_asked_again(
    place: Place, tongs: Run, serve: Serve
) -> None:
    place.tool("look", LOOK, scope="user")
    cut = Turn(calls=[("look", {"X": "one"})], cut=True)
    done = asked(tongs, serve(cut, Turn(text=["Again."])), "--auto-approve", "tool:read")
    assert (done.stdout, done.code) == ("Again.\n", 0)
    assert "waiting: connection: " in done.stderr
    assert "call: look" not in done.stderr


def test_an_answer_that_never_goes_on_is_given_up(place: Place, tongs: Run, serve: Serve) -> None:
    server = serve(Turn(text=["so far"], hold=True))
    (place.user / "config.yml").write_text(
        "models:\n  m: {provider: openai-compatible, model: m, settings: {content_timeout: 100ms},"
        f" base_url: '{server.base_url}'}}\n"
    )
    done = tongs("run", "go", "--no-tools")
    assert (done.stdout, done.code) == ("so far\n", 1)
    assert "nothing of an answer for 0.1s\nhint: see what the server does, or" in done.stderr
    assert server.gone.wait(20)
    (kept,) = json.loads(tongs("chat", "--list", "--json").stdout)
    assert (kept["title"], kept["messages"]) == ("go", 2)


def test_ctrl_c_ends_the_request_on_the_wire(place: Place, serve: Serve) -> None:
    server = serve(Turn(text=["so far"], hold=True))
    running = subprocess.Popen(
        [TONGS, *words(server)],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert running.stdout is not None
    with running.stdout:
        assert running.stdout.read(6) == b"so far"
        running.send_signal(signal.SIGINT)
        assert running.wait(20) == 130
    assert server.gone.wait(20)


@pytest.mark.full
def test_a_conversation_with_calls_goes_on_with_another_provider(
    place: Place, tongs: Run, serve: Serve
) -> None:
    place.tool("look", LOOK, scope="user")
    first = serve(Turn(calls=[("look", {"X": "one"})]), Turn(text=["Seen."]))
    assert asked(tongs, first, "--auto-approve", "tool:read").code == 0
    second = serve(Turn(text=["Still."]), protocol="anthropic")
    done = tongs(
        *("run", "and now?", "--continue", "--model", "anthropic:m"),
        *("--base-url", second.base_url),
        env={"ANTHROPIC_API_KEY": "k"},
    )
    assert (done.stdout, done.code) == ("Still.\n", 0), done.stderr
    roles = [each["role"] for each in said_to(second)]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
