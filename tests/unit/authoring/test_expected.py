"""What an example promises: `...` in texts, "..." in JSON, and differences that can be read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongs.authoring.expected import differences, text_fits


@pytest.mark.parametrize(
    ("expected", "output"),
    [
        ("", ""),
        ("Hello", "Hello\n"),
        ("Hello\n\n", "Hello"),
        ("...", ""),
        ("...", "any\nthing"),
        ("a...c", "abc"),
        ("a...c", "ac"),
        ("a...b...c", "a b b c"),
        ("... ends", "it ends\n"),
        ("starts ...", "starts here\nand goes on"),
        ("took ... ms\ndone", "took 12 ms\ndone"),
        ("a...a", "aa"),
    ],
)
def test_texts_that_fit(expected: str, output: str) -> None:
    assert differences(expected, output, None) == []


@pytest.mark.parametrize(
    ("expected", "output"),
    [("Hello", "hello"), ("a...a", "a"), ("a...b...c", "acb"), ("x", ""), ("ab...", "a")],
)
def test_texts_that_do_not_fit_are_shown_side_by_side(expected: str, output: str) -> None:
    assert differences(expected, output, None) == [f"expected: {expected}", f"got:      {output}"]


def test_of_many_lines_only_those_that_differ_are_shown() -> None:
    expected = "one\ntook ... ms\nthree\nfour\nfive"
    output = "one\ntook 7 ms\n3\nfour\nfive"

    assert differences(expected, output, None) == [
        "- expected, + got:",
        " took 7 ms",
        "-three",
        "+3",
        " four",
    ]


@given(st.lists(st.text(alphabet="ab\n", max_size=4), min_size=1, max_size=5), st.data())
def test_whatever_stands_for_the_dots_fits(parts: list[str], data: st.DataObject) -> None:
    text = parts[0]
    for part in parts[1:]:
        text += data.draw(st.text(alphabet="abc.\n", max_size=6)) + part

    assert text_fits("...".join(parts), text)


@pytest.mark.parametrize(
    ("expected", "value"),
    [
        ({"a": 1}, {"a": 1}),
        ({"a": 1}, {"a": 1.0}),
        ({"a": "..."}, {"a": [1, {"b": None}]}),
        ("...", [1]),
        ('{"ok": true, "ts": "..."}', {"ok": True, "ts": "1.2"}),
        ('{"title": "Fast..."}', {"title": "FastAPI"}),
        ('[{"a": "..."}, ...]', [{"a": 1}, {"a": 2}, 3]),
        ("[1, ..., 9]", [1, 2, 3, 9]),
        ('{"a": 1, ...}', {"a": 1, "b": 2}),
        ('["..."]', ["a ... b"]),
        ("{}", {}),
        ("3", 3),
        ([], []),
        ("plain", "plain"),
    ],
)
def test_values_that_fit(expected: Any, value: Any) -> None:
    assert differences(expected, "not looked at", value) == []


@pytest.mark.parametrize(
    ("expected", "value", "found"),
    [
        ({"a": 1}, {"a": 2}, ["a: expected 1, got 2"]),
        ({"a": True}, {"a": 1}, ["a: expected true, got 1"]),
        ({"a": 0}, {"a": False}, ["a: expected 0, got false"]),
        ({"a": {"b": []}}, {"a": {"b": {}}}, ["a.b: expected [], got {}"]),
        ({"a": "..."}, {}, ['a: expected "...", but it is missing']),
        ({}, {"b": 1}, ["b: not expected, got 1"]),
        ([1], [1, 2], ["the list: expected 1 items, got 2"]),
        ({"l": [{"t": "x"}]}, {"l": [{"t": "y"}]}, ['l[0].t: expected "x", got "y"']),
        ("[1, 2, ...]", [1], ["the list: expected at least 2 items, got 1"]),
        (None, 0, ["expected null, got 0"]),
    ],
)
def test_values_that_differ_are_named_by_their_place(
    expected: Any, value: Any, found: list[str]
) -> None:
    assert differences(expected, "", value) == found


def test_data_is_expected_of_an_output_that_is_json_text() -> None:
    assert differences({"n": 1}, '{"n": 1}\n', None) == []
    assert differences({"n": 1}, "n is 1\n", None) == ['expected: {"n": 1}', "got text: n is 1"]


def test_a_text_that_is_no_json_is_compared_with_the_output() -> None:
    assert differences("n: ...", "n: 1", {"n": 1}) == []


def test_long_reports_are_cut() -> None:
    found = differences(list(range(50)), "", [-1] * 50)

    assert (len(found), found[-1]) == (11, "… and 40 more")
    assert all(len(line) < 500 for line in differences("x" * 900, "y" * 900, None))
