"""What passes between the SDK and a server."""

from __future__ import annotations

from typing import Any

import pytest

from tongs.gateway import filtering
from tongs.gateway.filtering import WHOLE, Filter, Flooded
from tongs.gateway.wire import Refused


@pytest.fixture
def passing() -> Filter:
    return Filter()


def answered(passing: Filter, method: str, result: Any) -> Any:
    passing.sent({"jsonrpc": "2.0", "id": 1, "method": method})
    return passing.heard({"jsonrpc": "2.0", "id": 1, "result": result}, 0)


def test_an_answer_nobody_waits_for_is_dropped(passing: Filter) -> None:
    assert passing.heard({"id": 9, "result": {}}, 0) is None
    assert answered(passing, "ping", {}) == {"jsonrpc": "2.0", "id": 1, "result": {}}
    assert passing.heard({"id": 1, "result": {}}, 0) is None
    assert passing.refused == 2


def test_whoever_waits_for_a_message_that_is_not_read_is_told(passing: Filter) -> None:
    passing.sent({"id": 1, "method": "tools/call"})

    told = passing.heard(Refused("it is too large", 1), 0)

    assert told is not None
    assert told["error"]["message"] == "its answer was not read: it is too large"


@pytest.mark.parametrize(
    "message",
    [
        {"id": True, "method": "ping"},
        {"id": [1], "result": {}},
        {"method": 7},
        {"id": 5, "method": "ping", "params": [1]},
    ],
)
def test_what_is_no_message_is_dropped(passing: Filter, message: dict[str, Any]) -> None:
    assert passing.heard(message, 0) is None


@pytest.mark.parametrize("result", [None, 7, [], "text"])
def test_a_result_that_is_no_object_is_an_error(passing: Filter, result: Any) -> None:
    assert "error" in answered(passing, "tools/list", result)


@pytest.mark.parametrize("error", [None, "no", {}, {"code": "x", "message": 3}])
def test_an_error_that_makes_no_sense_still_is_one(passing: Filter, error: Any) -> None:
    passing.sent({"id": 1, "method": "ping"})

    told = passing.heard({"id": 1, "error": error}, 0)

    assert told is not None
    assert told["error"] == {"code": -32603, "message": "it gives no reason"}


def test_the_sdk_sees_of_a_definition_only_what_it_needs(passing: Filter) -> None:
    tool = {"name": "a", "inputSchema": {"type": "object"}, "outputSchema": {"pattern": "(a+)+$"}}

    told = answered(passing, "tools/list", {"tools": [tool, 5], "nextCursor": 7})

    (seen,) = told["result"]["tools"]
    assert set(seen) == {"name", "inputSchema", "_meta"}
    assert seen["_meta"][WHOLE]["outputSchema"] == {"pattern": "(a+)+$"}
    assert "nextCursor" not in told["result"]
    assert passing.problems == ["tool 2 was left out: it is no object"]


def test_a_list_that_is_none_is_empty(passing: Filter) -> None:
    assert answered(passing, "tools/list", {"tools": "all"})["result"]["tools"] == []


def test_blocks_are_bounded(passing: Filter) -> None:
    block = {"type": "text", "text": "x"}

    told = answered(passing, "tools/call", {"content": [block] * 3000})

    content = told["result"]["content"]
    assert len(content) == filtering.MOST_BLOCKS + 1
    assert content[-1]["text"] == "[2000 more blocks were left out]"


@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "x"},
        {"type": "image", "data": "eA==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "a:b", "blob": "eA=="}},
        {"type": "resource_link", "uri": "a:b", "name": "n", "title": "t"},
    ],
    ids=lambda block: block["type"],
)
def test_blocks_that_make_sense_pass(passing: Filter, block: dict[str, Any]) -> None:
    noisy = {**block, "annotations": {"priority": "wrong"}, "icons": 7}

    assert answered(passing, "tools/call", {"content": [noisy]})["result"]["content"] == [block]


@pytest.mark.parametrize(
    "resource",
    [
        None,
        {},
        {"uri": "a:b"},
        {"uri": "a:b", "text": 1},
        {"uri": "a:b", "text": "x", "blob": "y"},
    ],
)
def test_a_resource_that_makes_no_sense_is_a_note(passing: Filter, resource: Any) -> None:
    block = {"type": "resource", "resource": resource}

    (note,) = answered(passing, "tools/call", {"content": [block]})["result"]["content"]

    assert note["type"] == "text"


def test_logs_are_dropped_and_progress_passes(passing: Filter) -> None:
    progress = {"method": "notifications/progress", "params": {"progress": 1}}

    assert passing.heard({"method": "notifications/message", "params": {}}, 0) is None
    assert passing.heard(progress, 0) == {"jsonrpc": "2.0", **progress}


def test_questions_are_bounded(passing: Filter) -> None:
    def ask(number: int) -> Any:
        return passing.heard({"id": number, "method": "elicitation/create", "params": {}}, 0)

    assert all(ask(number) for number in range(filtering.MOST_QUESTIONS))
    assert ask(99) is None
    passing.sent({"id": 0, "result": {}})
    assert ask(99) is not None


def test_a_flood_is_noticed_and_a_trickle_is_none(
    passing: Filter, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(filtering.time, "monotonic", lambda: now[0])
    passing._counted = 0.0
    for _ in range(100_000):
        now[0] += 0.01
        passing.heard({"method": "notifications/progress", "params": {}}, 100)

    def flood() -> None:
        for _ in range(100_000):
            passing.heard({"method": "notifications/progress", "params": {}}, 100)

    with pytest.raises(Flooded):
        flood()
