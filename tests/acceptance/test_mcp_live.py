"""Long calls over MCP: progress, cancellation, changes of the list, and the end of the server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import ToolsListChanged
from tests.acceptance.conftest import TONGS, Place, Show
from tests.acceptance.test_mcp_approval import serve, tongs
from tests.acceptance.test_mcp_server import loop
from tests.mcp_client import ERAS, Loop, Talk, allow, error_code, fill, text
from tests.mcp_world import program_in

__all__ = ["loop"]

# Starts a grandchild that outlives a kill of the shell alone, and says who it is.
SLEEPS = """description: Sleeps
bash: |
  sleep 1000 & echo $$ > pids.new; mv pids.new pids
  echo started; wait
tags: [write]
"""
STEPS = """description: Has steps
steps:
  - name: one
    bash: echo from one; while [ ! -e go ]; do sleep 0.02; done
  - name: two
    bash: echo from two
tags: [write]
"""
GREETING = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
)
ASKS = "description: Asks\nbash: echo hi\ntags: [read]\napproval: {required: true}\n"


@pytest.fixture
def place(place: Place) -> Place:
    for name, definition in {"sleeps": SLEEPS, "steps": STEPS, "asks": ASKS}.items():
        place.tool(name, definition, scope="user")
    return place


@pytest.fixture(params=ERAS)
def talk(request: pytest.FixtureRequest, place: Place, loop: Loop) -> Iterator[Talk]:
    made = serve(loop, place, "--auto-approve", "tool:write", era=request.param)
    yield made
    made.close()


def until(check: Callable[[], Any], seconds: float = 20) -> Any:
    over = time.monotonic() + seconds
    while not (found := check()):
        assert time.monotonic() < over, "it did not happen"
        time.sleep(0.02)
    return found


def sleepers(place: Place) -> list[int]:
    """Processes that work in this project: nothing else does."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and b"sleep\x001000" in (entry / "cmdline").read_bytes():
                where = os.readlink(entry / "cwd")
                found += [int(entry.name)] if where == str(place.project) else []
        except OSError:
            continue
    return found


def ends_of(place: Place, tool: str) -> list[str]:
    recorded = [json.loads(line) for line in tongs(place, "audit", "export").stdout.splitlines()]
    return [json.dumps(each) for each in recorded if tool in json.dumps(each)]


def test_progress_tells_steps_lines_and_that_a_person_is_awaited(talk: Talk, place: Place) -> None:
    told: list[tuple[float, str]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message or ""))
        if message == "from one":
            (place.project / "go").touch()

    call = talk.client.call_tool("steps", {}, progress_callback=note)
    assert text(talk.do(call)) == "from two\n"
    talk.answers[:] = [allow]
    talk.do(talk.client.call_tool("asks", {}, progress_callback=note))

    said = [message for _, message in told]
    assert "from one" in said, said
    numbers = [number for number, _ in told]
    steps = numbers[: said.index("from one") + 1]
    assert steps == sorted(set(steps))
    if talk.era == "legacy":
        assert any("waiting for a person" in message for message in said)


def test_a_cancelled_call_ends_with_everything_it_started(talk: Talk, place: Place) -> None:
    call = talk.start(talk.client.call_tool("sleeps", {}))
    until(lambda: (place.project / "pids").exists() and sleepers(place))

    call.cancel()

    until(lambda: not sleepers(place))
    assert until(lambda: [end for end in ends_of(place, "sleeps") if "CANCELLED" in end])
    # The server goes on.
    assert "sleeps" in talk.tools()


def test_a_client_that_goes_away_ends_its_calls(talk: Talk, place: Place) -> None:
    talk.start(talk.client.call_tool("sleeps", {}))
    until(lambda: (place.project / "pids").exists() and sleepers(place))

    talk.close()

    until(lambda: not sleepers(place))
    assert until(lambda: [end for end in ends_of(place, "sleeps") if "CANCELLED" in end])


def test_a_cancelled_question_is_taken_back(place: Place, loop: Loop) -> None:
    talk = serve(loop, place, era="legacy")
    asked = asyncio.Event()

    async def never(context: Any, params: Any) -> Any:
        asked.set()
        await asyncio.Event().wait()

    talk._elicited = never  # type: ignore[method-assign]
    talk.client._session._elicitation_callback = never
    call = talk.start(talk.client.call_tool("asks", {}))
    until(asked.is_set)
    assert len(json.loads(tongs(place, "approvals", "pending", "--json").stdout)) == 1

    call.cancel()

    until(lambda: tongs(place, "approvals", "pending", "--json").stdout.strip() == "[]")
    talk.close()


def test_a_call_that_waits_for_its_client_ends_with_it(place: Place, loop: Loop) -> None:
    outer = "description: Outer\nsteps: [{name: one, tool: asks}]\ntags: [read]\n"
    place.tool("outer", outer, scope="user")
    talk = serve(loop, place, "--auto-approve", "outer")
    assert talk.raw("outer", {}).result_type == "input_required"
    assert len(json.loads(tongs(place, "approvals", "pending", "--json").stdout)) == 1

    talk.close()

    assert [end for end in ends_of(place, "outer") if "CANCELLED" in end]
    assert tongs(place, "approvals", "pending", "--json").stdout.strip() == "[]"


@pytest.mark.parametrize("era", [pytest.param(ERAS[0], marks=pytest.mark.full), ERAS[1]])
def test_a_server_behind_ours_is_offered_and_what_it_asks_is_filled_in(
    place: Place, loop: Loop, era: str
) -> None:
    command = ["python3", program_in(place.project)]
    servers = {"mcp": {"servers": {"deeds": {"command": command}}}}
    (place.user / "config.yml").write_text(json.dumps(servers))
    talk = serve(loop, place, "--auto-approve", "*", era=era)
    talk.tools()  # it was never connected: its tools come when it has answered
    until(lambda: "deeds__ask" in talk.tools())

    said = talk.call("deeds__say", text="hello")
    asked = talk.call("deeds__ask", fill(decision="allow", password="given"))
    (form,) = talk.forms
    talk.close()

    assert text(said) == "hello"
    assert json.loads(text(asked)) == {"action": "accept", "content": {"password": "given"}}
    assert "the MCP server deeds asks, not Tongs: Log in \\x1b[1magain" in form.message


def test_a_client_that_fails_to_ask_is_no_approval(place: Place, loop: Loop) -> None:
    talk = serve(loop, place, era="legacy")

    def fails(form: Any) -> Any:
        raise ValueError("no window")

    result = talk.call("asks", fails)
    talk.close()

    assert error_code(result) == "APPROVAL_DENIED"
    assert "could not be asked" in text(result)


def test_the_terminal_is_asked_where_the_person_wants_that(place: Place, screen: Show) -> None:
    reader, typed = os.pipe()
    answers, writer = os.pipe()
    shown = screen("mcp", "serve", "--approvals", "terminal", stdin=reader, stdout=writer)
    os.close(reader)
    os.close(writer)
    asks = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "asks"}}
    os.write(typed, b"".join(json.dumps(each).encode() + b"\n" for each in (*GREETING, asks)))

    shown.wait_for("[d]eny")
    shown.type("a\n")

    with open(answers, encoding="utf-8") as lines:
        said = [json.loads(lines.readline()) for _ in range(2)]
        os.close(typed)
    assert said[1]["result"]["content"] == [{"type": "text", "text": "hi\n"}]
    assert shown.end() == 0


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.full)]
)
def test_a_server_that_is_ended_leaves_nothing_behind(place: Place, number: int) -> None:
    sleeps = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "sleeps"}}
    messages = [*GREETING, sleeps]
    with subprocess.Popen(
        [TONGS, "mcp", "serve", "--auto-approve", "tool:write"],
        cwd=place.project,
        env=place.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        server.stdin.write(b"".join(json.dumps(each).encode() + b"\n" for each in messages))
        server.stdin.flush()
        until(lambda: (place.project / "pids").exists() and sleepers(place))

        # Its input stays open: a client that hangs does not keep it.
        server.send_signal(number)

        assert server.wait(10) == 0
    assert until(lambda: not sleepers(place))
    assert [end for end in ends_of(place, "sleeps") if "CANCELLED" in end]


def test_a_client_hears_that_the_list_has_changed(talk: Talk, place: Place) -> None:
    assert "late" not in talk.tools()
    heard: list[Any] = []

    async def listen() -> None:
        async with talk.client.listen(tools_list_changed=True) as events:
            heard.append("listening")
            heard.append(await anext(aiter(events)))

    if talk.era != "legacy":
        talk.start(listen())
        until(lambda: heard)
    place.tool("late", "description: Late\nbash: echo late\ntags: [read]\n", scope="user")

    if talk.era == "legacy":
        until(lambda: any("list_changed" in str(each) for each in talk.heard))
    else:
        until(lambda: ToolsListChanged() in heard)
    assert "late" in talk.tools()


class TestFilters:
    def test_only_what_was_chosen_is_listed_and_can_be_called(
        self, place: Place, loop: Loop
    ) -> None:
        talk = serve(loop, place, "--tools", "steps,read_file")

        listed = set(talk.tools())
        refused = talk.call("tongs_tool", name="shell", params={"command": "echo x"})
        with pytest.raises(MCPError, match="no tool `tongs_tool_create`"):
            talk.call("tongs_tool_create", name="x", definition={})
        found = talk.call("tongs_tools_search", query="run a shell command")
        talk.close()

        assert {name for name in listed if not name.startswith("tongs_")} == {"steps", "read_file"}
        assert "tongs_tool_create" not in listed
        assert error_code(refused) == "TOOL_NOT_FOUND"
        assert "shell" not in [each["name"] for each in found.structured_content["tools"]]

    @pytest.mark.parametrize(("tags", "creates"), [("read", False), ("read,write", True)])
    def test_tools_are_created_only_where_writing_is_offered(
        self, place: Place, loop: Loop, tags: str, creates: bool
    ) -> None:
        talk = serve(loop, place, "--tags", tags)

        listed = set(talk.tools())
        talk.close()

        assert ("tongs_tool_create" in listed) is creates
        assert {"tongs_tool", "tongs_tools_list", "tongs_tools_search"} <= listed

    def test_with_many_tools_only_those_to_keep_are_listed_and_all_can_be_called(
        self, place: Place, loop: Loop
    ) -> None:
        (place.project / "a.txt").write_text("x\n")
        talk = serve(loop, place, "--limit", "3", "--keep", "steps")

        listed = set(talk.tools())
        read = talk.call("tongs_tool", name="read_file", params={"path": "a.txt"})
        talk.close()

        assert {name for name in listed if not name.startswith("tongs_")} == {"steps"}
        assert "x" in text(read)

    def test_a_profile_and_the_automatic_answers_hold_for_clients(
        self, place: Place, loop: Loop
    ) -> None:
        profile = {"profiles": {"quiet": {"security": {"auto_deny": ["steps"]}}}}
        (place.user / "config.yml").write_text(json.dumps(profile))
        talk = serve(
            loop, place, "--profile", "quiet", "--auto-approve", "asks", "--auto-deny", "shell"
        )

        allowed = talk.call("asks")
        denied = [talk.call("steps"), talk.call("shell", command="echo x")]
        talk.close()

        assert text(allowed) == "hi\n"
        assert [error_code(each) for each in denied] == ["DENIED", "DENIED"]

    def test_the_names_of_the_seed_are_there_for_who_wants_them(
        self, place: Place, loop: Loop
    ) -> None:
        (place.user / "config.yml").write_text("mcp: {aliases: glee}\n")
        talk = serve(loop, place, "--auto-approve", "asks")

        listed = set(talk.tools())
        called = talk.call("glee_tool", name="asks", params={})
        found = talk.call("glee_tools_list").structured_content["tools"]
        talk.close()

        assert {"glee_tool", "glee_tool_create", "glee_tools_list"} <= listed
        assert text(called) == "hi\n"
        assert {"name": "steps", "description": "Has steps"} in found

    def test_a_tool_to_offer_that_does_not_exist_is_said_at_once(self, place: Place) -> None:
        done = tongs(place, "mcp", "serve", "--tools", "stepz")

        assert done.code == 2
        assert "did you mean `steps`?" in done.stderr
