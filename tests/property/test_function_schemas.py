"""Any function with hints: its schema compiles, and takes what the function takes."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import make_dataclass
from typing import Any, Literal, TypedDict

from hypothesis import given
from hypothesis import strategies as st
from tests.thorough import examples

from tongs import ToolCall, ToolRegistry, tool
from tongs.registry.export import FORMATS
from tongs.schema.check import check_root, violations

Typed = tuple[Any, st.SearchStrategy[Any]]

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
WHOLE = st.integers(-(2**40), 2**40)
SCALARS: list[Typed] = [
    (str, TEXT),
    (int, WHOLE),
    (float, st.floats(allow_nan=False, allow_infinity=False)),
    (bool, st.booleans()),
    (None, st.none()),
    (Any, st.one_of(st.none(), TEXT, WHOLE)),
    (Literal["a", "b", 3], st.sampled_from(["a", "b", 3])),
    (enum.Enum("Color", {"RED": "red", "BLUE": 2}), st.sampled_from(["red", 2])),
]


def _lists(inner: Typed) -> Typed:
    hint, data = inner
    return (list[hint], st.lists(data, max_size=3))


def _mappings(inner: Typed) -> Typed:
    hint, data = inner
    return (dict[str, hint], st.dictionaries(TEXT, data, max_size=3))


def _pairs(inner: tuple[Typed, Typed]) -> Typed:
    (left, first), (right, second) = inner
    return (tuple[left, right], st.tuples(first, second).map(list))


def _unions(inner: tuple[Typed, Typed]) -> Typed:
    (left, first), (right, second) = inner
    return (left | right if left is not None else right | None, st.one_of(first, second))


def _classes(inner: tuple[Typed, Typed]) -> Typed:
    (left, first), (right, second) = inner
    made = make_dataclass("Made", [("a", left), ("b", right)])
    return (made, st.fixed_dictionaries({"a": first, "b": second}))


def _dicts(inner: tuple[Typed, Typed]) -> Typed:
    (left, first), (right, second) = inner
    made = TypedDict("Made", {"a": left, "b": right}, total=False)  # type: ignore[misc]  # noqa: UP013 - its types are made here
    return (made, st.fixed_dictionaries({}, optional={"a": first, "b": second}))


def _more(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    two = st.tuples(inner, inner)
    return st.one_of(
        inner.map(_lists),
        inner.map(_mappings),
        two.map(_pairs),
        two.filter(lambda pair: pair[0][0] is not pair[1][0] or pair[0][0] is not None).map(
            _unions
        ),
        two.map(_classes),
        two.map(_dicts),
    )


TYPES = st.recursive(st.sampled_from(SCALARS), _more, max_leaves=6)


@examples(150)
@given(TYPES, st.data())
def test_schema_compiles_and_takes_what_the_function_takes(
    typed: Typed, data: st.DataObject
) -> None:
    hint, strategy = typed
    value = data.draw(strategy)
    got = []

    def function(x):  # type: ignore[no-untyped-def]
        got.append(x)

    function.__annotations__ = {"x": hint}
    made = tool(function)
    schema = made.as_tool().input_schema

    check_root(schema)
    assert violations(schema, {"x": value}) == []
    result = asyncio.run(made.call(ToolCall("1", "f", {"x": value})))
    assert result.ok, result.error
    assert len(got) == 1


@examples(100)
@given(TYPES)
def test_every_schema_can_be_said_in_every_format(typed: Typed) -> None:
    def function(x, y=None):  # type: ignore[no-untyped-def]
        """d"""

    function.__annotations__ = {"x": typed[0], "y": typed[0]}
    registry = ToolRegistry()
    registry.register(tool(function))

    for form in FORMATS:
        for strict in (False, True):
            exported = registry.export(form, strict=strict)
            if form == "openai-flat":
                check_root(exported.data[0]["parameters"])
            if form == "anthropic":
                check_root(exported.data[0]["input_schema"])
