"""The way to each provider, on the wire: what is sent, what is made of what comes back."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import json
import socket
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import Any

import pytest
from tests.model_servers import ModelServer, Turn, openai_delta, refusals
from tests.web import Reply, Web

from tongs.agent.pydantic_models import ProviderModel
from tongs.config.settings import ModelConfig, Reference
from tongs.core.conversation import (
    CallAnswered,
    CallArriving,
    CallMade,
    Finished,
    Message,
    ModelEvent,
    ModelFailed,
    ModelSaid,
    TextArrived,
    ThinkingArrived,
    ToolsAnswered,
    Usage,
    UserSaid,
    message_of,
)
from tongs.core.tool import Tool
from tongs.registry.export import export

Serve = Callable[..., ModelServer]

KEY = "sk-test-4f8d1c0ab97e"
PROVIDERS = {"openai": "openai", "anthropic": "anthropic", "google": "google"}
FORMS = {"openai": "openai", "anthropic": "anthropic", "google": "gemini"}
everywhere = pytest.mark.parametrize("protocol", ["openai", "anthropic", "google"])


def model(server: ModelServer | str, protocol: str = "openai", **more: Any) -> ProviderModel:
    address = server if isinstance(server, str) else server.base_url
    key = more.pop("key", KEY)
    reference = Reference("env:SOME_KEY", "config.yml:3") if key else None
    config = ModelConfig(PROVIDERS[protocol], "m", address, reference, **more)
    return ProviderModel("mine", config, key)


def heard(
    asked: ProviderModel, *messages: Message, tools: Any = (), instructions: str = ""
) -> list[ModelEvent]:
    async def listen() -> list[ModelEvent]:
        said = messages or (UserSaid("hi"),)
        try:
            return [event async for event in asked.stream(said, tools, instructions)]
        finally:
            await asked.aclose()

    return asyncio.run(listen())


def failure(asked: ProviderModel) -> ModelFailed:
    with pytest.raises(ModelFailed) as failed:
        heard(asked)
    return failed.value


def last(events: list[ModelEvent]) -> Finished:
    finished = events[-1]
    assert isinstance(finished, Finished)
    return finished


@everywhere
def test_text_arrives_as_it_is_said(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(text=["Hel", "lo"]))

    events = heard(model(server, protocol))

    said = ModelSaid("Hello", (), Usage(11, 7), "mine")
    assert events == [TextArrived("Hel"), TextArrived("lo"), Finished(said, "end")]


@everywhere
def test_several_calls_of_one_turn(protocol: str, model_server: Serve) -> None:
    calls = [("look", {"at": "a"}), ("look", {"at": "b"})]
    server = model_server(protocol, Turn(text=["Let me see."], calls=calls))

    events = heard(model(server, protocol))

    done = last(events)
    assert done.stop == "calls"
    assert [(call.name, call.arguments) for call in done.said.calls] == calls
    ids = [call.id for call in done.said.calls]
    assert len(set(ids)) == 2
    assert [each for each in events if isinstance(each, CallArriving)] == [
        CallArriving(ids[0], "look"),
        CallArriving(ids[1], "look"),
    ]


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
@pytest.mark.parametrize(
    ("written", "error"),
    [
        ('{"at": "a', "not valid JSON"),
        ('["a"]', "not a JSON object"),
        ('{"at": NaN}', "not valid JSON"),
        ("[" * 9999, "not valid JSON"),
    ],
)
def test_arguments_that_are_no_object_are_kept_as_they_came(
    protocol: str, written: str, error: str, model_server: Serve
) -> None:
    server = model_server(protocol, Turn(calls=[("look", written), ("look", {"at": "b"})]))

    done = last(heard(model(server, protocol)))

    wrong, right = done.said.calls
    assert (wrong.arguments, wrong.raw) == (None, written)
    assert error in wrong.error
    assert (right.arguments, right.error) == ({"at": "b"}, "")
    assert done.stop == "calls"


@pytest.mark.parametrize("protocol", ["openai", "anthropic"])
def test_a_call_without_arguments_has_none(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(calls=[("look", "")]))

    [call] = last(heard(model(server, protocol))).said.calls

    assert (call.arguments, call.error) == ({}, "")


@everywhere
def test_an_answer_that_is_cut_short_or_refused_says_so(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(["x"], stop="length"), Turn(["No."], stop="refusal"))
    asked = model(server, protocol)

    stops = [last(heard(asked)) for _ in range(2)]

    assert [each.stop for each in stops] == ["length", "refusal"]
    assert stops[1].said.text == "No."


@everywhere
def test_what_was_said_is_said_back(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol)
    calls = (CallMade("i1", "look", {"at": "a"}), CallMade("i2", "look", None, '{"at', "wrong"))
    answers = (
        CallAnswered("i1", "look", "a tree", ok=True),
        CallAnswered("i2", "look", "no", ok=False),
    )

    heard(
        model(server, protocol),
        *(UserSaid("look at a"), ModelSaid("I look.", calls), ToolsAnswered(answers)),
        UserSaid("and?"),
        instructions="Be short.",
    )

    assert _shown(protocol, server.asked[0].json) == [
        "Be short.",
        "user: look at a",
        'model: I look. look({"at": "a"}) look({"not_valid_json": "{\\"at"})',
        "tools: a tree, no",
        "user: and?",
    ]


def _shown(protocol: str, body: Any) -> list[str]:
    """What a request says, whatever the protocol."""
    return {"openai": _openai_shown, "anthropic": _anthropic_shown, "google": _google_shown}[
        protocol
    ](body)


def _openai_shown(body: Any) -> list[str]:
    lines: list[str] = []
    for message in body["messages"]:
        match message["role"]:
            case "system":
                lines.append(message["content"])
            case "user":
                lines.append(f"user: {message['content']}")
            case "assistant":
                called = [each["function"] for each in message["tool_calls"]]
                shown = [f"{each['name']}({_json(each['arguments'])})" for each in called]
                lines.append(f"model: {' '.join([message['content'], *shown])}")
            case "tool" if lines[-1].startswith("tools: "):
                lines[-1] += f", {message['content']}"
            case "tool":
                lines.append(f"tools: {message['content']}")
    return lines


def _anthropic_shown(body: Any) -> list[str]:
    lines = [block["text"] for block in body["system"]]
    for message in body["messages"]:
        results = [block for block in message["content"] if block["type"] == "tool_result"]
        texts = [block["text"] for block in message["content"] if block["type"] == "text"]
        if results:
            lines.append(f"tools: {', '.join(_plain(each['content']) for each in results)}")
            assert [each["is_error"] for each in results] == [False, True]
        if message["role"] == "user":
            lines += [f"user: {text}" for text in texts]
        else:
            uses = [block for block in message["content"] if block["type"] == "tool_use"]
            shown = [f"{each['name']}({_json(each['input'])})" for each in uses]
            lines.append(f"model: {' '.join([*texts, *shown])}")
    return lines


def _google_shown(body: Any) -> list[str]:
    lines = [part["text"] for part in body["systemInstruction"]["parts"]]
    for content in body["contents"]:
        parts = content["parts"]
        texts = [part["text"] for part in parts if "text" in part]
        results = [part["functionResponse"] for part in parts if "functionResponse" in part]
        calls = [part["functionCall"] for part in parts if "functionCall" in part]
        if results:
            told = [next(iter(each["response"].values())) for each in results]
            lines.append(f"tools: {', '.join(told)}")
        if content["role"] == "user":
            lines += [f"user: {text}" for text in texts]
        else:
            shown = [f"{each['name']}({_json(each['args'])})" for each in calls]
            lines.append(f"model: {' '.join([*texts, *shown])}")
    return lines


def _json(arguments: Any) -> str:
    return json.dumps(json.loads(arguments) if isinstance(arguments, str) else arguments)


def _plain(content: Any) -> str:
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


@pytest.mark.parametrize("protocol", ["anthropic", "google"])
def test_what_a_model_thought_goes_back_with_its_signature(
    protocol: str, model_server: Serve
) -> None:
    server = model_server(
        protocol, Turn(calls=[("look", {"at": "a"})], thinking="Hm."), Turn(["ok"])
    )
    asked = model(server, protocol)
    events = heard(asked)
    said = last(events).said
    answers = ToolsAnswered((CallAnswered(said.calls[0].id, "look", "a tree", ok=True),))

    kept = message_of(json.loads(json.dumps(said.to_data())))
    heard(asked, UserSaid("hi"), kept, answers)

    assert ThinkingArrived("Hm.") in events
    assert "c2lnbmVk" in server.asked[1].body.decode()


def test_what_another_provider_thought_does_not_go_along(model_server: Serve) -> None:
    first = model_server("anthropic", Turn(["Yes."], thinking="Secretly."))
    said = last(heard(model(first, "anthropic"))).said
    second = model_server("openai")

    heard(model(second), UserSaid("hi"), said, UserSaid("sure?"))

    sent = second.asked[0].body.decode()
    assert "Yes." in sent
    assert "Secretly" not in sent


@everywhere
def test_details_of_another_version_are_left_out(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol)
    said = ModelSaid("Yes.", details={"provider": PROVIDERS[protocol], "response": {"kind": 7}})

    heard(model(server, protocol), UserSaid("hi"), said, UserSaid("sure?"))

    assert "Yes." in server.asked[0].body.decode()


@everywhere
def test_schemas_are_fitted_once(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol)
    properties = {"at": {"type": ["string", "null"], "description": "where", "minLength": 1}}
    schema = {"type": "object", "properties": properties, "required": ["at"]}
    tools = [Tool("look", "Looks there", schema), Tool("stop", "Stops", {"type": "object"})]

    heard(model(server, protocol), tools=export(tools, FORMS[protocol]).data)

    sent = server.asked[0].json["tools"]
    if protocol == "openai":
        assert sent == export(tools, "openai").data
    elif protocol == "anthropic":
        assert sent == export(tools, "anthropic").data
    else:
        [look, stop] = [each for group in sent for each in group["functionDeclarations"]]
        assert (look["name"], look["description"]) == ("look", "Looks there")
        [sent_schema] = [
            look[key] for key in look if key.lower().replace("_", "").endswith("jsonschema")
        ]
        assert sent_schema["properties"] == properties
        assert stop["name"] == "stop"


def test_strict_schemas_stay_strict(model_server: Serve) -> None:
    server = model_server()
    schema = {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}
    tools = export([Tool("look", "Looks", schema)], "openai", strict=True).data

    heard(model(server), tools=tools)

    assert server.asked[0].json["tools"] == tools


def test_settings_are_sent(model_server: Serve) -> None:
    server = model_server()
    settings = {
        "temperature": 0,
        "max_tokens": 5,
        "seed": 3,
        "top_p": 0.5,
        "stop": ["."],
        "timeout": 9,
    }

    heard(model(server, settings=settings))

    body = server.asked[0].json
    assert {key: body[key] for key in ("temperature", "seed", "top_p", "stop")} == {
        "temperature": 0,
        "seed": 3,
        "top_p": 0.5,
        "stop": ["."],
    }
    assert 5 in (body.get("max_tokens"), body.get("max_completion_tokens"))


@everywhere
@pytest.mark.parametrize(
    "kind", ["auth", "rate", "context", "bad-request", "unavailable", "server"]
)
def test_each_failure_has_its_kind_and_is_tried_once(
    protocol: str, kind: str, model_server: Serve
) -> None:
    turn = refusals(protocol)[kind]
    server = model_server(protocol, turn)

    failed = failure(model(server, protocol))

    assert (failed.kind, bool(failed.hint), failed.__cause__) == (kind, True, None)
    assert turn.body["error"]["message"] in failed.message
    assert len(server.asked) == 1


@everywhere
def test_a_rate_limit_says_how_long_to_wait(protocol: str, model_server: Serve) -> None:
    wrong = refusals(protocol)["rate"]
    turn = Turn(status=429, body=wrong.body, headers={"Retry-After": "7"})

    failed = failure(model(model_server(protocol, turn), protocol))

    assert (failed.kind, failed.retry_after) == ("rate", 7.0)


@pytest.mark.parametrize(
    "message",
    [
        "the request exceeds the available context size. try increasing it",
        "This model's maximum context length is 4096 tokens. However, you requested 5000",
        "Trying to keep the first 5000 tokens when context length is 4096",
    ],
)
def test_servers_of_ones_own_say_too_long_in_their_words(message: str, model_server: Serve) -> None:
    turn = Turn(status=400, body={"error": {"message": message, "code": 400}})

    assert (failure(model(model_server("openai", turn)))).kind == "context"


@everywhere
def test_an_answer_that_breaks_off_is_no_answer(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(text=["Hel"], cut=True))

    failed = failure(model(server, protocol))

    assert failed.kind == "connection"
    assert "broke off" in failed.message


_IN_THE_MIDDLE: dict[str, Any] = {
    "openai": {"error": {"message": "Overloaded", "type": "server_error", "code": None}},
    "anthropic": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "google": {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}},
}


@everywhere
def test_a_failure_in_the_middle_of_an_answer_is_one(protocol: str, model_server: Serve) -> None:
    name = "event: error\n" if protocol == "anthropic" else ""
    raw = f"{name}data: {json.dumps(_IN_THE_MIDDLE[protocol])}\n\n".encode()
    server = model_server(protocol, Turn(text=["Hel"], raw=raw))

    failed = failure(model(server, protocol))

    assert (failed.kind, "Overloaded" in failed.message) == ("server", True)


def test_a_prompt_that_google_blocks_is_a_refusal(model_server: Serve) -> None:
    blocked = b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\n\n'

    assert last(heard(model(model_server("google", Turn(raw=blocked)), "google"))).stop == "refusal"


@pytest.mark.parametrize("protocol", ["openai", "google"])
def test_an_answer_that_is_no_json_is_no_answer(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(text=["Hel"], raw=b"data: {nonsense\n\n"))

    assert (failure(model(server, protocol))).kind == "connection"


@everywhere
def test_a_page_instead_of_an_api_is_told(protocol: str, web: Web) -> None:
    web.answer = lambda asked: Reply(200, b"<html>Welcome</html>", {"Content-Type": "text/html"})

    failed = failure(model(web.url, protocol))

    assert failed.kind in ("connection", "server")
    assert "Traceback" not in failed.message


def test_nobody_listening_asks_whether_the_server_runs() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"

        failed = failure(model(address))

    assert failed.kind == "unavailable"
    assert f"is the server running? Its address is base_url: {address}" in failed.hint


def test_silence_ends_after_the_time_given(model_server: Serve) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"

        failed = failure(model(address, settings={"timeout": 0.05}))

    assert (failed.kind, "in time" in failed.message) == ("connection", True)


@everywhere
@pytest.mark.parametrize("said", [(), ("Once",)])
def test_signs_of_life_are_no_answer(
    protocol: str, said: tuple[str, ...], model_server: Serve
) -> None:
    server = model_server(protocol, Turn(text=said, hold=True))

    failed = failure(model(server, protocol, settings={"content_timeout": 0.1}))

    assert failed.kind == "unavailable"
    assert "nothing of an answer for 0.1s" in failed.message
    assert "settings: {content_timeout: 2h}" in failed.hint
    # On a slow machine the time is over before anything is asked.
    assert not server.asked or server.gone.wait(5)


def test_an_error_that_never_ends_is_no_answer() -> None:
    hung_up = threading.Event()

    def drips() -> Iterator[bytes]:
        while not hung_up.wait(0.005):
            yield b" "

    with served(b"HTTP/1.1 500 Oh\r\nContent-Length: 60000\r\n\r\n", drips()) as address:
        failed = failure(model(address, settings={"content_timeout": 0.05}))
        hung_up.set()

    assert "nothing of an answer for 0.05s" in failed.message


@everywhere
def test_to_close_the_stream_ends_the_request(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(text=["Once"], hold=True))
    asked = model(server, protocol)

    async def hang_up() -> bool:
        async with aclosing(asked.stream([UserSaid("a tale")], (), "")) as events:
            assert await anext(events) == TextArrived("Once")
        return await asyncio.to_thread(server.gone.wait, 5)

    assert asyncio.run(hang_up())


@everywhere
def test_a_cancelled_task_ends_the_request(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol, Turn(text=["Once"], hold=True))
    asked = model(server, protocol)

    async def give_up() -> bool:
        begun = asyncio.Event()

        async def listen() -> None:
            async for _ in asked.stream([UserSaid("a tale")], (), ""):
                begun.set()

        task = asyncio.create_task(listen())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asyncio.to_thread(server.gone.wait, 5)

    assert asyncio.run(give_up())


@everywhere
def test_the_key_goes_to_its_server_and_is_told_to_nobody(
    protocol: str, model_server: Serve
) -> None:
    body = {"error": {"message": f"Incorrect key: {KEY}", "type": "x", "status": "UNAUTHENTICATED"}}
    server = model_server(protocol, Turn(status=401, body=body))
    asked = model(server, protocol)

    failed = failure(asked)

    assert KEY in " ".join(server.asked[0].headers.values())
    assert KEY not in f"{failed.message}{failed.hint}{failed!r}{asked!r}"
    assert "[redacted]" in failed.message


def test_half_a_key_is_not_told_where_a_message_is_cut(model_server: Serve) -> None:
    said = "x" * 290 + KEY

    failed = failure(
        model(model_server("openai", Turn(status=400, body={"error": {"message": said}})))
    )

    assert KEY[:5] not in failed.message


@everywhere
def test_without_a_key_none_is_sent(protocol: str, model_server: Serve) -> None:
    server = model_server(protocol)

    heard(model(server, protocol, key=""))

    sent = server.asked[0].headers
    assert {"authorization", "x-api-key", "x-goog-api-key"}.isdisjoint(sent)


@everywhere
def test_a_redirect_is_not_followed(protocol: str, model_server: Serve, other: Web) -> None:
    away = Turn(status=307, body={}, headers={"Location": f"{other.url}/v1/chat/completions"})

    failed = failure(model(model_server(protocol, away), protocol))

    assert "another address (307)" in failed.message
    assert other.asked == []


@everywhere
def test_nothing_comes_from_the_environment(
    protocol: str, model_server: Serve, other: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = model_server(protocol)
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL", "HTTP_PROXY"):
        monkeypatch.setenv(name, other.url)
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.setenv(name, "another-key")
    for name in ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    for name in ("ANTHROPIC_CUSTOM_HEADERS", "OPENAI_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Own: from-the-environment")
    monkeypatch.setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")

    heard(model(server, protocol))

    [asked] = server.asked
    assert other.asked == []
    sent = " ".join(asked.headers.values())
    assert "another-key" not in sent
    assert "from-the-environment" not in sent


def test_the_proxy_that_is_named_is_used(web: Web, model_server: Serve) -> None:
    config = ModelConfig("openai-compatible", "m", "http://models.invalid/v1")
    asked = ProviderModel("mine", config, proxy=web.url)

    with pytest.raises(ModelFailed):
        heard(asked)

    assert web.asked[0].target == "http://models.invalid/v1/chat/completions"


def test_one_model_serves_one_event_loop_after_the_other(model_server: Serve) -> None:
    asked = model(model_server())

    async def once() -> str:
        events = [event async for event in asked.stream([UserSaid("hi")], (), "")]
        return last(events).said.text

    assert [asyncio.run(once()) for _ in range(2)] == ["ok", "ok"]


def test_what_is_loaded_ahead_in_another_thread_is_used(model_server: Serve) -> None:
    asked = model(model_server("openai", Turn(text=["ok"])))
    ahead = [threading.Thread(target=asked.load) for _ in range(2)]
    for thread in ahead:
        thread.start()
    assert last(heard(asked)).said.text == "ok"
    for thread in ahead:
        thread.join()


def test_a_missing_extra_says_how_to_get_it(
    model_server: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The import system's own way to say that there is no such package.
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)

    failed = failure(model(model_server()))

    assert (failed.kind, failed.hint) == ("unavailable", "pip install 'tongs[chat]'")


@everywhere
def test_a_wild_call_can_be_said_back(protocol: str, model_server: Serve) -> None:
    """It stands in the conversation from then on; twin: the name as it came is what is kept."""
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"x": deep}
    wild = Turn(text=["a\ud800b"], calls=[("lo\x1bok\ud800", {}), ("look", deep)])
    server = model_server(protocol, wild, Turn(text=["ok"]))
    said = last(heard(model(server, protocol))).said

    answers = tuple(CallAnswered(call.id, call.name, "no", ok=False) for call in said.calls)
    events = heard(model(server, protocol), UserSaid("hi"), said, ToolsAnswered(answers))

    assert last(events).said.text == "ok"
    assert [call.name for call in said.calls] == ["lo\x1bok\ufffd", "look"]
    assert "lo_ok_" in server.asked[-1].body.decode()
    assert "\\u001b" not in server.asked[-1].body.decode()


@pytest.mark.parametrize("thinking", ["", "hm"])
def test_calls_of_one_id_are_told_apart(thinking: str, model_server: Serve) -> None:
    calls = [("look", {"at": "a"}), ("look", {"at": "b"})]
    server = model_server("anthropic", Turn(thinking=thinking, calls=calls), Turn(text=["ok"]))
    server.renamed = ("toolu_2", "toolu_1")
    said = last(heard(model(server, "anthropic"))).said
    assert [call.id for call in said.calls] == ["toolu_1", "toolu_1-1"]

    answers = tuple(CallAnswered(call.id, call.name, "no", ok=False) for call in said.calls)
    heard(model(server, "anthropic"), UserSaid("hi"), said, ToolsAnswered(answers))

    _, made, answered = json.loads(server.asked[-1].body)["messages"]
    used = [block["id"] for block in made["content"] if block["type"] == "tool_use"]
    assert (
        used == [block["tool_use_id"] for block in answered["content"]] == ["toolu_1", "toolu_1-1"]
    )


def test_a_call_that_was_cut_off_is_not_taken_for_one_without_arguments(
    model_server: Serve,
) -> None:
    for stop, arguments in (("end", {}), ("length", None)):
        server = model_server("openai", Turn(calls=[("clean", "")], stop=stop))
        assert last(heard(model(server))).said.calls[0].arguments == arguments


STREAMED = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
END = openai_delta({}, "stop") + b"data: [DONE]\n\n"


@contextmanager
def served(head: bytes, pieces: Iterable[bytes]) -> Iterator[str]:
    """A server that says just this, without an end where the pieces have none."""
    web = Web(lambda asked: Reply(pieces=itertools.chain([head], pieces)))
    try:
        yield f"{web.url}/v1"
    finally:
        web.close()


ENDLESS = {
    "a line": itertools.repeat(b"data: " + b"x" * 65536),
    "words": itertools.repeat(openai_delta({"content": "x" * 65536})),
    "arguments": itertools.chain(
        [openai_delta({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look"}}]})],
        itertools.repeat(
            openai_delta({"tool_calls": [{"index": 0, "function": {"arguments": "x" * 65536}}]})
        ),
    ),
}


@pytest.mark.parametrize("what", ENDLESS)
def test_an_answer_without_an_end_is_given_up(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tongs.agent.bounded.MOST_SENT", 4 * 1024 * 1024)
    monkeypatch.setattr("tongs.agent.bounded.MOST_SAID", 1024 * 1024)
    with served(STREAMED, ENDLESS[what]) as address:
        failed = failure(model(address))
    assert (failed.kind, "sends more than" in failed.message) == ("bad-request", True)


@pytest.mark.parametrize("status", [401, 500])
def test_a_page_of_an_error_without_an_end_is_cut(status: int) -> None:
    head = f"HTTP/1.1 {status} No\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n"
    with served(head.encode(), itertools.repeat(b"no " * 1000)) as address:
        failed = failure(model(address))
    assert failed.kind == {401: "auth", 500: "server"}[status]
    assert len(failed.message) < 500


@pytest.mark.parametrize("packed", [True, False])
def test_a_packed_answer_is_not_unpacked(packed: bool) -> None:
    """A thousand times its size may be in it, and nobody asked for one."""
    text = b"".join((*map(openai_delta, ({"role": "assistant"}, {"content": "hi"})), END))
    head = STREAMED.replace(
        b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n" if packed else b"\r\n\r\n"
    )
    with served(head, [gzip.compress(text) if packed else text]) as address:
        if packed:
            assert "packs it unasked" in failure(model(address)).message
        else:
            assert last(heard(model(address))).said.text == "hi"
