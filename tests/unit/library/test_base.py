"""BaseTool: properties or attributes, async or not, whatever `execute` answers."""

from __future__ import annotations

import asyncio
import math
from types import MappingProxyType
from typing import Any

import pytest

from tongs import (
    BaseTool,
    ErrorCode,
    Permissions,
    ToolCall,
    ToolError,
    ToolResult,
    create_json_schema,
)


def call(tool: BaseTool, **arguments: Any) -> ToolResult:
    return asyncio.run(tool.call(ToolCall("c1", "t", arguments)))


class Answering(BaseTool):
    """Answers with what it was made with.

    At length.
    """

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def execute(self, arguments: dict[str, Any]) -> Any:
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_attributes_of_the_class_and_of_the_object_count() -> None:
    class Weather(BaseTool):
        description = "of the class"
        tags = ("read",)
        permissions = MappingProxyType({"network": ["api.example.org"]})
        timeout = 5.0

        def __init__(self) -> None:
            self.name = "of the object"

        async def execute(self, arguments: dict[str, Any]) -> str:
            return "sunny"

    tool = Weather().as_tool()

    assert (tool.name, tool.description, tool.tags, tool.timeout) == (
        "of the object",
        "of the class",
        ("read",),
        5.0,
    )
    assert tool.permissions == Permissions(network=("api.example.org",))
    assert call(Weather()).output == "sunny"


def test_name_and_description_come_from_the_class_unless_they_are_said() -> None:
    tool = Answering(1).as_tool()

    assert (tool.name, tool.description) == (
        "answering",
        "Answers with what it was made with.\n\nAt length.",
    )


def test_arguments_are_checked_before_it_runs() -> None:
    class Strict(Answering):
        parameters = create_json_schema({"x": {"type": "integer"}}, ["x"])

    error = call(Strict(AssertionError("it ran")), x="no").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize(
    ("answer", "output", "value"),
    [
        (None, "", None),
        ("text", "text", "text"),
        ({"a": [1, 2.5, True, None]}, '{"a": [1, 2.5, true, null]}', {"a": [1, 2.5, True, None]}),
        ((1, 2), "[1, 2]", [1, 2]),
        ({1, 2}, "[1, 2]", [1, 2]),
        (b"hi", '"aGk="', "aGk="),
        (ToolResult(output="o", value=5), "o", 5),
    ],
)
def test_any_value_becomes_a_result(answer: Any, output: str, value: Any) -> None:
    result = call(Answering(answer))

    assert (result.ok, result.output, result.value, result.tool_call_id) == (
        True,
        output,
        value,
        "c1",
    )


@pytest.mark.parametrize(
    ("raised", "code"),
    [
        (ToolError("TOO_HOT", "it is hot"), "TOO_HOT"),
        (ValueError("wrong"), ErrorCode.EXECUTION_ERROR),
        (FileNotFoundError(2, "gone"), ErrorCode.FILE_NOT_FOUND),
        (PermissionError(13, "no"), ErrorCode.PERMISSION_DENIED),
        (TimeoutError(), ErrorCode.TIMEOUT),
    ],
)
def test_what_is_raised_becomes_an_error(raised: BaseException, code: str) -> None:
    error = call(Answering(raised)).error

    assert error is not None
    assert error.code == code


def test_error_says_what_was_raised_and_where() -> None:
    error = call(Answering(ValueError("wrong"))).error

    assert error is not None
    assert error.message == "answering raised ValueError: wrong"
    assert error.details["exceptionType"] == "ValueError"
    assert [line.rpartition(" in ")[2] for line in error.details["traceback"]] == ["execute"]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_exception_without_a_text_is_an_error_all_the_same() -> None:
    error = call(Answering(Unspeakable())).error

    assert error is not None
    assert "its text cannot be had" in error.message


@pytest.mark.parametrize("answer", [object(), {1: object()}, math.nan, {(1, 2): 3}])
def test_value_that_json_cannot_hold_is_an_error(answer: Any) -> None:
    error = call(Answering(answer)).error

    assert error is not None
    assert error.code is ErrorCode.EXECUTION_ERROR
    assert "cannot be JSON" in error.message


def test_value_without_an_end_is_an_error() -> None:
    endless: list[Any] = []
    endless.append(endless)

    error = call(Answering(endless)).error

    assert error is not None
    assert "nested deeper" in error.message


def test_class_without_execute_says_so() -> None:
    error = call(BaseTool()).error

    assert error is not None
    assert "has no `execute`" in error.message


def test_schema_by_hand_names_what_is_wrong_with_it() -> None:
    with pytest.raises(ToolError, match="`b` is required"):
        create_json_schema({"a": {"type": "string"}}, ["b"])
    with pytest.raises(ToolError, match="must be a schema"):
        create_json_schema({"a": "string"})  # type: ignore[dict-item]


def test_schema_by_hand_is_what_model_apis_want() -> None:
    assert create_json_schema({"a": {"type": "string"}}, ["a"], additional_properties=False) == {
        "type": "object",
        "properties": {"a": {"type": "string"}},
        "required": ["a"],
        "additionalProperties": False,
    }
