"""What a client is told of a call, of a tool, and of what went wrong."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from mcp.shared.exceptions import MCPError

from tongs import ErrorCode, ToolError
from tongs.core.errors import BlockedBy
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.runtime.holding import Held
from tongs.surfaces.mcp.clients import can_be_asked, client_name
from tongs.surfaces.mcp.edge import guarded
from tongs.surfaces.mcp.listing import hints, title_of
from tongs.surfaces.mcp.meta import meta_tools
from tongs.surfaces.mcp.results import wire_result
from tongs.surfaces.mcp.uris import output_uri, parsed

if TYPE_CHECKING:
    from tests.unit.conftest import Project

PROMISES = Tool("t", output_schema={"type": "object", "required": ["n"], "properties": {"n": {}}})


def test_a_result_hides_nothing_in_its_structure_either() -> None:
    value = {"a\u200b": ["x\u202e", ("\ud800",), {"b": "\x1b[2J"}], "n": 1, "none": None}

    made = wire_result(ToolResult("1", "text\u202e", value), None)

    assert made["content"] == [{"type": "text", "text": "text\\u202e"}]
    assert made["structuredContent"] == {
        "a\\u200b": ["x\\u202e", ["\\ud800"], {"b": "\\x1b[2J"}],
        "n": 1,
        "none": None,
    }


def test_whatever_a_function_answers_with_can_be_sent() -> None:
    made = wire_result(ToolResult("1", "x", {"path": Path("/a"), "many": {1}}), None)

    assert made["structuredContent"] == {"path": "/a", "many": "{1}"}


def test_a_long_structure_is_given_to_whom_it_was_promised_only() -> None:
    result = ToolResult("1", "x", {"n": "y" * 200_000})

    assert "structuredContent" not in wire_result(result, None)
    assert "structuredContent" in wire_result(result, PROMISES)


@pytest.mark.parametrize("value", [None, [], "x", {}, {"m": 1}])
def test_a_promise_that_was_broken_is_an_error_that_says_it_ran(value: Any) -> None:
    made = wire_result(ToolResult("1", "output", value), PROMISES)

    assert made["isError"]
    assert "output" in made["content"][0]["text"]
    assert "the call has run" in made["content"][0]["text"]


def test_an_error_has_its_parts() -> None:
    error = ToolError(ErrorCode.DENIED, "no\x1b", blocked_by=BlockedBy.RULE, hint="ask")

    made = wire_result(ToolResult("1", error=error), None)
    promised = wire_result(ToolResult("1", error=error), PROMISES)

    said = {"code": "DENIED", "message": "no\\x1b", "hint": "ask", "blockedBy": "rule"}
    assert made["isError"]
    assert made["structuredContent"] == {"error": said}
    assert made["_meta"] == {"tongs/call": "1", "tongs/error": said}
    # Some clients hold a failure to the promise, too.
    assert promised == {key: each for key, each in made.items() if key != "structuredContent"}


@pytest.mark.parametrize(
    ("tool", "permissions", "stands", "read_only", "open_world"),
    [
        (Tool("t", tags=("read",)), Permissions(), True, True, False),
        (Tool("t", tags=("read",)), Permissions(), False, False, True),
        (Tool("t", tags=("read",)), Permissions(write=(".",)), True, False, False),
        (Tool("t", tags=("read",)), Permissions(network=True), True, True, True),
        (Tool("t", tags=("run",)), Permissions(read=(".",)), True, True, False),
        (Tool("t", tags=("run",)), Permissions(network=("a.org",)), True, False, True),
        (
            Tool("job_stop", tags=("read",), origin=Origin(Scope.BUILTIN)),
            Permissions(),
            True,
            False,
            False,
        ),
    ],
)
def test_hints_follow_from_what_is_enforced(
    tool: Tool, permissions: Permissions, stands: bool, read_only: bool, open_world: bool
) -> None:
    said = hints(tool, Held(permissions, stands))

    assert (said["readOnlyHint"], said["openWorldHint"]) == (read_only, open_world)
    assert ("destructiveHint" in said) == (not read_only)


def test_a_tool_that_cannot_be_called_is_promised_nothing(project: Project) -> None:
    runtime = project.runtime()
    broken = Tool("t", tags=("read",), refusal=ToolError(ErrorCode.DENIED, "no"))

    assert not runtime.held(broken).stands
    assert runtime.held(runtime.find("read_file")).stands


def test_a_title_is_readable() -> None:
    assert title_of(Tool("weather-look_up")) == "Weather look up"
    assert title_of(Tool("-")) == "-"


def context(name: Any = "claude-code", *, version: str = "2026-07-28", **capabilities: Any) -> Any:
    params = None if name is None else SimpleNamespace(client_info=SimpleNamespace(name=name))
    asks = SimpleNamespace(**capabilities) if capabilities else None
    session = SimpleNamespace(
        client_params=params,
        client_capabilities=SimpleNamespace(elicitation=asks),
        can_send_request=False,
    )
    return SimpleNamespace(session=session, protocol_version=version)


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("claude-code", "claude-code"),
        (None, "mcp-client"),
        ("", "mcp-client"),
        ("user", "mcp-client"),
        ("a (rule: none)\n\u202eb", "a-rule:-none-b"),
        ("x" * 100, "x" * 64),
    ],
)
def test_a_client_can_call_itself_nothing_that_looks_like_more(
    given: str | None, name: str
) -> None:
    assert client_name(context(given)) == name


def test_a_client_is_asked_if_it_shows_forms() -> None:
    assert can_be_asked(context(form=None, url=None))
    assert can_be_asked(context(form={}, url={}))
    assert not can_be_asked(context(form=None, url={}))
    assert not can_be_asked(context())
    # In the earlier protocol only where there is a way to ask it.
    assert not can_be_asked(context(version="2025-06-18", form={}, url=None))


def test_the_address_of_an_output_is_read_strictly() -> None:
    assert parsed(output_uri("a.b")) == ("a.b", 0)
    assert parsed(output_uri("a.b", 7)) == ("a.b", 7)
    for other in ("tongs://output/", "tongs://output/a/b", "tongs://output/a?offset=-1", "a"):
        assert parsed(other) is None


def test_aliases_are_the_names_of_the_seed(project: Project) -> None:
    tools = meta_tools(project.runtime(), list, lambda query, limit: [], "glee")

    assert list(tools)[4:] == ["glee_tool", "glee_tool_create", "glee_tools_list"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ToolError(ErrorCode.DENIED, "no\x1b"), "no\\x1b"),
        (KeyError("secret"), "something in Tongs itself went wrong (KeyError), id "),
    ],
)
def test_whatever_goes_wrong_is_one_sentence_for_the_client(
    project: Project, error: Exception, said: str
) -> None:
    async def handler(context: Any, params: Any) -> Any:
        raise error

    with pytest.raises(MCPError) as caught:
        asyncio.run(_awaited(guarded(project.runtime(), handler)))

    assert caught.value.error.code == -32603
    assert caught.value.error.message.startswith(said)
    assert "secret" not in caught.value.error.message


async def _awaited(handler: Any) -> Any:
    return await handler(None, None)
