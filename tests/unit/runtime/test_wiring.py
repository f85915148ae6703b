"""What a tool is allowed is worked out once, and only for callers with the same say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tongs.config.places import find_places
from tongs.config.settings import Settings
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.driving import drive
from tongs.core.permissions import Grants, Permissions, Secret
from tongs.core.tool import Tool
from tongs.registry import ToolRegistry
from tongs.runtime.wiring import Wiring
from tongs.sandbox.waiting import BlockingWaiter
from tongs.store.log import Log

NESTED = Caller(CallerKind.TOOL, "outer", ("outer",), Permissions(network=False))
ONLINE = Tool("online", permissions=Permissions(network=True))
CALL = ToolCall("1", "online")


def wiring(folder: Path, **grants: Grants) -> Wiring:
    host = {"HOME": str(folder), "PATH": "/usr/bin:/bin", "TOKEN": "t0ken", "LC_ALL": "C"}
    places = find_places(str(folder), host)
    log = Log(places.state, "info")
    return Wiring(places, Settings(tools=grants), host, ToolRegistry(), log)


def test_a_nested_call_stays_below_its_ceiling_after_a_call_without_one(tmp_path: Path) -> None:
    wired = wiring(tmp_path)

    alone = wired.allow(CALL, ONLINE)
    nested = wired.allow(ToolCall("2", "online", {}, NESTED), ONLINE)

    assert (alone.permissions, nested.permissions) == (
        Permissions(network=True),
        Permissions(network=False),
    )


def test_a_nested_call_takes_nothing_from_the_next_call_without_a_ceiling(tmp_path: Path) -> None:
    wired = wiring(tmp_path)

    wired.allow(ToolCall("1", "online", {}, NESTED), ONLINE)

    assert wired.allow(CALL, ONLINE).permissions == Permissions(network=True)


def test_two_tools_of_one_name_are_allowed_each_its_own(tmp_path: Path) -> None:
    wired = wiring(tmp_path)
    offline = Tool("online", permissions=Permissions())

    allowed = [wired.allow(CALL, tool).permissions.network for tool in (ONLINE, offline)]

    assert allowed == [True, False]


def test_many_tools_one_after_the_other_are_allowed_each_its_own(tmp_path: Path) -> None:
    wired = wiring(tmp_path)
    tools = [Tool("online", permissions=Permissions(read=(f"/{n}",))) for n in range(200)]

    allowed = [wired.allow(CALL, tool).permissions for tool in (*tools, *tools)]

    assert allowed == [tool.permissions for tool in (*tools, *tools)]


def test_a_secret_is_in_the_world_of_the_tool_that_declares_it_and_in_no_other(
    tmp_path: Path,
) -> None:
    wired = wiring(tmp_path)
    trusted = Tool("trusted", permissions=Permissions(secrets=(Secret("TOKEN"),)))
    base = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LC_ALL": "C", "TMPDIR": "/tmp"}

    allowed = [
        drive(wired.reveal(tool, wired.allow(CALL, tool), BlockingWaiter()))
        for tool in (trusted, ONLINE)
    ]
    worlds = [wired.world(tool, a) for tool, a in zip((trusted, ONLINE), allowed, strict=True)]

    assert [dict(world.environment) for world in worlds] == [{**base, "TOKEN": "t0ken"}, base]


def test_what_the_config_grants_is_in_the_world_of_that_tool(tmp_path: Path) -> None:
    wired = wiring(tmp_path, online=Grants(environment={"MODE": "fast", "LC_ALL": None}))

    world = wired.world(ONLINE, wired.allow(CALL, ONLINE))

    assert world.environment["MODE"] == "fast"


def test_a_call_cannot_change_the_environment_of_the_next(tmp_path: Path) -> None:
    wired = wiring(tmp_path)
    world = wired.world(ONLINE, wired.allow(CALL, ONLINE))

    with pytest.raises(TypeError):
        world.environment["LD_PRELOAD"] = "/tmp/mine.so"  # type: ignore[index]  # what is tested
