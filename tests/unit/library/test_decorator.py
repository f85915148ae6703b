"""`@tool`: what becomes of the hints, the docstring and the call of a function."""

from __future__ import annotations

import asyncio
import datetime
import enum
import pathlib
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any, Literal, NamedTuple, NewType, NotRequired, TypedDict, TypeVar

import pydantic
import pytest

from tongs import ErrorCode, ToolCall, ToolError, ToolResult, tool
from tongs.schema.check import check_root


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Shape(enum.Enum):
    ROUND = (1, 2)


@dataclass
class Point:
    """A place on a plane.

    Attributes:
        x: To the right
    """

    x: float
    y: float = 0.0
    label: str = field(default="", metadata={"description": "Its name"})


@dataclass
class Node:
    value: int
    children: list[Node] = field(default_factory=list)


class Options(TypedDict):
    deep: bool
    depth: NotRequired[int]


class Pair(NamedTuple):
    left: int
    right: int = 2


class Item(pydantic.BaseModel):
    name: str
    price: float = pydantic.Field(gt=0, description="In euros")


class Order(pydantic.BaseModel):
    items: list[Item]


UserId = NewType("UserId", int)
Bounded = TypeVar("Bounded", bound=int)


def schema_of(hint: Any) -> dict[str, Any]:
    """What becomes of one hint."""

    def function(x):  # type: ignore[no-untyped-def]
        return x

    function.__annotations__ = {"x": hint}
    schema = tool(function).as_tool().input_schema
    check_root(schema)
    found: dict[str, Any] = schema["properties"]["x"]
    return found


def given(hint: Any, data: Any) -> Any:
    """What a function gets for this data."""
    got = []

    def function(x):  # type: ignore[no-untyped-def]
        got.append(x)

    function.__annotations__ = {"x": hint}
    result = call(tool(function), x=data)
    assert result.ok, result.error
    return got[0]


def call(function: Any, **arguments: Any) -> ToolResult:
    return asyncio.run(function.call(ToolCall("c1", "t", arguments)))


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (str, {"type": "string"}),
        (int, {"type": "integer"}),
        (float, {"type": "number"}),
        (bool, {"type": "boolean"}),
        (None, {"type": "null"}),
        (Any, {}),
        (object, {}),
        (list, {"type": "array"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (set[str], {"type": "array", "items": {"type": "string"}, "uniqueItems": True}),
        (tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (dict, {"type": "object"}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (Mapping[str, Any], {"type": "object", "additionalProperties": True}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (int | Any, {}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (Literal["a", 1], {"enum": ["a", 1]}),
        (Color, {"type": "string", "enum": ["red", "blue"]}),
        (Shape, {"type": "string", "enum": ["ROUND"]}),
        (UserId, {"type": "integer"}),
        (Bounded, {"type": "integer"}),
        (datetime.datetime, {"type": "string", "format": "date-time"}),
        (uuid.UUID, {"type": "string", "format": "uuid"}),
        (pathlib.Path, {"type": "string"}),
        (bytes, {"type": "string", "contentEncoding": "base64"}),
        (Annotated[int, "How many"], {"type": "integer", "description": "How many"}),
        (Annotated[int, {"minimum": 1}], {"type": "integer", "minimum": 1}),
        (
            Annotated[str, pydantic.Field(min_length=2, pattern="^a", description="d")],
            {"type": "string", "minLength": 2, "pattern": "^a", "description": "d"},
        ),
        (
            Annotated[list[int], pydantic.Field(max_length=3)],
            {"type": "array", "items": {"type": "integer"}, "maxItems": 3},
        ),
        (
            tuple[int, str],
            {
                "type": "array",
                "items": False,
                "minItems": 2,
                "maxItems": 2,
                "prefixItems": [{"type": "integer"}, {"type": "string"}],
            },
        ),
        (
            Options,
            {
                "type": "object",
                "properties": {"deep": {"type": "boolean"}, "depth": {"type": "integer"}},
                "required": ["deep"],
                "additionalProperties": False,
            },
        ),
    ],
)
def test_hint_becomes_a_schema(hint: Any, schema: dict[str, Any]) -> None:
    assert schema_of(hint) == schema


def test_data_class_becomes_an_object_with_all_that_is_said_of_it() -> None:
    assert schema_of(Point) == {
        "type": "object",
        "properties": {
            "x": {"description": "To the right", "type": "number"},
            "y": {"type": "number", "default": 0.0},
            "label": {"description": "Its name", "type": "string", "default": ""},
        },
        "required": ["x"],
        "additionalProperties": False,
        "description": "A place on a plane.",
    }


def test_type_inside_itself_is_defined_once() -> None:
    @tool
    def grow(tree: Node) -> None:
        """d"""

    schema = grow.as_tool().input_schema

    check_root(schema)
    assert schema["properties"] == {"tree": {"$ref": "#/$defs/Node"}}
    assert schema["$defs"]["Node"]["properties"]["children"]["items"] == {"$ref": "#/$defs/Node"}


def test_pydantic_model_brings_its_own_schema() -> None:
    @tool
    def buy(order: Order, again: Order | None = None) -> None:
        """d"""

    schema = buy.as_tool().input_schema

    check_root(schema)
    price = schema["$defs"]["Item"]["properties"]["price"]
    assert (price["exclusiveMinimum"], price["description"]) == (0, "In euros")


@pytest.mark.parametrize(
    ("hint", "data", "expected"),
    [
        (Color, "red", Color.RED),
        (Shape, "ROUND", Shape.ROUND),
        (Literal[Color.RED], "red", Color.RED),
        (Point, {"x": 1}, Point(1)),
        (list[Point], [{"x": 1, "y": 2}], [Point(1, 2)]),
        (dict[str, Color], {"a": "blue"}, {"a": Color.BLUE}),
        (Point | None, None, None),
        (Point | Pair | None, {"left": 1}, Pair(1)),
        (Node, {"value": 1, "children": [{"value": 2}]}, Node(1, [Node(2)])),
        (Pair, {"left": 1}, Pair(1, 2)),
        (Options, {"deep": True}, {"deep": True}),
        (Order, {"items": [{"name": "a", "price": 1}]}, Order(items=[Item(name="a", price=1)])),
        (tuple[int, Color], [1, "red"], (1, Color.RED)),
        (set[int], [1, 2], {1, 2}),
        (frozenset[int], [1], frozenset({1})),
        (datetime.date, "2026-11-15", datetime.date(2026, 11, 15)),
        (Decimal, "1.50", Decimal("1.50")),
        (pathlib.Path, "a/b", pathlib.Path("a/b")),
        (bytes, "aGk=", b"hi"),
        (pydantic.HttpUrl, "https://example.org/", pydantic.HttpUrl("https://example.org/")),
    ],
)
def test_data_becomes_what_the_function_expects(hint: Any, data: Any, expected: Any) -> None:
    got = given(hint, data)

    assert (type(got), got) == (type(expected), expected)


def test_value_that_the_schema_cannot_refuse_is_refused_before_the_function_runs() -> None:
    @tool
    def at(when: datetime.date) -> None:
        """d"""
        raise AssertionError("it ran")

    error = call(at, when="2026-13-45").error

    assert error is not None
    assert error.code is ErrorCode.INVALID_ARGUMENTS


@pytest.mark.parametrize("hint", [Callable[[], int], dict[int, str], Literal[b"x"], type[int]])
def test_hint_that_json_has_nothing_for_is_refused_by_name(hint: Any) -> None:
    def function(x):  # type: ignore[no-untyped-def]
        return x

    function.__annotations__ = {"x": hint}

    with pytest.raises(ToolError) as caught:
        tool(function).as_tool()

    assert caught.value.code is ErrorCode.INVALID_DEFINITION
    assert "`x`" in caught.value.message


def test_defaults_are_told_where_json_can_tell_them() -> None:
    @tool
    def find(
        where: pathlib.Path = pathlib.Path(),
        color: Color = Color.BLUE,
        count: int = None,  # type: ignore[assignment]  # noqa: RUF013 - as many write it
        key: Any = object(),  # noqa: B008 - a default that cannot be told
    ) -> str:
        """d"""
        return f"{where} {color.name} {count} {type(key).__name__}"

    properties = find.as_tool().input_schema["properties"]

    assert [entry.get("default", "none told") for entry in properties.values()] == [
        ".",
        "blue",
        None,
        "none told",
    ]
    assert call(find).output == ". BLUE None object"


def test_arguments_of_a_function_have_names() -> None:
    def function(*values: int) -> None:
        """d"""

    with pytest.raises(ToolError, match=r"`\*values`"):
        tool(function).as_tool()


def test_positional_and_further_arguments_arrive() -> None:
    @tool
    def mixed(first: int, /, second: int, **more: int) -> list[int]:
        """d"""
        return [first, second, *more.values()]

    assert call(mixed, first=1, second=2, third=3).value == [1, 2, 3]
    assert mixed.as_tool().input_schema["additionalProperties"] == {"type": "integer"}


def test_function_stays_the_function_it_is() -> None:
    @tool(name="other", tags=["read"])
    def double(x: int) -> int:
        """Twice as much."""
        return 2 * x

    assert double(2) == 4
    made = double.as_tool()
    assert (made.name, made.description, made.tags) == ("other", "Twice as much.", ("read",))
    assert double.as_tool() is made


def test_schema_by_hand_takes_the_place_of_the_hints() -> None:
    schema = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}

    @tool(parameters=schema)
    def double(x):  # type: ignore[no-untyped-def]
        """Twice."""
        return 2 * x

    assert double.as_tool().input_schema == schema
    assert call(double, x=4).value == 8


def test_promise_of_the_return_hint_becomes_the_output_schema() -> None:
    @tool
    def where() -> Point:
        """d"""
        return Point(1, 2)

    promised = where.as_tool().output_schema
    assert promised is not None
    assert promised["required"] == ["x"]
    assert call(where).value == {"x": 1, "y": 2, "label": ""}


@pytest.mark.parametrize("wrong", ["name", 5])
def test_decorator_goes_on_a_function(wrong: Any) -> None:
    with pytest.raises(TypeError, match="goes on a function"):
        tool(wrong)


def test_unknown_option_is_refused() -> None:
    with pytest.raises(TypeError, match="'tag'"):
        tool(tag="read")  # type: ignore[call-overload]


def test_lambda_needs_a_name() -> None:
    with pytest.raises(ToolError, match="no name"):
        tool(lambda: 1).as_tool()


def test_name_that_is_nowhere_is_a_definition_error() -> None:
    def function(x: Missing) -> None:  # type: ignore[name-defined]  # noqa: F821 - the test
        """d"""

    with pytest.raises(ToolError, match="Missing"):
        tool(function).as_tool()
