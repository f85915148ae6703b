"""Lines of a server: bounded before anything is made of them."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tongs.gateway import wire
from tongs.gateway.wire import DEEPEST, Lines, Refused, parsed, unbearable


def fed(data: bytes, size: int, largest: int = wire.LARGEST) -> list[Any]:
    """Everything that comes of the data in pieces of that size."""
    lines = Lines(largest)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return [message for piece in pieces for message in lines.feed(piece)]


@pytest.mark.parametrize("size", [1, 3, 7, 1000])
def test_messages_are_the_same_however_they_are_cut(size: int) -> None:
    data = b'{"id":1}\n\n  \n{"id":"\xc3\xa4"}\r\nnonsense\n[1]\n{"unfinished'

    assert fed(data, size) == [
        {"id": 1},
        {"id": "ä"},
        Refused("it is no JSON"),
        Refused("it is no JSON object"),
    ]


@pytest.mark.parametrize("size", [10, 999, 100_000])
@pytest.mark.parametrize(
    "line",
    [
        b'{"jsonrpc":"2.0","id":7,"result":"' + b"x" * 5000 + b'"}\n',
        b'{"result":"' + b"x" * 5000 + b'","jsonrpc":"2.0","id":7}\n',
    ],
    ids=["id-first", "id-last"],
)
def test_a_line_that_is_too_long_is_dropped_but_for_its_id(line: bytes, size: int) -> None:
    refused, after = fed(line + b'{"id":8}\n', size, largest=4096)

    assert (refused.id, after) == (7, {"id": 8})


def test_a_line_without_an_end_costs_no_memory() -> None:
    lines = Lines(4096)

    for _ in range(1000):
        assert list(lines.feed(b"x" * 1000)) == []

    assert sum(map(len, lines._parts)) + len(lines._tail) <= 4096


@pytest.mark.parametrize("bracket", ["[]", "{}"])
def test_depth_is_counted_exactly(bracket: str) -> None:
    opening = "[" if bracket == "[]" else '{"a":'
    closing = bracket[1]

    def nested(depth: int) -> bytes:
        return (opening * depth + "0" + closing * depth).encode()

    assert unbearable(nested(DEEPEST)) == ""
    assert "levels deep" in unbearable(nested(DEEPEST + 1))


def test_brackets_in_texts_do_not_count() -> None:
    assert unbearable(json.dumps({"a": "[" * 5000, "b": '\\"[[' * 500}).encode()) == ""


@given(st.recursive(st.text() | st.integers(), lambda inner: st.lists(inner, max_size=3)))
def test_whatever_is_shallow_passes(value: Any) -> None:
    data = json.dumps({"id": 1, "result": value}).encode()

    assert parsed(data) == {"id": 1, "result": value}


@pytest.mark.parametrize(
    "data",
    [b'"' + b'\\"' * 2_000_000, b"[" * 4_000_000, b'{"a":' * 1_000_000, b'"' * 4_000_001],
    ids=["escapes", "open", "objects", "quotes"],
)
def test_measuring_takes_no_longer_for_a_text_made_for_that(data: bytes) -> None:
    begun = time.process_time()

    parsed(data)

    assert time.process_time() - begun < 5


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_in_json_is_none_here(word: str) -> None:
    assert parsed(f'{{"id": 3, "result": {word}}}'.encode()) == Refused("it is no JSON", 3)
