"""What a model may write into a call, and what is made of it."""

from __future__ import annotations

import json

import pytest

from tongs.agent.calls_read import call_made, nameable, whole
from tongs.core.conversation import CallMade


def nested(levels: int) -> str:
    return '{"x": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize(
    ("written", "wrong"),
    [
        ('{"x": 1}', ""),
        (nested(50), ""),
        (nested(500), "nested deeper than"),
        (nested(100_000), "not valid JSON"),
        ('{"x": "\\ud83d\\ude00"}', ""),
        ('{"x": "\\ud800"}', "cannot be taken"),
        ('{"\\ud800": 1}', "cannot be taken"),
        ('{"x": NaN}', "not valid JSON"),
        ('{"x": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[]", "not a JSON object"),
    ],
)
def test_what_could_not_be_said_back_is_no_call(written: str, wrong: str) -> None:
    made = call_made("c", "look", written, cut=False)
    assert wrong in made.error
    assert (made.arguments is None) is bool(wrong)
    json.dumps(made.to_data(), ensure_ascii=False).encode()


def test_arguments_that_come_as_an_object_are_looked_at_too() -> None:
    made = call_made("c", "look", {"x": "\ud800"}, cut=False)
    assert made.arguments is None
    made.raw.encode()


@pytest.mark.parametrize("cut", [True, False])
def test_arguments_that_were_cut_off_are_not_none(cut: bool) -> None:
    made = call_made("c", "clean", "", cut=cut)
    assert (made.arguments is None) is cut
    whole_call = CallMade("c", "clean", {"x": 1}, '{"x": 1}')
    assert call_made("c", "clean", '{"x": 1}', cut=cut) == whole_call


def test_half_a_character_is_marked_and_names_fit_every_provider() -> None:
    assert whole("a\ud800b \U0001f600 \ud83d\ude00") == "a\ufffdb \U0001f600 \U0001f600"
    assert nameable("\x1b[2Jlook it") == "__2Jlook_it"
    assert nameable("weather-lookup_2") == "weather-lookup_2"
    assert (nameable(""), len(nameable("l" * 500))) == ("_", 64)
