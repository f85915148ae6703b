"""The tools of servers, made of what was pinned of them; no server is started here."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tongs.core.call import Caller
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.core.permissions import Permissions
from tongs.core.scope import Scope
from tongs.core.servers import (
    Listing,
    NoServers,
    ServerAnswer,
    ServerCall,
    ServerRequest,
    ServerSpec,
    ServerTool,
    ToolTerms,
    definition_digest,
)
from tongs.core.tool import Level, Tool, Trust
from tongs.registry import Entry
from tongs.registry.names import ModelNames
from tongs.runtime.pinning import PinnedServers
from tongs.runtime.servers import ServerTools, level_of, walls_around, walls_of
from tongs.store.pins import PinStore

SCHEMA = {"type": "object", "properties": {"path": {}}}


def told(name: str, description: str = "does it") -> dict[str, Any]:
    claims = {"readOnlyHint": True}
    return {
        "name": name,
        "description": description,
        "inputSchema": SCHEMA,
        "outputSchema": {"type": "object"},
        "annotations": claims,
    }


@pytest.fixture
def pins(tmp_path: Path) -> PinStore:
    return PinStore(str(tmp_path))


def tools_of(pins: PinStore, *specs: ServerSpec) -> ServerTools:
    def no_files() -> Any:
        raise AssertionError("nobody named one")

    return ServerTools({spec.name: spec for spec in specs}, pins, no_files)


def pinned(pins: PinStore, spec: ServerSpec, *tools: dict[str, Any]) -> ServerTools:
    pins.seen(spec, tools, title="", version="")
    return tools_of(pins, spec)


def found(tools: ServerTools, name: str) -> Tool:
    tool = tools.find(name)
    assert tool is not None
    return tool


@pytest.mark.parametrize(
    ("spec", "level"),
    [
        (ServerSpec("a", ("x",)), Level.READ),
        (ServerSpec("a", ("x",), permissions=Permissions()), Level.READ),
        (ServerSpec("a", ("x",), permissions=Permissions(write=(".",))), Level.WRITE),
        (ServerSpec("a", ("x",), permissions=Permissions(network=("a.org",))), Level.RUN),
        (ServerSpec("a", ("x",), permissions=Permissions(network=True)), Level.RUN),
        (ServerSpec("a", url="https://a.org"), Level.RUN),
        (ServerSpec("a", url="https://a.org", permissions=Permissions()), Level.RUN),
    ],
)
def test_a_tool_counts_as_what_the_walls_of_its_server_leave(
    spec: ServerSpec, level: Level, pins: PinStore
) -> None:
    tool = found(pinned(pins, spec, told("t")), "a__t")

    assert (level_of(spec), tool.level, tool.tags) == (level, level, (level.value,))


def test_a_tool_is_made_of_its_pin_and_the_words_of_the_config(pins: PinStore) -> None:
    terms = {
        "t": ToolTerms(tags=("write", "git"), approval=True, timeout=5.0),
        "off": ToolTerms(enabled=False),
    }
    spec = ServerSpec("git", ("x",), timeout=9.0, tools=terms, source="config.yml:3")
    tools = pinned(pins, spec, told("t"), told("u"), told("off"))

    tool, other = found(tools, "git__t"), found(tools, "mcp:git__u")

    assert (tool.name, tool.qualified_name) == ("git__t", "mcp:git__t")
    assert (tool.tags, tool.requires_approval, tool.timeout) == (("write", "git"), True, 5.0)
    assert (other.tags, other.requires_approval, other.timeout) == (("read",), False, 9.0)
    assert tool.plan == ServerTool(spec, "t", told("t"), definition_digest(told("t")))
    assert (tool.input_schema, tool.output_schema) == (SCHEMA, {"type": "object"})
    assert (tool.trust, tool.origin.path, tool.origin.member) == (
        *(Trust.ACCEPTED, "config.yml:3"),
        "t",
    )
    assert found(tools, "git__t") is tool, "by which others remember what they know of it"
    assert [entry.name for entry in tools.entries()] == ["git__t", "git__u"]
    with pytest.raises(ToolError) as caught:
        tools.find("git__off")
    assert "switched off" in caught.value.message


def test_what_is_held_back_shows_only_what_was_accepted(pins: PinStore) -> None:
    spec = ServerSpec("git", ("x",))
    pins.seen(spec, [told("t")], title="", version="")
    tools = pinned(pins, spec, told("t", "other words"), told("new", "evil words"))

    assert [(e.name, e.trust, e.description) for e in tools.entries()] == [
        ("git__new", Trust.CHANGED, ""),
        ("git__t", Trust.CHANGED, "does it"),
    ]
    assert found(tools, "git__new").plan.digest == ""


def test_before_its_first_connection_a_server_may_have_any_tool(pins: PinStore) -> None:
    tools = tools_of(pins, ServerSpec("git", ("x",)), ServerSpec("off", ("x",), enabled=False))

    tool = found(tools, "git__anything")

    assert (tool.trust, tool.plan.digest) == (Trust.ACCEPTED, "")
    assert tool.input_schema == {"type": "object", "properties": {}}
    assert tools.entries() == []
    assert tools.unconnected() == ["git"]
    assert tools.unconnected(Scope.LOCAL) == []
    with pytest.raises(ToolError, match="switched off"):
        tools.find("off__x")


def test_other_names_are_nobody_s(pins: PinStore) -> None:
    tools = pinned(pins, ServerSpec("git", ("x",)), told("t"))

    assert [tools.find(name) for name in ("git", "other__t", "git_t")] == [None] * 3
    assert tools.find("git__t", Scope.LOCAL) is None
    for name in ("mcp:other__t", "mcp:nothing", "git__gone"):
        with pytest.raises(ToolError) as caught:
            tools.find(name)
        assert caught.value.code is ErrorCode.TOOL_NOT_FOUND


def test_names_fit_what_models_can_say(pins: PinStore) -> None:
    long = "x" * 128
    tools = pinned(pins, ServerSpec("a-server", ("x",)), told(long), told("a.b/c"))

    names: list[str] = [entry.name for entry in tools.entries()]
    known = ModelNames(names)

    assert [len(known.to_model(name)) <= 64 for name in names] == [True, True]
    assert [known.from_model(known.to_model(name)) for name in names] == names


def test_an_entry_says_that_no_file_has_it(pins: PinStore) -> None:
    (entry,) = pinned(pins, ServerSpec("git", ("x",)), told("t")).entries()

    assert entry.served
    assert (entry.qualified_name, entry.parameters) == ("mcp:git__t", ("path",))
    assert not Entry("t").served


def tool_of(permissions: Permissions) -> Tool:
    spec = ServerSpec("git", ("x",), permissions=permissions)
    return Tool("git__t", executor="mcp", plan=ServerTool(spec, "t", {}, ""))


def test_a_caller_must_be_allowed_what_the_server_is() -> None:
    place = Place("/p", "/p", "/home", "/home/.tongs")
    wide = Permissions(network=True, read=(".",), write=("out",))
    caller = Caller(name="outer", ceiling=Permissions(read=("/p",)))

    narrow = tool_of(Permissions(read=("sub",)))
    walls = walls_around(narrow, Permissions(read=("/p",)), caller, place)
    assert walls == Permissions(read=("/p/sub",))
    with pytest.raises(ToolError) as caught:
        walls_around(tool_of(wide), Permissions(read=("/p",)), caller, place)

    assert (caught.value.code, caught.value.blocked_by) == (ErrorCode.DENIED, BlockedBy.CEILING)
    assert caught.value.hint == (
        "to allow it, add to the permissions of outer:"
        " permissions: {network: true, fs: {write: [out]}}"
    )


def test_a_tool_that_declares_less_than_its_server_may_is_refused() -> None:
    place = Place("/p", "/p", "/home", "/home/.tongs")

    with pytest.raises(ToolError) as caught:
        walls_around(tool_of(Permissions(write=("out",))), Permissions(), Caller(), place)

    assert (caught.value.code, caught.value.blocked_by) == (ErrorCode.DENIED, BlockedBy.CEILING)
    assert caught.value.message == "git__t was not run: its server may do more than the tool"
    assert caught.value.hint == (
        "to allow it, add to the permissions of git__t: permissions: {fs: {write: [out]}}"
    )


def test_a_server_without_a_word_about_it_may_not_read_a_home() -> None:
    place = Place("/home", None, "/home", "/home/.tongs")

    assert walls_of(ServerSpec("git", ("x",)), place) == Permissions()
    said = ServerSpec("git", ("x",), permissions=Permissions(read=("notes",)))
    assert walls_of(said, place) == Permissions(read=("/home/notes",))


class Told(NoServers):
    """A server as the gateway would know it."""

    def __init__(self, *tools: dict[str, Any]) -> None:
        self.tools = tools
        self.called: list[ServerTool] = []

    async def listed(self, spec: ServerSpec, waiter: Any) -> Listing:
        return Listing(self.tools, "told", "1")

    async def call(self, request: ServerRequest, call: ServerCall, waiter: Any) -> ServerAnswer:
        self.called.append(request.tool)
        if definition_digest(self.tools[0]) != request.tool.digest:
            raise ToolError(ErrorCode.UNTRUSTED, "changed")
        return ServerAnswer(())


SPEC = ServerSpec("git", ("x",))


def call(servers: PinnedServers, tool: ServerTool) -> None:
    nobody: Any = None
    asyncio.run(servers.call(ServerRequest(tool, {}), nobody, nobody))


def test_the_first_call_of_a_server_pins_it(pins: PinStore, tmp_path: Path) -> None:
    told_so = Told(told("t"))

    call(PinnedServers(told_so, str(tmp_path)), ServerTool(SPEC, "t", {}, ""))

    assert told_so.called == [ServerTool(SPEC, "t", told("t"), definition_digest(told("t")))]
    known = pins.of(SPEC)
    assert known is not None
    assert known.title == "told"


def test_a_first_call_of_what_is_not_there_or_held_back_is_refused(
    pins: PinStore, tmp_path: Path
) -> None:
    servers = PinnedServers(Told(told("t")), str(tmp_path))
    with pytest.raises(ToolError) as missing:
        call(servers, ServerTool(SPEC, "statu", {}, ""))
    pins.accept(SPEC, [told("t", "other")])
    with pytest.raises(ToolError) as held:
        call(servers, ServerTool(SPEC, "t", {}, ""))

    assert missing.value.code is ErrorCode.TOOL_NOT_FOUND
    assert "has no tool `statu`" in missing.value.message
    assert held.value.code is ErrorCode.UNTRUSTED
    assert held.value.hint.endswith("tongs mcp pin git")


def test_a_listing_knows_of_a_change_that_a_call_has_met(pins: PinStore, tmp_path: Path) -> None:
    pins.seen(SPEC, [told("t")], title="", version="")

    with pytest.raises(ToolError, match="changed"):
        call(
            PinnedServers(Told(told("t", "other")), str(tmp_path)),
            ServerTool(SPEC, "t", told("t"), definition_digest(told("t"))),
        )

    known = pins.of(SPEC)
    assert known is not None
    assert [pin.name for pin in known.held] == ["t"]
