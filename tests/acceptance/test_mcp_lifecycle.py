"""How MCP servers live: lazily started, shared, ended when idle and always with Tongs."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.alive import ended, started, with_word
from tests.mcp_world import ServerWorld, deeds, own_python, serving

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.servers import ServerSpec
from tongs.sandbox.waiting import BlockingWaiter


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ServerWorld]:
    with serving(tmp_path, monkeypatch, auto_approve=["*"]) as made:
        yield made


def program_of(world: ServerWorld) -> list[int]:
    """The processes of its server, as this machine sees them."""
    return with_word(world.spec.command[1])


def test_no_process_before_the_first_call_and_one_for_all_of_them(world: ServerWorld) -> None:
    assert (world.status, program_of(world)) == ("idle", [])

    world.accept()
    first = program_of(world)
    for number in range(5):
        world.call("say", str(number))

    assert len(first) == 1
    assert program_of(world) == first


def test_it_ends_when_nobody_has_called_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = deeds(tmp_path / "project", idle=0.2)
    with serving(tmp_path, monkeypatch, spec) as world:
        world.accept()
        first = program_of(world)
        world.call("sleep", "0.5")  # longer than that, but somebody waits

        assert ended(first)
        assert world.status == "idle"
        assert world.call("say", "again").output == "again"


def test_it_ends_with_the_runtime(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(tmp_path, monkeypatch) as world:
        world.accept()
        first = program_of(world)
        assert first

    assert program_of(world) == []


TONGS = """
    import sys
    from pathlib import Path
    import pytest
    from tests.mcp_world import serving
    alone = {"single_thread": sys.argv[2] == "1"}
    with serving(Path(sys.argv[1]), pytest.MonkeyPatch(), **alone) as world:
        world.accept()
        print("ready", flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.parametrize("single", ["1", "0"], ids=["command-line", "program"])
def test_it_ends_with_tongs_however_that_ends(tmp_path: Path, number: int, single: str) -> None:
    words = [sys.executable, "-c", textwrap.dedent(TONGS), str(tmp_path), single]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as tongs:
        assert tongs.stdout is not None
        assert tongs.stdout.readline() == b"ready\n"
        servers = started(str(tmp_path / "project" / "mcp_server.py"))

        tongs.send_signal(number)

        assert ended(servers)


def test_whoever_waits_for_a_server_to_start_is_told_when_tongs_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute = ServerSpec(name="mute", command=("sh", "-c", "sleep 60; exit", "mute-server"))
    refused: list[ToolError] = []

    with serving(tmp_path, monkeypatch, mute) as world:

        def wait() -> None:
            with pytest.raises(ToolError) as caught:
                world.listed()
            refused.append(caught.value)

        threads = [threading.Thread(target=wait) for _ in range(3)]
        for thread in threads:
            thread.start()
        assert started("mute-server")
        world.runtime.servers.close()
        for thread in threads:
            thread.join(10)

    assert ["ended its MCP servers" in error.message for error in refused] == [True] * 3


def test_calls_of_many_threads_share_it_and_get_their_own_answers(world: ServerWorld) -> None:
    world.accept()
    answers: dict[int, str] = {}

    def ask(number: int) -> None:
        answers[number] = world.call("say", f"n{number}").output

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert answers == {number: f"n{number}" for number in range(16)}


def test_a_slow_server_blocks_nobody(world: ServerWorld) -> None:
    world.accept()
    quick = ServerWorld(world.runtime, deeds(world.project, name="quick"), world.project)
    quick.accept()
    gate = world.project / "gate"
    os.mkfifo(gate)
    slow = threading.Thread(target=world.call, args=("read", str(gate)))
    slow.start()

    for number in range(10):
        assert quick.call("say", str(number)).ok

    assert slow.is_alive()
    gate.write_text("open")
    slow.join()


def test_a_server_that_never_says_a_word_blocks_nobody_and_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mute = ServerSpec("mute", command=("sleep", "300"), start_timeout=1.0)
    with serving(tmp_path, monkeypatch) as world:
        problems: list[ToolError] = []

        def listen() -> None:
            try:
                drive(world.runtime.servers.listed(mute, BlockingWaiter()))
            except ToolError as error:
                problems.append(error)

        waiting = threading.Thread(target=listen)
        waiting.start()
        assert world.call("say", "here").ok
        waiting.join()

        assert [problem.code for problem in problems] == [ErrorCode.TIMEOUT]
        assert world.runtime.servers.state("mute").status == "failed"


def test_a_cancelled_call_ends_at_once_and_so_does_a_server_that_goes_on_with_it(
    world: ServerWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tongs.gateway.connection.ALIVE", 0.2)
    world.accept()
    first = program_of(world)

    async def cancelled() -> None:
        task = asyncio.create_task(world.runtime.call("deeds__sleep", text="300"))
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert ended(first)
    assert world.call("say", "again").output == "again"


def test_calls_on_an_event_loop_run_beside_each_other(world: ServerWorld) -> None:
    world.accept()

    async def all_of_them() -> list[str]:
        calls = [world.runtime.call("deeds__say", text=str(number)) for number in range(10)]
        return [result.output for result in await asyncio.gather(*calls)]

    assert asyncio.run(all_of_them()) == [str(number) for number in range(10)]


def test_a_tool_calls_a_server_only_within_its_own_permissions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = deeds(tmp_path / "project", permissions=Permissions(write=(".",)))
    with serving(tmp_path, monkeypatch, spec) as world:
        world.accept()
        narrow = Caller(
            CallerKind.TOOL, "outer", ("outer",), Permissions(read=(str(world.project),))
        )
        wide = Caller(
            CallerKind.TOOL, "outer", ("outer",), Permissions(write=(str(world.project),))
        )

        def ask(caller: Caller) -> ErrorCode | None:
            result = world.runtime.run_sync(ToolCall("c1", "deeds__say", {"text": "x"}, caller))
            return None if result.error is None else result.error.code

        assert (ask(narrow), ask(wide)) == (ErrorCode.DENIED, None)


def test_a_server_with_a_list_of_hosts_has_its_proxy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    allowed = Permissions(network=("example.org",), read=(".",))
    with serving(tmp_path, monkeypatch, deeds(tmp_path / "project", permissions=allowed)) as world:
        seen = json.loads(world.call("environment").output)
        direct = world.call("connect", "127.0.0.1:9")

    assert seen["https_proxy"].startswith("http://127.0.0.1:")
    assert not direct.ok


MODERN = """
import anyio, json, os
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
import mcp_types as types

TOOLS = [types.Tool(name="ask", input_schema={"type": "object", "properties": {}}),
         types.Tool(name="era", input_schema={"type": "object", "properties": {}})]

async def listed(context, params):
    return types.ListToolsResult(tools=TOOLS)

async def called(context, params):
    if params.name == "era":
        said = context.protocol_version
    elif params.input_responses is None:
        form = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
        request = types.ElicitRequest(
            params=types.ElicitRequestFormParams(message="Who are you?", requested_schema=form)
        )
        return types.InputRequiredResult(input_requests={"who": request}, request_state="s")
    else:
        who = params.input_responses["who"]
        said = json.dumps(who.model_dump(by_alias=True, exclude_none=True))
    return types.CallToolResult(content=[types.TextContent(text=str(said))])

server = Server("modern", on_list_tools=listed, on_call_tool=called)

async def main():
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())

anyio.run(main)
"""


def test_a_server_of_the_modern_era_asks_the_person_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongs.core.approval import ApprovalResponse

    spec = ServerSpec("modern", command=(sys.executable, "-c", MODERN), permissions=own_python())
    with serving(tmp_path, monkeypatch, spec) as world:
        world.answer = ApprovalResponse(approved=True, modified_args={"name": "ann"})

        assert world.call("era").output == "2026-07-28"
        assert json.loads(world.call("ask").output)["content"] == {"name": "ann"}
        assert "Who are you?" in world.asked[0].preview
        world.answer = None
        assert json.loads(world.call("ask").output) == {"action": "decline"}
