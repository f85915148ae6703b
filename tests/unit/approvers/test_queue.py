"""Waiting for the first of several answers, with and without an event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.store.test_approvals import NO, REQUEST, YES

from tongs.approvers.queue import QueueApprover, in_words
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Question, Settled
from tongs.core.driving import drive
from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter
from tongs.store.approvals import ApprovalStore


class Says:
    """A double for whoever is asked: answers at once."""

    def __init__(self, answer: ApprovalResponse | ToolError | None) -> None:
        self._answer = answer

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        if isinstance(self._answer, ToolError):
            raise self._answer
        return self._answer


class Thinks:
    """Answers when nobody wants to know any more."""

    def __init__(self) -> None:
        self.told = threading.Event()

    def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
        while not settled():
            time.sleep(0.01)
        self.told.set()
        return YES


@pytest.fixture
def store(tmp_path: Path) -> ApprovalStore:
    return ApprovalStore(str(tmp_path))


def test_the_first_answer_counts_and_the_others_are_told(store: ApprovalStore) -> None:
    slow = Thinks()
    voices = [slow, Says(None), Says(NO)]

    response = drive(QueueApprover(store, BlockingWaiter(), 60, voices)(REQUEST))

    assert response is not None
    assert replace(response, id="") == NO
    assert slow.told.is_set()
    assert threading.active_count() == 1


def test_a_voice_that_cannot_ask_denies(store: ApprovalStore) -> None:
    broken = Says(ToolError(ErrorCode.SECRET_MISSING, "env:TOKEN is not there"))

    response = drive(QueueApprover(store, BlockingWaiter(), 60, [broken])(REQUEST))

    assert response is not None
    assert (response.approved, response.reason) == (False, "env:TOKEN is not there")


def test_the_question_is_stored_before_anybody_is_asked(store: ApprovalStore) -> None:
    seen: list[list[Question]] = []

    class Looks:
        def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
            seen.append(store.pending())
            return YES

    announced: list[Question] = []
    approver = QueueApprover(store, BlockingWaiter(), 60, [Looks()], announced.append)

    assert drive(approver(REQUEST)) is not None
    assert [[question.request for question in questions] for questions in seen] == [[REQUEST]]
    assert [question.request for question in announced] == [REQUEST]


def test_many_calls_wait_in_one_loop_and_none_blocks_it(store: ApprovalStore) -> None:
    async def scenario() -> list[ApprovalResponse | None]:
        requests = [replace(REQUEST, digest=f"d{number}") for number in range(16)]
        approver = QueueApprover(store, LoopWaiter(), 60)
        calls = [asyncio.create_task(approver(request)) for request in requests]
        while len(store.pending()) < len(requests):  # noqa: ASYNC110 - a file has no event
            await asyncio.sleep(0.01)
        for question in store.pending():
            assert store.answer(question.id, YES)
        return await asyncio.gather(*calls)

    answers = asyncio.run(scenario())

    assert [answer is not None and answer.approved for answer in answers] == [True] * 16


def test_a_cancelled_call_withdraws_its_question(store: ApprovalStore) -> None:
    async def scenario() -> str:
        call = asyncio.create_task(QueueApprover(store, LoopWaiter(), 60, [Thinks()])(REQUEST))  # type: ignore[arg-type]  # a coroutine
        while not store.pending():  # noqa: ASYNC110 - as above
            await asyncio.sleep(0.01)
        (question,) = store.pending()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return question.id

    question = asyncio.run(scenario())

    assert store.state_of(question) == "withdrawn"
    assert threading.active_count() == 1


def test_the_time_is_over_for_everybody(store: ApprovalStore) -> None:
    with pytest.raises(ToolError) as raised:
        drive(QueueApprover(store, BlockingWaiter(), 0.3, [Thinks()])(REQUEST))

    assert raised.value.code is ErrorCode.APPROVAL_DENIED
    assert raised.value.message == (
        "deploy was not run: it costs money, and nobody answered within 0.3s"
    )
    assert store.pending() == []


def test_an_approval_used_by_another_call_is_no_approval(store: ApprovalStore) -> None:
    class Steals:
        def ask(self, request: ApprovalRequest, settled: Settled) -> ApprovalResponse | None:
            (question,) = store.pending()
            store.answer(question.id, YES)
            assert ApprovalStore.take(store, question.id) is not None
            return None

    with pytest.raises(ToolError) as raised:
        drive(QueueApprover(store, BlockingWaiter(), 60, [Steals()])(REQUEST))

    assert raised.value.code is ErrorCode.APPROVAL_DENIED


@pytest.mark.parametrize(
    ("seconds", "words"), [(600, "10m"), (7200, "2h"), (90, "90s"), (0.3, "0.3s"), (60, "1m")]
)
def test_a_time_is_said_as_it_is_written(seconds: float, words: str) -> None:
    assert in_words(seconds) == words
