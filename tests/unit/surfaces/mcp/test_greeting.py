"""Whatever the greeting answers, the SDK's server would have answered the same."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tongs import Runtime
from tongs.surfaces.mcp.greeting import OLDER, Greeting, greet
from tongs.surfaces.mcp.offers import Offers
from tongs.surfaces.mcp.options import Options

RESERVED = "io.modelcontextprotocol/"
CLIENT = {"name": "test", "version": "1"}
META = {
    f"{RESERVED}protocolVersion": "2026-07-28",
    f"{RESERVED}clientInfo": CLIENT,
    f"{RESERVED}clientCapabilities": {"elicitation": {"form": {}}},
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}
LIST = {"jsonrpc": "2.0", "id": "list", "method": "tools/list"}
PING = {"jsonrpc": "2.0", "id": 7, "method": "ping"}


@pytest.fixture(scope="module")
def runtime(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runtime]:
    root = tmp_path_factory.mktemp("greeting")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "TONGS_HOME", "TONGS_GLOBAL"):
            patch.setenv(name, str(root / name))
            (root / name).mkdir()
        with Runtime.open(root) as opened:
            yield opened


def initialize(version: str = "2025-11-25", **more: Any) -> dict[str, Any]:
    params = {"protocolVersion": version, "capabilities": {}, "clientInfo": CLIENT, **more}
    return {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}


def modern(method: str, number: int = 1, **more: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": {"_meta": META, **more}}


def by_greeting(runtime: Runtime, said: list[Any]) -> list[Any]:
    """Its answers, up to the first message that it leaves to the SDK."""
    greeting = Greeting(Offers(runtime, Options()).listed)
    answers = []
    for message in said:
        answer = greeting.answer(json.dumps(message).encode())
        if answer is None:
            break
        answers += [json.loads(answer)] if answer else []
    return answers


def by_sdk(runtime: Runtime, said: list[Any]) -> list[Any]:
    """The answers of the server itself, on a wire of its own."""
    from mcp.server.lowlevel import NotificationOptions

    from tongs.surfaces.mcp.serving import make_server
    from tongs.surfaces.mcp.wire import Incoming, Outgoing

    async def serve() -> None:
        server = make_server(runtime, Options())
        told = server.create_initialization_options(NotificationOptions(tools_changed=True))
        lines = b"".join(json.dumps(message).encode() + b"\n" for message in said)
        running = asyncio.ensure_future(server.run(Incoming(hears, lines), Outgoing(says), told))
        await asyncio.to_thread(_read, heard, answers, len([m for m in said if "id" in m]))
        os.close(ends)
        await running

    answers: list[Any] = []
    (hears, ends), (heard, says) = os.pipe(), os.pipe()
    try:
        asyncio.run(serve())
    finally:
        for descriptor in (hears, heard, says):
            os.close(descriptor)
    return answers


def _read(descriptor: int, answers: list[Any], count: int) -> None:
    with open(descriptor, encoding="utf-8", closefd=False) as lines:
        for line in lines:
            answers.append(json.loads(line))
            if len(answers) == count:
                return


@pytest.mark.parametrize("version", OLDER)
def test_a_client_of_the_older_era_hears_the_same(runtime: Runtime, version: str) -> None:
    said = [initialize(version), INITIALIZED, PING, LIST]

    answers = by_greeting(runtime, said)

    assert len(answers) == 3
    assert answers == by_sdk(runtime, said)


def test_a_client_of_the_modern_era_hears_the_same(runtime: Runtime) -> None:
    said = [modern("server/discover"), modern("tools/list", 2)]

    answers = by_greeting(runtime, said)

    assert len(answers) == 2
    assert answers == by_sdk(runtime, said)


@pytest.mark.parametrize(
    "capabilities",
    [
        {"roots": {}, "sampling": {}, "elicitation": {}},
        {"roots": {"listChanged": True}},
        {"elicitation": {"form": {}, "url": {}}},
        {"sampling": {"tools": {}, "context": {}}},
        {"experimental": {"x": {"y": 1}}, "extensions": {"io.example/x": {}}},
    ],
)
def test_what_clients_can_is_known(runtime: Runtime, capabilities: Any) -> None:
    client = {**CLIENT, "title": "Test", "description": "Tests"}
    said = [initialize(capabilities=capabilities, clientInfo=client)]

    answers = by_greeting(runtime, said)

    assert len(answers) == 1
    assert answers == by_sdk(runtime, said)


LEFT = {
    "a version that is not known": [initialize("1999-01-01")],
    "more than is known": [initialize(extra=1)],
    "a capability that is not known": [initialize(capabilities={"tasks": {}})],
    "a capability that is wrong": [initialize(capabilities={"roots": {"listChanged": "yes"}})],
    "a client without a name": [initialize(clientInfo={"version": "1"})],
    "a client with icons": [initialize(clientInfo={**CLIENT, "icons": []})],
    "a list before the beginning": [LIST],
    "a ping before the beginning": [PING],
    "news before the beginning": [INITIALIZED],
    "no request": [{"jsonrpc": "2.0", "id": 1, "result": {}}],
    "another JSON-RPC": [{**initialize(), "jsonrpc": "1.0"}],
    "an id that is none": [{**initialize(), "id": True}],
    "no id at all": [{**initialize(), "id": None}],
    "a batch": [[initialize()]],
    "a call": [modern("tools/call", name="x")],
    "a page": [modern("tools/list", cursor="x")],
    "another version of the modern era": [
        {**modern("tools/list"), "params": {"_meta": {**META, f"{RESERVED}protocolVersion": "x"}}}
    ],
}


@pytest.mark.parametrize("said", LEFT.values(), ids=LEFT.keys())
def test_everything_else_is_left_to_the_sdk(runtime: Runtime, said: list[Any]) -> None:
    assert by_greeting(runtime, said) == []


@pytest.mark.parametrize("second", [initialize(), modern("tools/list"), {**PING, "id": 1}])
def test_the_eras_are_not_mixed_and_nothing_is_said_twice(runtime: Runtime, second: Any) -> None:
    assert len(by_greeting(runtime, [initialize(), second])) == 1
    assert len(by_greeting(runtime, [modern("server/discover"), {**initialize(), "id": 2}])) == 1


def test_half_a_character_is_left_to_the_sdk() -> None:
    greeting = Greeting(list)

    assert greeting.answer(json.dumps(initialize()).encode().replace(b"test", b"\\uD83d")) is None
    assert greeting.answer(json.dumps(initialize()).encode())


@pytest.mark.parametrize("line", [b"", b"{", b"\xff", b"\xef\xbb\xbf{}", b"[" * 9999, b" " * 99999])
def test_what_is_no_message_is_left_to_the_sdk(line: bytes) -> None:
    assert Greeting(list).answer(line) is None


PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.sampled_from(["", "x", "2025-11-25", "2.0"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(key=st.sampled_from(["protocolVersion", "capabilities", "clientInfo"]), value=PARTS)
def test_whatever_is_changed_the_sdk_agrees_with_what_is_answered(
    runtime: Runtime, key: str, value: Any
) -> None:
    said = [initialize(**{key: value})]

    if answers := by_greeting(runtime, said):
        assert answers == by_sdk(runtime, said)


def test_what_was_said_is_handed_on_whole(tmp_path: Path) -> None:
    said = b"".join(json.dumps(each).encode() + b"\n" for each in (initialize(), INITIALIZED))
    call = b'{"jsonrpc":"2.0","id":2,"method":"tools/call"}\n{"half'
    (hears, talks), (heard, says) = os.pipe(), os.pipe()
    os.write(talks, said + call)

    found = greet(hears, says, Greeting(list), lambda: None)

    assert (found.begun, list(found.given), found.ended) == (said + call, [1], False)
    assert json.loads(os.read(heard, 65536))["id"] == 1
    for descriptor in (hears, talks, heard, says):
        os.close(descriptor)


def test_a_client_that_goes_at_once_is_not_waited_for() -> None:
    (hears, talks), (heard, says) = os.pipe(), os.pipe()
    os.close(talks)

    assert greet(hears, says, Greeting(list), lambda: None).ended
    for descriptor in (hears, heard, says):
        os.close(descriptor)


def test_a_client_that_has_gone_while_it_is_answered_is_no_mistake_of_ours() -> None:
    (hears, talks), (heard, says) = os.pipe(), os.pipe()
    os.write(talks, json.dumps(initialize()).encode() + b"\n")
    os.close(heard)

    assert greet(hears, says, Greeting(list), lambda: None).ended
    for descriptor in (hears, talks, says):
        os.close(descriptor)
