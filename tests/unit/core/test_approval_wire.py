"""Requests and answers as JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tongs.core.approval import ApprovalRequest, ApprovalResponse, FileChange, Remember, Span
from tongs.core.approval_wire import (
    LARGEST_ANSWER,
    WrongAnswer,
    request_of,
    request_wire,
    response_of,
    response_wire,
    strangers_answer,
)
from tongs.core.call import Caller, CallerKind
from tongs.core.permissions import Permissions, Secret

REQUEST = ApprovalRequest(
    step_id="1",
    tool="write_file",
    args={"path": "x"},
    reason="it overwrites",
    rule="overwrite",
    preview="…",
    caller=Caller(CallerKind.AGENT, "claude"),
    permissions=Permissions(True, ("/r",), ("/w",), (Secret("T"),), ("/s",)),
    not_enforced=("memory",),
    raw_parameters=("path",),
    input_schema={"type": "object"},
    digest="d",
    definition="f",
    tags=("write",),
    project="/p",
    changes=(FileChange("x", None, "new\n"),),
    also=("night",),
    stdin="2 bytes",
    whole=False,
)


def test_a_request_survives_the_wire() -> None:
    assert request_of(json.loads(json.dumps(request_wire(REQUEST)))) == REQUEST


@pytest.mark.parametrize(
    "response",
    [
        ApprovalResponse(approved=False),
        ApprovalResponse(True, {"a": 1}, "user", "why", Remember({"tag": "x"}, Span.USER, "2030")),
    ],
)
def test_a_response_survives_the_wire(response: ApprovalResponse) -> None:
    wire = json.loads(json.dumps(response_wire(response)))

    assert response_of(wire, "q") == replace(response, id="q")


def test_a_stranger_answers() -> None:
    assert strangers_answer(b'{"approved": false}', "x") == ApprovalResponse(False, None, "x")
    assert strangers_answer(
        b'{"approved": true, "modifiedArgs": {"a": 1}, "reason": "r"}', "x"
    ) == ApprovalResponse(True, {"a": 1}, "x", "r")
    assert strangers_answer(b'{"pending": true}', "x") is None


def test_a_long_reason_is_cut() -> None:
    said = strangers_answer(json.dumps({"approved": False, "reason": "x" * 9999}).encode(), "x")

    assert said is not None
    assert len(said.reason) == 2000


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"yes",
        b"\xff",
        b"true",
        b"[]",
        b"{}",
        b'{"approved": "true"}',
        b'{"approved": 1}',
        b'{"approved": null}',
        b'{"approved": true, "pending": true}',
        b'{"pending": false}',
        b'{"approved": true, "approver": "root"}',
        b'{"approved": true, "remember": {}}',
        b'{"approved": false, "approved": true}',
        b'{"approved": true, "modifiedArgs": []}',
        b'{"approved": true, "modifiedArgs": {"a": NaN}}',
        b'{"approved": true, "reason": 1}',
        b"[" * 100_000,
        b" " * (LARGEST_ANSWER + 1),
    ],
)
def test_what_is_not_exactly_an_answer_is_none(data: bytes) -> None:
    with pytest.raises(WrongAnswer):
        strangers_answer(data, "x")
