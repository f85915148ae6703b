"""What a call may touch follows from its block, its tags, the config and its caller."""

from __future__ import annotations

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.execution import Place
from tongs.core.permissions import Grants, Permissions, Secret
from tongs.core.tool import Origin, Tool
from tongs.policy.permissions import effective, from_tags

PLACE = Place("/work/p/src", "/work/p")
CALL = ToolCall()


def test_read_tool_may_read_the_project_and_write_nothing() -> None:
    assert from_tags(Tool("t", tags=("read",)), PLACE) == Permissions(read=("/work/p",))


def test_tool_without_security_tag_may_write_the_project() -> None:
    assert from_tags(Tool("t"), PLACE) == Permissions(read=("/work/p",), write=("/work/p",))


def test_network_needs_a_tag_that_says_so() -> None:
    assert from_tags(Tool("t", tags=("read", "api")), PLACE).network is True
    assert from_tags(Tool("t", tags=("read", "github")), PLACE).network is False


def test_system_folder_is_never_taken_for_a_project() -> None:
    assert from_tags(Tool("t"), Place("/etc")) == Permissions()
    assert from_tags(Tool("t"), Place("/")) == Permissions()


def test_declared_block_replaces_the_tags() -> None:
    tool = Tool("t", tags=("run",), permissions=Permissions(read=("data",)))

    assert effective(tool, CALL, PLACE, None) == Permissions(read=("/work/p/data",))


def test_paths_of_a_project_tool_start_at_its_project() -> None:
    tool = Tool("t", permissions=Permissions(read=(".",)), origin=Origin(project="/other"))

    assert effective(tool, CALL, PLACE, None).read == ("/other",)


def test_grant_of_the_config_adds() -> None:
    tool = Tool("t", permissions=Permissions(network=("a",)))
    grants = Grants(Permissions(network=("b",), write=("out",), secrets=(Secret("K"),)))

    assert effective(tool, CALL, PLACE, grants) == Permissions(
        network=("a", "b"), write=("/work/p/out",), secrets=(Secret("K"),)
    )


def test_grant_of_the_whole_network_covers_hosts() -> None:
    tool = Tool("t", permissions=Permissions(network=("a",)))

    assert effective(tool, CALL, PLACE, Grants(Permissions(network=True))).network is True


def test_nested_call_gets_no_more_than_its_caller() -> None:
    ceiling = Permissions(read=("/work/p/src",))
    caller = Caller(CallerKind.TOOL, "outer", ceiling=ceiling)

    inner = effective(Tool("t", tags=("run", "api")), ToolCall(caller=caller), PLACE, None)

    assert inner == Permissions(read=("/work/p/src",))
