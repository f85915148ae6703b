"""MCP servers that are an address: reached by Tongs itself, which checks where that leads."""

from __future__ import annotations

import gzip
import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.mcp_world import ServerWorld, serving, tool_of
from tests.web import Asked, Reply, Web

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.servers import ServerSpec
from tongs.executors.mcp import McpExecutor

LOOPBACK = "security: {allow_private_hosts: [127.0.0.1]}\n"
TOOL = {"name": "say", "inputSchema": {"type": "object", "properties": {"text": {}}}}


class Remote:
    """A server of the 2025 protocol that answers each request in JSON."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.say: Callable[[str], Any] = lambda text: {"content": [{"type": "text", "text": text}]}
        self.redirect = ""
        self.headers: dict[str, str] = {}
        self.session: dict[str, str] = {}
        self.stream = Reply(405, b"")
        self.web = Web(self.answer)

    def answer(self, asked: Asked) -> Reply:
        self.asked.append(asked)
        if asked.method != "POST":
            return self.stream
        if self.redirect:
            return Reply(307, b"", {"Location": self.redirect})
        message = json.loads(asked.body)
        if "id" not in message:
            return Reply(202, b"")
        result = self.result(message)
        if isinstance(result, bytes):
            return Reply(200, result, {"Content-Type": "application/json", **self.headers})
        body = {"jsonrpc": "2.0", "id": message["id"], **result}
        kind = {"Content-Type": "application/json", **self.session}
        return Reply(200, json.dumps(body).encode(), kind)

    def result(self, message: dict[str, Any]) -> Any:
        match message["method"]:
            case "initialize":
                info = {"name": "far", "version": "1"}
                version = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                return {"result": {**version, "serverInfo": info}}
            case "tools/list":
                return {"result": {"tools": [TOOL]}}
            case "tools/call":
                said = self.say(message["params"]["arguments"].get("text", ""))
                return said if isinstance(said, bytes) else {"result": said}
        return {"error": {"code": -32601, "message": "no"}}


@pytest.fixture
def remote() -> Iterator[Remote]:
    made = Remote()
    yield made
    made.web.close()


@pytest.fixture
def world(remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    monkeypatch.setenv("FAR_KEY", "sesame-open-4711")
    headers = {"Authorization": "Bearer env:FAR_KEY"}
    spec = ServerSpec("far", url=f"{remote.web.url}/mcp", headers=headers)
    with serving(tmp_path, monkeypatch, spec, LOOPBACK, single_thread=True) as made:
        yield made


def test_a_remote_server_is_called_with_its_headers(world: ServerWorld, remote: Remote) -> None:
    result = world.call("say", "hello")

    assert (result.ok, result.output) == (True, "hello")
    assert result.metadata["enforced"] == ["network", "fs.read", "fs.write"]
    sent = {asked.headers["authorization"] for asked in remote.asked}
    assert sent == {"Bearer sesame-open-4711"}


def test_its_secret_does_not_come_back(world: ServerWorld) -> None:
    assert world.call("say", "I have sesame-open-4711").output == "I have [redacted]"


def test_a_redirect_to_another_host_is_not_followed(world: ServerWorld, remote: Remote) -> None:
    other = Remote()
    try:
        world.accept()
        remote.redirect = f"{other.web.url}/mcp"

        result = world.call("say", "hello")
    finally:
        other.web.close()

    assert not result.ok
    assert not other.asked


def test_a_private_address_needs_a_grant(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ServerSpec("far", url=f"{remote.web.url}/mcp")
    with serving(tmp_path, monkeypatch, spec) as world, pytest.raises(ToolError) as refused:
        world.listed()

    assert refused.value.code is ErrorCode.PERMISSION_DENIED
    assert "allow_private_hosts" in refused.value.hint
    assert not remote.asked


def test_a_host_that_is_not_granted_is_not_reached(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = ServerSpec(
        "far", url=f"{remote.web.url}/mcp", permissions=Permissions(network=("example.org",))
    )
    with serving(tmp_path, monkeypatch, spec, LOOPBACK) as world, pytest.raises(ToolError):
        world.listed()

    assert not remote.asked


def test_a_server_that_is_not_there_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = Remote()
    gone.web.close()
    spec = ServerSpec("far", url=f"{gone.web.url}/mcp")
    with serving(tmp_path, monkeypatch, spec, LOOPBACK) as world, pytest.raises(ToolError) as told:
        world.listed()

    assert "the server far is gone" in told.value.message


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"x" * (33 * 1024 * 1024), "larger than 32 MiB"),
        (b'{"a":' * 300 + b"1" + b"}" * 300, "parse"),
        (b"\xff\xfe", "parse"),
    ],
    ids=["huge", "deep", "garbage"],
)
def test_an_answer_that_cannot_be_read_is_an_error(
    world: ServerWorld, remote: Remote, said: bytes, reason: str
) -> None:
    world.accept()
    remote.say = lambda text: said

    result = world.call("say", "x")

    assert result.error is not None
    assert result.error.code is ErrorCode.EXECUTION_ERROR
    assert reason in result.error.message
    remote.say = lambda text: {"content": [{"type": "text", "text": "\x1b[1m"}]}
    assert world.call("say", "x").output == "\\x1b[1m"


def test_what_is_compressed_is_not_read(world: ServerWorld, remote: Remote) -> None:
    """A few bytes can be so many that no memory holds them."""
    world.accept()
    bomb = gzip.compress(b"x" * (256 * 1024 * 1024), 1)
    remote.headers = {"Content-Encoding": "gzip"}
    remote.say = lambda text: bomb
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    result = world.call("say", "x")

    assert result.error is not None
    assert "compressed" in result.error.message
    assert all(dict(asked.headers)["accept-encoding"] == "identity" for asked in remote.asked)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def test_a_stream_that_ends_at_once_is_not_opened_all_the_time(
    world: ServerWorld, remote: Remote
) -> None:
    remote.session = {"mcp-session-id": "one"}
    hurry = b"retry: 0\ndata:\n\n"
    remote.stream = Reply(200, hurry, {"Content-Type": "text/event-stream"})

    world.accept()
    begun = time.monotonic()
    while len([one for one in remote.asked if one.method == "GET"]) < 2:
        assert time.monotonic() < begun + 20
        world.call("say", "x")

    assert time.monotonic() - begun > 0.5


def test_what_stands_in_its_address_is_shown_to_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remote: Remote
) -> None:
    url = remote.web.url.replace("://", "://me:pass-of-far@") + "/mcp?key=key-of-far-22"
    spec = ServerSpec("far", url=url)
    with serving(tmp_path, monkeypatch, spec, LOOPBACK) as world:
        result = world.call("say", "it is key-of-far-22 and pass-of-far")

    nowhere: Any = None
    shown = McpExecutor().preview(tool_of(spec, TOOL), {}, nowhere)
    assert result.output == "it is [redacted] and [redacted]"
    assert "of-far" not in shown
