"""A Python tool file tells what it defines and answers calls, in whatever process it is loaded."""

from __future__ import annotations

import json
from types import ModuleType
from typing import Any

import pytest

from tongs.core.errors import ErrorCode, ToolError
from tongs.library.members import members
from tongs.library.served import answered, described, load, member

FILE = '''
from typing import Any

from tongs import BaseTool, Permissions, Tool, ToolResult, tool
from tongs.library.base import BaseTool as Imported


@tool
def double(n: int) -> int:
    """Twice as much."""
    return 2 * n


@tool
async def slow(text: str) -> str:
    """Takes its time."""
    return text


@tool
def careful() -> dict[str, Any]:
    """Answers with both."""
    return {"a": "ü"}


@tool
def leaves() -> None:
    """Gives up."""
    raise SystemExit(3)


class Greeter(BaseTool):
    """Greets."""

    name = "greet"
    description = "Greets."
    parameters = {"type": "object", "properties": {}}

    def execute(self, arguments: dict[str, Any]) -> ToolResult:
        return ToolResult(output="hi", value={"word": "hi"}, warnings=["early"])


class Base(BaseTool):
    """Meant to be made into others."""


class Kept(Greeter):
    name = "kept"


kept = Kept()
_hidden = Kept()
whole = Tool(
    "whole",
    "Has everything.",
    permissions=Permissions.from_data({"secrets": {"KEY": {"required": False}}}),
    output_schema={"type": "string"},
    limits={"memory": 1024},
    version="2",
    requires_approval=True,
    examples=({"input": {}},),
)


def plain() -> None:
    pass
'''


@pytest.fixture
def module() -> ModuleType:
    return load(FILE, "/tools/file.py")


def test_what_a_module_defines_is_found_and_what_it_imports_or_hides_is_not(
    module: ModuleType,
) -> None:
    assert sorted(members(module)) == [
        *("careful", "double", "greet", "kept", "leaves", "slow", "whole")
    ]
    assert module.__file__ == "/tools/file.py"


def test_two_tools_of_one_name_are_refused() -> None:
    twice = 'from tongs import Tool\na = Tool("x")\nb = Tool("x")\n'

    with pytest.raises(ToolError, match="two tools are called `x`"):
        members(load(twice, "/x.py"))


def test_everything_that_is_known_before_a_call_is_told(module: ModuleType) -> None:
    told = {one["name"]: one for one in described(module)}

    assert told["double"]["description"] == "Twice as much."
    assert told["double"]["input_schema"]["properties"]["n"]["type"] == "integer"
    whole = told["whole"]
    assert whole["outputs"] == {"schema": {"type": "string"}}
    assert whole["permissions"]["secrets"] == {"KEY": {"required": False}}
    assert whole["limits"] == {"memory": 1024}
    assert whole["version"] == "2"
    assert whole["approval"] == {
        "required": True,
        "reason": "its author wants every call approved",
    }
    assert not {"permissions", "limits", "version", "approval"} & told["slow"].keys()


@pytest.mark.parametrize(
    ("name", "arguments", "head", "text"),
    [
        ("double", {"n": 4}, {"answer": "json"}, "8"),
        ("slow", {"text": "a"}, {"answer": "text", "value": True}, "a"),
        ("careful", {}, {"answer": "json"}, '{"a": "ü"}'),
        (
            "greet",
            {},
            {"warnings": ["early"], "answer": "both", "value": {"word": "hi"}},
            "hi",
        ),
    ],
)
def test_answer_is_a_line_about_it_and_its_text(
    module: ModuleType, name: str, arguments: dict[str, Any], head: dict[str, Any], text: str
) -> None:
    assert answered(member(module, name), arguments) == (head, text)


def test_tool_that_ends_its_process_has_failed(module: ModuleType) -> None:
    head, text = answered(member(module, "leaves"), {})

    assert head == {"answer": "failure"}
    assert json.loads(text)["code"] == ErrorCode.EXECUTION_ERROR
