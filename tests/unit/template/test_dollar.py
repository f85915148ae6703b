"""`${x}` in the fields of a manifest."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongs.template import dollar
from tongs.template.values import ABSENT, TemplateError

KNOWN = ("a", "b", "KEY")


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("plain", {}, "plain"),
        ("", {}, ""),
        ("${a}", {"a": "x"}, "x"),
        ("<${a}|${b}>", {"a": "x", "b": 5}, "<x|5>"),
        ("${a}${a}", {"a": "x"}, "xx"),
        ("n=${a}", {"a": 5.0}, "n=5"),
        ("n=${a}", {"a": True}, "n=true"),
        ("n=${a}", {}, "n="),
        ("$${a}", {"a": "x"}, "${a}"),
        ("$a ${ {a} $", {"a": "x"}, "$a ${ {a} $"),
    ],
)
def test_text_is_filled_in_one_pass(text: str, values: dict[str, Any], expected: str) -> None:
    assert dollar.compile(text, KNOWN).text(values) == expected


@pytest.mark.parametrize("value", ["x", 5, 5.5, True, None, [1, "a"], {"k": [1]}])
def test_text_that_is_one_name_keeps_the_type(value: object) -> None:
    assert dollar.compile("${a}", KNOWN).value({"a": value}) == value


def test_text_that_is_one_name_is_absent_with_its_value() -> None:
    assert dollar.compile("${a}", KNOWN).value({}) is ABSENT
    assert dollar.compile("x${a}", KNOWN).value({}) == "x"


@pytest.mark.parametrize("text", ["${c}", "${}", "x ${ a }", "${A}"])
def test_unknown_name_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(TemplateError) as caught:
        dollar.compile(text, KNOWN)

    assert caught.value.offset == text.index("$")
    assert "$${" in caught.value.hint


def test_structure_is_filled_and_absent_entries_are_dropped() -> None:
    a, b, more = (dollar.compile(text, KNOWN) for text in ("${a}", "${b}", "x${a}"))
    data = {"q": a, "n": [b, more, 5], "inner": {"gone": b}, "flag": True}

    filled = dollar.filled(data, {"a": [1]})

    assert filled == {"q": [1], "n": ["x1", 5], "inner": {}, "flag": True}


def test_array_gives_as_many_words_as_it_has_items() -> None:
    data = [dollar.compile(text, KNOWN) for text in ("-x", "${a}", "${b}", "a=${a}")]

    assert dollar.words(data, {"a": ["1 2", 3, True]}) == [
        *("-x", "1 2", "3", "true"),
        "a=1 2 3 true",
    ]


@given(value=st.text(), around=st.text(alphabet="$ {}ab"))
def test_value_is_never_looked_at_again(value: str, around: str) -> None:
    try:
        template = dollar.compile(around + "${a}", ("a", "b", "ab", "ba", ""))
    except TemplateError:
        return

    expected = dollar.compile(around, ("a", "b", "ab", "ba", "")).text({"a": value})
    if not around.endswith("$"):
        assert template.text({"a": value}) == expected + value
