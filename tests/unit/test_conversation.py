"""What was said is JSON and back, unchanged."""

from __future__ import annotations

import json

import pytest

from tongs.core.conversation import (
    CallAnswered,
    CallMade,
    Conversation,
    ModelFailed,
    ModelSaid,
    ToolsAnswered,
    Usage,
    UserSaid,
    message_of,
)

WHOLE = Conversation(
    "c1",
    "the weather",
    "2026-01-01T00:00:00+00:00",
    "/tmp/project",
    "local",
    (
        UserSaid("how is it in London?"),
        ModelSaid(
            "I look.",
            (
                CallMade("1", "weather", {"city": "London"}, '{"city": "London"}'),
                CallMade("2", "weather", None, "{city", "no JSON"),
            ),
            Usage(12, 3),
            "m",
            {"signature": "x"},
        ),
        ToolsAnswered(
            (CallAnswered("1", "weather", "rain", True), CallAnswered("2", "weather", "e", False))
        ),
        ModelSaid("It rains."),
    ),
)


def test_a_conversation_is_the_same_after_json() -> None:
    assert Conversation.from_data(json.loads(json.dumps(WHOLE.to_data()))) == WHOLE


def test_a_message_of_an_unknown_type_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown type 'psychic'"):
        message_of({"type": "psychic"})


def test_a_failure_says_its_kind_and_what_to_do() -> None:
    failed = ModelFailed("rate", "too many requests", "wait", 2.5)
    assert (failed.kind, str(failed), failed.hint, failed.retry_after) == (
        "rate",
        "too many requests",
        "wait",
        2.5,
    )
