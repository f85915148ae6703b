"""Tools by name: what a program registers comes before what folders hold."""

from __future__ import annotations

from typing import Any

import pytest

from tongs import ErrorCode, Scope, Tool, ToolError, ToolRegistry, tool
from tongs.core.permissions import Permissions
from tongs.core.tool import Level
from tongs.registry import Entry, find, marked


def test_registered_tool_is_found_and_listed() -> None:
    registry = ToolRegistry()
    made = Tool("t")

    registry.register(made)

    assert registry.get("t") is made
    assert registry.list() == [made]


def test_schema_whose_root_is_no_object_is_refused() -> None:
    with pytest.raises(ToolError) as caught:
        ToolRegistry().register(Tool("t", input_schema={"type": "string"}))

    assert caught.value.code is ErrorCode.INVALID_DEFINITION


def test_unknown_name_suggests_the_nearest() -> None:
    registry = ToolRegistry()
    registry.register(Tool("weather-lookup"))

    with pytest.raises(ToolError) as caught:
        registry.get("Wether-lookup")

    assert caught.value.code is ErrorCode.TOOL_NOT_FOUND
    assert caught.value.details["nearest"] == ["weather-lookup"]


def test_names_with_nothing_near_point_to_the_list() -> None:
    with pytest.raises(ToolError) as caught:
        ToolRegistry().get("x")

    assert caught.value.hint == "tongs tool list shows the tools there are"


def test_two_files_of_one_family_can_only_be_renamed() -> None:
    entries = [Entry("t", path="/a.yaml"), Entry("t", path="/b.yaml")]

    with pytest.raises(ToolError) as caught:
        find(entries, "yaml:t", Scope.ANY)

    assert caught.value.hint == "rename or remove one of the files"
    assert [entry.clash for entry in marked(entries)] == [True, True]


def test_scope_limits_the_search() -> None:
    entries = [Entry("t", scope=Scope.USER)]

    assert find(entries, "t", Scope.USER).scope is Scope.USER
    with pytest.raises(ToolError, match="in local scope"):
        find(entries, "t", Scope.LOCAL)


def test_name_that_reads_as_a_tool_of_a_scope_is_refused() -> None:
    registry = ToolRegistry()

    with pytest.raises(ToolError, match="has a colon") as caught:
        registry.register(Tool("builtin:read_file", "Not that one."))

    assert caught.value.code is ErrorCode.INVALID_DEFINITION
    assert caught.value.hint == "name it 'builtin_read_file'"
    assert registry.list() == []


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"timeout": "5s"}, "timeout must be seconds as a number, or None, got '5s'"),
        ({"timeout": 0}, "timeout must be"),
        ({"requires_approval": "no"}, "requires_approval must be True, False or a function"),
        ({"execute": "print"}, "execute must be a function"),
        ({"permissions": {"netwrk": True}}, "there is no `netwrk`, only network, fs, secrets"),
        ({"permissions": {"fs": {"reed": []}}}, "there is no `reed`"),
        ({"permissions": {"fs": {"read": "src"}}}, "`fs.read` must be a list of paths"),
        ({"permissions": {"fs": "src"}}, "`fs` must be a dict"),
        ({"permissions": {"network": "example.org"}}, "`network` must be"),
        ({"permissions": {"secrets": ["T"]}}, "`secrets` must be a dict"),
        ({"permissions": "all"}, "expected a dict"),
    ],
)
def test_mistake_is_named_when_the_tool_is_registered(given: dict[str, Any], told: str) -> None:
    with pytest.raises(ToolError) as caught:
        ToolRegistry().register(Tool("t", **given))

    assert caught.value.code is ErrorCode.INVALID_DEFINITION
    assert told in caught.value.message


def test_tags_and_permissions_are_taken_as_a_program_writes_them() -> None:
    given: Any = {"tags": "read", "permissions": {"fs": {"read": ["src"]}}}

    made = ToolRegistry().register(Tool("t", **given))

    assert made.tags == ("read",)
    assert made.permissions == Permissions(read=("src",))
    assert ToolRegistry().register(tool(tags="read")(len_of)).level is Level.READ


def len_of(text: str) -> int:
    """Count."""
    return len(text)
