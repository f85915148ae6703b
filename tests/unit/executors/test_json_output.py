"""What a program printed becomes data that every reader of JSON can take."""

from __future__ import annotations

import json

import pytest

from tongs.core.execution import Completed
from tongs.executors.json_output import promised, read_json, read_with_gaps


def printed(text: str, *, size: int | None = None) -> Completed:
    data = text.encode()
    return Completed(
        exit_code=0,
        signal=None,
        timed_out=False,
        duration=0.1,
        stdout=data,
        stderr=b"",
        output=data,
        stdout_size=len(data) if size is None else size,
        stderr_size=0,
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [1, 2.5, null]}', {"a": [1, 2.5, None]}),
        ("\ufeff[1]\r\n", [1]),
        ("123456789012345678901234567890", 123456789012345678901234567890),
        ("1e300", 1e300),
        ("[" * 100 + "]" * 100, json.loads("[" * 100 + "]" * 100)),
    ],
)
def test_json_is_data(text: str, value: object) -> None:
    assert promised(printed(text)) == (value, [])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{nope", "Expecting property name"),
        ("", "Expecting value"),
        ('{"a": NaN}', "NaN is no number that JSON can carry"),
        ("[-Infinity]", "-Infinity is no number that JSON can carry"),
        ('{"a": 1e999}', "1e999 is no number that JSON can carry"),
        ("[" * 101 + "]" * 101, "nested deeper than 100 levels"),
        ("[" * 100_000, "nested deeper than 100 levels"),
    ],
)
def test_anything_else_is_a_warning_with_the_reason(text: str, reason: str) -> None:
    value, (warning,) = promised(printed(text))

    assert value is None
    assert warning.startswith("the output is no JSON, though the definition says so: ")
    assert reason in warning


def test_output_that_was_cut_is_not_blamed_for_its_end() -> None:
    value, warnings = promised(printed('{"a": "xx', size=3_000_000))

    assert value is None
    assert warnings == ["the value is not here as data, since its text was cut"]


def test_error_is_seen_although_a_number_in_it_cannot_be_carried() -> None:
    text = '{"error": "no", "details": {"ratio": NaN, "n": -1e999, "m": 1.5}}'

    with pytest.raises(ValueError, match="NaN"):
        read_json(text)
    assert read_with_gaps(text) == {"error": "no", "details": {"ratio": None, "n": None, "m": 1.5}}
