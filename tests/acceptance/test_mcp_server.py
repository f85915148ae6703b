"""`tongs mcp serve` and the SDK's own client, in both eras of the protocol.

One server for many tests: what they share is never changed by them.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator

import pytest
from mcp.shared.exceptions import MCPError
from tests.acceptance.conftest import TONGS, Place
from tests.mcp_client import ERAS, Loop, Talk, error, error_code, text

ECHO = """description: Says a word
bash: echo "said {WORD}"
parameters:
  WORD: {description: What to say}
  TIMES: {type: integer, required: false}
tags: [read]
"""
WRITES = "description: Writes a file\nbash: echo x > new.txt\ntags: [write]\n"
NET = "description: Asks the network\nbash: 'true'\ntags: [api, read]\n"
FAILS = "description: Fails\nbash: echo before; exit 3\ntags: [read]\n"
LARGE = "description: Says a lot\nbash: seq 1 300000\ntags: [read]\n"
PROMISE = """from tongs import tool


@tool(tags=["read"])
def counted(n: int) -> dict:
    return {"n": n}
"""
MANIFEST = """name: {name}
description: Promises a structure
kind: command
version: 1
inputs: {{schema: {{type: object, properties: {{}}}}}}
outputs:
  format: json
  schema: {{type: object, properties: {{n: {{type: integer}}}}, required: [n]}}
exec: {{command: {{entrypoint: echo, args: ['{said}']}}}}
permissions: {{network: false, fs: {{read: [], write: []}}, secrets: {{}}}}
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A place with tools of the person's own, so that nothing has to be trusted."""
    root = tmp_path_factory.mktemp("mcp")
    made = Place(*(root / name for name in ("project", "home", "user", "global")))
    for folder in (made.project / ".tongs" / "tools", made.home, made.user, made.glob):
        folder.mkdir(parents=True, mode=0o755)
    for name, definition in {
        "echo": ECHO,
        "writes": WRITES,
        "net": NET,
        "fails": FAILS,
        "large": LARGE,
        "with.dot": ECHO,
    }.items():
        made.tool(name, definition, scope="user")
    for name, said in {"keeps": '{"n": 1}', "breaks": '{"n": "x"}'}.items():
        folder = made.user / "tools" / name
        folder.mkdir()
        (folder / "tool.yml").write_text(MANIFEST.format(name=name, said=said))
    made.tool("stranger", "description: Untrusted\nbash: echo evil\ntags: [read]\n")
    return made


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="module", params=ERAS)
def talk(request: pytest.FixtureRequest, shared: Place, loop: Loop) -> Iterator[Talk]:
    command = [TONGS, "mcp", "serve", "--auto-approve", "tool:run"]
    made = Talk(loop, command, cwd=shared.project, env=shared.env, era=request.param)
    yield made
    made.close()


def test_tools_are_listed_with_names_and_schemas_that_every_client_takes(talk: Talk) -> None:
    tools = talk.tools()

    metas = ["tongs_tool", "tongs_tool_create", "tongs_tools_list", "tongs_tools_search"]
    assert list(tools)[:4] == metas
    assert list(tools)[4:] == sorted(list(tools)[4:])
    assert {"echo", "read_file", "shell", "with_dot"} <= tools.keys()
    assert "stranger" not in tools
    for name, tool in tools.items():
        assert re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name)
        assert tool.title
        assert tool.input_schema["type"] == "object"
        assert tool.output_schema is None or tool.output_schema["type"] == "object"
    assert tools["echo"].input_schema["required"] == ["WORD"]


def test_hints_say_what_the_walls_hold(talk: Talk) -> None:
    tools = talk.tools()

    def hints(name: str) -> tuple[bool | None, ...]:
        said = tools[name].annotations
        assert said is not None
        return (
            said.read_only_hint,
            said.destructive_hint,
            said.idempotent_hint,
            said.open_world_hint,
        )

    assert hints("echo") == (True, None, None, False)
    assert hints("net") == (True, None, None, True)
    assert hints("writes") == (False, True, False, False)
    assert hints("read_file") == (True, None, None, False)
    assert hints("http_request") == (False, True, False, True)
    assert hints("tongs_tool") == (False, True, False, True)
    assert hints("tongs_tools_search") == (True, None, None, False)


def test_a_call_runs_and_is_recorded_under_the_name_of_the_client(
    talk: Talk, shared: Place
) -> None:
    result = talk.call("echo", WORD="hello")

    assert (text(result), result.is_error) == ("said hello\n", False)
    shown = subprocess.run(
        [TONGS, "audit", "list", "--json"],
        cwd=shared.project,
        env=shared.env,
        capture_output=True,
        check=True,
    )
    assert "test-agent" in shown.stdout.decode()


def test_a_name_that_was_changed_for_clients_reaches_its_tool(talk: Talk) -> None:
    assert text(talk.call("with_dot", WORD="x")) == "said x\n"


def test_an_optional_argument_may_be_null(talk: Talk) -> None:
    assert text(talk.call("echo", WORD="x", TIMES=None)) == "said x\n"


def test_a_failure_is_a_result_that_a_model_can_read(talk: Talk) -> None:
    result = talk.call("fails")

    assert error_code(result) == "EXECUTION_ERROR"
    assert "before" in text(result)
    assert result.meta is not None
    assert result.meta["tongs/error"]["code"] == "EXECUTION_ERROR"


def test_wrong_arguments_are_all_named_in_a_result(talk: Talk) -> None:
    result = talk.call("echo", TIMES="x", OTHER=1)

    assert error_code(result) == "INVALID_ARGUMENTS"
    for word in ("WORD", "TIMES", "OTHER"):
        assert word in text(result)


def test_an_unknown_tool_is_an_error_of_the_protocol(talk: Talk) -> None:
    with pytest.raises(MCPError) as caught:
        talk.call("ecko")

    assert caught.value.error.code == -32602
    assert "echo" in json.dumps(caught.value.error.data)


def test_a_tool_that_nobody_trusts_is_refused(talk: Talk) -> None:
    result = talk.call("stranger")

    assert error_code(result) == "UNTRUSTED"
    assert error(result)["blockedBy"] == "trust"


def test_a_structure_that_was_promised_comes_or_the_result_is_an_error(talk: Talk) -> None:
    talk.tools()  # the client checks what was promised to it

    assert talk.call("keeps").structured_content == {"n": 1}
    broken = talk.call("breaks")
    assert broken.is_error
    assert "the call has run" in text(broken)


def test_a_job_in_the_background_keeps_the_promise_of_its_tool(talk: Talk) -> None:
    talk.tools()

    job = talk.call("shell", command="echo done", background=True)
    assert not job.is_error
    name = job.structured_content["job"]
    status = talk.call("job_status", job=name, wait=10)

    assert status.structured_content["status"] == "done", status


def test_tongs_tool_is_the_call_of_the_tool_it_names(talk: Talk) -> None:
    direct = talk.call("echo", WORD="x")
    named = talk.call("tongs_tool", name="echo", params={"WORD": "x"})
    wrong = talk.call("tongs_tool", name="ecko")
    again = talk.call("tongs_tool", name="tongs_tool", params={"name": "echo"})

    assert (text(named), named.is_error) == (text(direct), False)
    assert error_code(wrong) == "TOOL_NOT_FOUND"
    assert "echo" in text(wrong)
    assert error_code(again) == "INVALID_ARGUMENTS"


def test_tools_are_listed_and_found_as_the_seed_says(talk: Talk) -> None:
    listed = talk.call("tongs_tools_list").structured_content["tools"]
    found = talk.call("tongs_tools_search", query="says word").structured_content["tools"]

    assert {"name": "echo", "description": "Says a word"} in listed
    assert found[0]["name"] in ("echo", "with_dot")
    assert "WORD" in json.dumps(found[0]["parameters"])


def test_a_created_tool_waits_for_its_review(talk: Talk, shared: Place) -> None:
    definition = {
        "description": "Says it",
        "kind": "command",
        "version": 1,
        "inputs": {"schema": {"type": "object", "properties": {}}},
        "exec": {"command": {"entrypoint": "echo", "args": ["hi"]}},
        "permissions": {"network": False, "fs": {"read": [], "write": []}, "secrets": {}},
    }
    name = f"made_{talk.era[0]}"

    made = talk.call("tongs_tool_create", name=name, definition=definition)
    refused = talk.call("tongs_tool", name=name)
    too_much = {**definition, "permissions": {**definition["permissions"], "network": True}}
    above = talk.call("tongs_tool_create", name="above", definition=too_much)

    assert not made.is_error, text(made)
    assert made.structured_content["creator"] == "test-agent"
    assert f"tongs review {name}" in text(made)
    assert (shared.project / ".tongs" / "tools" / name / "tool.yml").exists()
    assert error_code(refused) == "UNTRUSTED"
    assert above.is_error
    assert not (shared.project / ".tongs" / "tools" / "above").exists()


def test_large_output_is_cut_and_kept_as_a_resource(talk: Talk) -> None:
    result = talk.call("large")

    link = result.content[1]
    assert link.type == "resource_link"
    assert link.uri.startswith("tongs://output/")
    listed = talk.do(talk.client.list_resources()).resources
    assert link.uri in [each.uri for each in listed]
    (page,) = talk.do(talk.client.read_resource(link.uri)).contents
    assert page.text.startswith("1\n2\n3\n")
    (second,) = talk.do(talk.client.read_resource(page.meta["tongs/next"])).contents
    lines = (page.text + second.text).splitlines()
    assert lines[:20_000] == [str(n) for n in range(1, 20_001)]


def test_a_template_says_how_outputs_are_addressed(talk: Talk) -> None:
    (template,) = talk.do(talk.client.list_resource_templates()).resource_templates

    assert template.uri_template == "tongs://output/{handle}{?offset}"


@pytest.mark.parametrize(
    "uri",
    ["tongs://output/" + "0" * 32, "tongs://output/../../trust.json", "file:///etc/passwd"],
)
def test_nothing_else_is_a_resource(talk: Talk, uri: str) -> None:
    with pytest.raises(MCPError):
        talk.do(talk.client.read_resource(uri))


def test_a_cursor_that_nobody_gave_out_is_refused(talk: Talk) -> None:
    for listing in (talk.client.list_tools, talk.client.list_resources):
        with pytest.raises(MCPError) as caught:
            talk.do(listing(cursor="2"))
        assert caught.value.error.code == -32602


def test_nothing_but_the_protocol_is_written_to_stdout(shared: Place) -> None:
    about = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "fails"}},
    ]
    with subprocess.Popen(
        [TONGS, "-vv", "mcp", "serve", "--auto-approve", "tool:run"],
        cwd=shared.project,
        env=shared.env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(
            b"no json\n" + b"".join(json.dumps(m).encode() + b"\n" for m in messages)
        )
        server.stdin.flush()
        answers = [json.loads(server.stdout.readline()) for _ in range(2)]
        server.stdin.close()
        rest = server.stdout.read()
        assert server.wait(20) == 0

    assert [answer["id"] for answer in answers] == [1, 2]
    assert answers[1]["result"]["isError"] is True
    assert rest == b""
