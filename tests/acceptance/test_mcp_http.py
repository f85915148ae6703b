"""`tongs mcp serve --http`: who may speak to it, in both eras, as one of several or alone."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest
from tests.acceptance.conftest import Place, Run
from tests.mcp_http import Serving, answer, initialize, modern_request

TOKEN = "a-token-that-nobody-guesses"
ECHO = "bash: echo to {WHO}\nparameters: {WHO: {}}\ndescription: Say it\ntags: [read]\n"
ASKS = ECHO.replace("[read]", "[write]") + "approval: {required: true, reason: it is loud}\n"
ENDLESS = f"sleep 30.{os.getpid()}"
SLOW = "bash: touch begun; sleep 0.7; echo done\ntags: [write]\npermissions: {fs: {write: [.]}}\n"


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Place:
    root = tmp_path_factory.mktemp("http")
    made = Place(*(root / name for name in ("project", "home", "user", "global")))
    for folder in (made.project / ".tongs" / "tools", made.home, made.user, made.glob):
        folder.mkdir(parents=True, mode=0o755)
    made.tool("greet", ECHO, scope="user")
    endless = (
        f"bash: touch begun; {ENDLESS}; true\ntags: [write]\npermissions: {{fs: {{write: [.]}}}}\n"
    )
    made.tool("endless", endless, scope="user")
    return made


def serving(place: Place, *arguments: str, **env: str) -> Serving:
    allowed = ("--auto-approve", "greet,slow,endless")
    return Serving(*allowed, *arguments, cwd=place.project, env={**place.env, **env})


@pytest.fixture(scope="module")
def server(shared: Place) -> Iterator[Serving]:
    """For this machine only, without a token and without sessions."""
    with serving(shared) as made:
        yield made


@pytest.fixture(scope="module")
def guarded(shared: Place) -> Iterator[Serving]:
    """Another one beside it, which wants a token."""
    options = ("--allow-host", "tools.example", "--allow-origin", "https://app.example")
    with serving(shared, *options, TONGS_MCP_TOKEN=TOKEN) as made:
        yield made


def test_it_says_where_it_listens_and_for_whom(server: Serving, guarded: Serving) -> None:
    assert server.told == f"serving MCP on {server.url} (without a token: for this machine only)\n"
    assert guarded.told == f"serving MCP on {guarded.url} (with a token)\n"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
def test_a_client_of_the_older_era_calls_a_tool(server: Serving, version: str) -> None:
    began = answer(server.post(initialize(version)))
    called = server.older("tools/call", {"name": "greet", "arguments": {"WHO": "you"}})

    assert began["result"]["protocolVersion"] == version
    assert called["result"]["content"][0]["text"] == "to you\n"


def test_a_client_of_the_modern_era_calls_a_tool(server: Serving) -> None:
    found = server.modern("server/discover")
    called = server.modern("tools/call", {"name": "greet", "arguments": {"WHO": "you"}})

    assert found["result"]["supportedVersions"] == ["2026-07-28"]
    assert called["result"]["content"][0]["text"] == "to you\n"


def test_without_sessions_none_is_made(server: Serving) -> None:
    assert "mcp-session-id" not in server.post(initialize()).headers
    assert server.http.get(server.url).status_code == 405
    assert server.http.delete(server.url).status_code == 405


def test_every_replica_answers_every_request(server: Serving, guarded: Serving) -> None:
    answer(server.post(initialize()))
    token = {"Authorization": f"Bearer {TOKEN}"}

    listed = [
        answer(each.post({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, token))
        for each in (server, guarded, server)
    ]

    assert listed[0] == listed[1] == listed[2]
    assert "greet" in {tool["name"] for tool in listed[0]["result"]["tools"]}


@pytest.mark.parametrize("given", [{}, {"Authorization": "Bearer wrong"}])
def test_without_the_token_nothing_is_answered(guarded: Serving, given: dict[str, str]) -> None:
    refused = guarded.post(initialize(), given)

    assert (refused.status_code, refused.text) == (401, "a bearer token is needed\n")
    assert refused.headers["www-authenticate"] == 'Bearer realm="tongs"'


def test_with_the_token_it_is(guarded: Serving) -> None:
    sent = {"Authorization": f"Bearer {TOKEN}"}

    assert answer(guarded.post(initialize(), sent))["result"]["serverInfo"]["name"] == "tongs"


@pytest.mark.parametrize("era", ["older", "modern"])
def test_a_name_that_somebody_lets_point_here_is_refused(server: Serving, era: str) -> None:
    message, headers = modern_request("tools/list") if era == "modern" else (initialize(), {})

    refused = server.post(message, {**headers, "Host": "evil.example"})

    assert refused.status_code == 421


def test_a_page_of_somebody_else_is_refused(server: Serving) -> None:
    assert server.post(initialize(), {"Origin": "https://evil.example"}).status_code == 403
    assert server.post(initialize(), {"Origin": "http://localhost:6274"}).status_code == 200


def test_what_was_allowed_is_known(guarded: Serving) -> None:
    page = {"Host": "tools.example", "Origin": "https://app.example"}

    asked = guarded.http.options(guarded.url, headers=page)
    called = guarded.post(initialize(), {**page, "Authorization": f"Bearer {TOKEN}"})

    assert asked.status_code == 204
    assert called.headers["access-control-allow-origin"] == "https://app.example"


def test_a_balancer_asks_for_health_without_anything(guarded: Serving) -> None:
    url = guarded.url.replace("/mcp", "/health")

    assert guarded.http.get(url, headers={"Host": "10.0.0.7"}).text == "ok\n"


def test_a_body_that_is_too_large_is_not_read(server: Serving) -> None:
    assert server.post(b" " * (4 * 1024 * 1024 + 1)).status_code == 413


def test_a_body_without_an_announced_length_is_cut_off_too(server: Serving) -> None:
    pieces = (b" " * 65536 for _ in range(70))

    refused = server.http.post(
        server.url,
        content=pieces,
        headers={
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        },
    )

    assert refused.status_code == 413


def test_a_client_that_drips_is_cut_and_harms_nobody(shared: Place) -> None:
    # With less patience than it has for a person's clients.
    hasty = "from tongs.surfaces.mcp import receiving; receiving.LONGEST = 0.3; "
    hasty += "import sys; from tongs.surfaces.cli.main import main; main(sys.argv[1:])"
    head = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999\r\n\r\n"
    program = (sys.executable, "-c", hasty)
    with Serving(cwd=shared.project, env=shared.env, program=program) as made:
        place = ("127.0.0.1", int(made.url.rpartition(":")[2].partition("/")[0]))
        with socket.create_connection(place, timeout=20) as client:
            client.sendall(head + b"{")
            called = made.modern("tools/list")
            assert client.recv(4096).startswith(b"HTTP/1.1 408 ")

    assert called["result"]["tools"]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"nul", b'{"jsonrpc": "2.0"}', b"\xff\xfe"])
def test_what_is_no_message_is_refused_and_harms_nobody(server: Serving, body: bytes) -> None:
    assert server.post(body).status_code == 400
    assert server.older("ping")["result"] == {}


def test_an_address_for_others_needs_a_token(tongs: Run) -> None:
    refused = tongs("mcp", "serve", "--http", "0.0.0.0:0")
    short = tongs("mcp", "serve", "--http", "0.0.0.0:0", env={"TONGS_MCP_TOKEN": "short"})

    assert (refused.code, refused.stdout) == (3, "")
    assert refused.stderr == (
        "denied: 0.0.0.0:0 can be reached from other machines, and no token is set\n"
        "hint: export TONGS_MCP_TOKEN=$(openssl rand -hex 32), or listen on 127.0.0.1\n"
    )
    assert short.code == 3
    assert "has 5 characters; 16 is the least" in short.stderr


@pytest.mark.parametrize(
    "address", ["8080", ":8080", "localhost", "127.0.0.1:x", "127.0.0.1:70000"]
)
def test_what_is_no_address_is_said(tongs: Run, address: str) -> None:
    said = tongs("mcp", "serve", "--http", address)

    assert said.code == 2
    assert said.stderr == (
        f"error: `{address}` is no address to listen on: HOST:PORT is expected\n"
        "hint: tongs mcp serve --http 127.0.0.1:8080\n"
    )


def test_a_port_that_is_taken_is_said(tongs: Run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = tongs("mcp", "serve", "--http", f"127.0.0.1:{port}")

    assert said.code == 2
    assert f"cannot listen on 127.0.0.1:{port}: Address already in use" in said.stderr


def test_options_of_http_alone_are_refused(tongs: Run) -> None:
    assert "--sessions is for --http only" in tongs("mcp", "serve", "--sessions").stderr


def test_the_token_may_be_any_secret_of_the_config(place: Place, tongs: Run) -> None:
    key = place.home / "token"
    key.write_text(TOKEN)
    key.chmod(0o600)
    (place.user / "config.yml").write_text(f"secrets: {{MY_TOKEN: 'file:{key}'}}\n")

    with serving(place, "--token-env", "MY_TOKEN") as made:
        assert made.post(initialize()).status_code == 401
        assert made.post(initialize(), {"Authorization": f"Bearer {TOKEN}"}).status_code == 200
    missing = tongs("mcp", "serve", "--http", "127.0.0.1:0", "--token-env", "OTHER")
    assert (missing.code, missing.stderr) == (
        2,
        "error: mcp serve: there is no token: OTHER is not set\nhint: export OTHER=…\n",
    )


def test_an_approval_asked_by_one_replica_is_taken_by_another(place: Place) -> None:
    place.tool("shout", ASKS, scope="user")
    call = {"name": "shout", "arguments": {"WHO": "you"}}
    can = {"capabilities": {"elicitation": {"form": {}}}}
    allow = {"approval": {"action": "accept", "content": {"decision": "allow"}}}

    with serving(place) as first, serving(place) as second:
        asked = first.modern("tools/call", call, **can)["result"]
        retry = {**call, "inputResponses": allow, "requestState": asked["requestState"]}
        done = second.modern("tools/call", retry, **can)["result"]
        again = first.modern("tools/call", retry, **can)["result"]
        broken = {**retry, "requestState": asked["requestState"][:-2] + "AA"}
        forged = first.modern("tools/call", broken, **can)

    assert asked["resultType"] == "input_required"
    assert done["content"][0]["text"] == "to you\n"
    assert again["isError"]  # it was used, and counts once
    assert forged["error"]["code"] == -32602


def test_without_a_session_a_call_of_the_older_era_waits_in_the_queue(
    place: Place, tongs: Run
) -> None:
    place.tool("shout", ASKS, scope="user")
    call = {"name": "shout", "arguments": {"WHO": "you"}}

    with serving(place) as first, serving(place) as second:
        answer(first.post(initialize(elicitation={"form": {}})))
        waits = first.older("tools/call", call)["result"]
        question = waits["_meta"]["tongs/error"]
        waiting = json.loads(tongs("approvals", "pending", "--json").stdout)
        tongs("approvals", "approve", waiting[0]["id"])
        done = second.older("tools/call", call)["result"]

    assert (question["code"], waits["isError"]) == ("APPROVAL_PENDING", True)
    assert done["content"][0]["text"] == "to you\n"


def test_a_call_in_progress_is_finished_when_the_server_ends(place: Place) -> None:
    place.tool("slow", SLOW, scope="user")
    answers = []
    with serving(place) as made:
        calling = threading.Thread(
            target=lambda: answers.append(made.older("tools/call", {"name": "slow"}))
        )
        calling.start()
        _until_exists(place.project / "begun")
        made.process.send_signal(signal.SIGTERM)
        calling.join(20)
        code = made.process.wait(20)

    assert answers[0]["result"]["content"][0]["text"] == "done\n"
    assert code == 0


@pytest.mark.parametrize("era", ["older", "modern"])
def test_a_call_ends_with_everything_when_its_client_goes_away(
    server: Serving, shared: Place, era: str
) -> None:
    (shared.project / "begun").unlink(missing_ok=True)
    params = {"name": "endless", "arguments": {}}
    message, headers = modern_request("tools/call", params)
    if era == "older":
        message, headers = {**message, "params": params}, {"MCP-Protocol-Version": "2025-11-25"}
    headers |= {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}

    with socket.create_connection(
        ("127.0.0.1", int(server.url.split(":")[2].split("/")[0]))
    ) as raw:
        body = json.dumps(message).encode()
        head = {"Host": "localhost", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
        raw.sendall(f"POST /mcp HTTP/1.1\r\n{lines}\r\n".encode() + body)
        _until_exists(shared.project / "begun")
        until = time.monotonic() + 20
        while not _running(ENDLESS):  # what comes after the file in the script
            assert time.monotonic() < until
            time.sleep(0.01)

    until = time.monotonic() + 20
    while _running(ENDLESS):
        assert time.monotonic() < until
        time.sleep(0.02)


def test_nothing_is_left_when_the_server_ends(place: Place) -> None:
    with serving(place, "--sessions") as made:
        session = made.post(initialize()).headers["mcp-session-id"]
        listening = {"Mcp-Session-Id": session, "Accept": "text/event-stream"}
        with made.http.stream("GET", made.url, headers=listening) as opened:
            assert opened.status_code == 200
            made.process.send_signal(signal.SIGINT)
            begun = time.monotonic()
            code = made.process.wait(20)

    assert code == 0
    assert time.monotonic() - begun < 8
    assert not _children(made.process.pid)


def test_with_sessions_one_can_be_ended(place: Place) -> None:
    with serving(place, "--sessions") as made:
        session = {"Mcp-Session-Id": made.post(initialize()).headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}

        known = made.post(ping, session).status_code
        ended = made.http.delete(made.url, headers=session).status_code
        gone = made.post(ping, session).status_code

    assert (known, ended, gone) == (200, 200, 404)


def test_with_sessions_every_client_hears_of_changes(place: Place) -> None:
    heard: list[str] = []
    ready = threading.Barrier(3, timeout=20)

    with serving(place, "--sessions") as made:
        began = [made.post(initialize()) for _ in range(2)]
        sessions = [each.headers["mcp-session-id"] for each in began]
        listening = [
            threading.Thread(target=_hear, args=(made.url, each, ready, heard)) for each in sessions
        ]
        for each in listening:
            each.start()
        for session in sessions:
            made.older("tools/list", Mcp_Session_Id=session)
        ready.wait()
        place.tool("greet", ECHO, scope="user")
        for each in listening:
            each.join(20)

    assert answer(began[0])["result"]["capabilities"]["tools"] == {"listChanged": True}
    assert heard == ["notifications/tools/list_changed"] * 2


def _hear(url: str, session: str, ready: threading.Barrier, heard: list[str]) -> None:
    """The first thing that a client is told without having asked."""
    headers = {"Mcp-Session-Id": session, "Accept": "text/event-stream"}
    with httpx2.stream("GET", url, headers=headers, timeout=20, trust_env=False) as stream:
        ready.wait()
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                heard.append(json.loads(line.removeprefix("data: "))["method"])
                return


def _until_exists(file: Path) -> None:
    until = time.monotonic() + 20
    while not file.exists():
        assert time.monotonic() < until
        time.sleep(0.01)


def _running(words: str) -> bool:
    wanted = words.encode().replace(b" ", b"\0")
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                if Path("/proc", name, "cmdline").read_bytes().startswith(wanted):
                    return True
    return False


def _children(pid: int) -> list[str]:
    return [name for name in os.listdir("/proc") if name.isdigit() and _parent(name) == pid]


def _parent(pid: str) -> int:
    try:
        return int(Path("/proc", pid, "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0
