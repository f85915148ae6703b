"""Questions and answers that outlive the process that asks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tongs.core.approval import ApprovalRequest, ApprovalResponse, Remember, Span
from tongs.core.call import Caller, CallerKind
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions, Secret
from tongs.store.approvals import KEPT, ApprovalStore

REQUEST = ApprovalRequest(
    step_id="c1",
    tool="deploy",
    args={"TARGET": "prod", "N": 1},
    reason="it costs money",
    rule="approval.required",
    caller=Caller(CallerKind.AGENT, "claude"),
    permissions=Permissions(("h",), ("/a",), ("/b",), (Secret("T"),), ("/c",)),
    digest="d1",
    definition="f1",
    tags=("run",),
    project="/project",
)
YES = ApprovalResponse(approved=True, approver="user")
NO = ApprovalResponse(approved=False, approver="user", reason="no")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def state(tmp_path: Path) -> str:
    return str(tmp_path / "state")


def elsewhere(state: str, program: str) -> str:
    """Run a program in a process of its own, which is dead afterwards."""
    text = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[3])!r})
from tests.unit.store.test_approvals import NO, REQUEST, YES
from tongs.store.approvals import ApprovalStore
store = ApprovalStore({state!r})
{program}
"""
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, check=True, text=True)
    return done.stdout.strip()


def test_a_request_is_kept_as_it_was_asked(state: str) -> None:
    store = ApprovalStore(state)

    question = store.ask(REQUEST, 60, awaited=True)

    (found,) = ApprovalStore(state).pending()
    assert found == replace(question, awaited=True)
    assert found.request == REQUEST


def test_the_file_is_the_persons_own(state: str) -> None:
    ApprovalStore(state).ask(REQUEST, 60, awaited=True)

    file = Path(state) / "approvals.db"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_only_the_first_answer_counts(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 60, awaited=True)

    assert store.answer(question.id, NO)
    assert not store.answer(question.id, YES)
    assert store.take(question.id) == replace(NO, id=question.id)


def test_an_answer_comes_back_whole(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 60, awaited=True)
    remember = Remember({"tool": "deploy"}, Span.PROJECT, "2030-01-01T00:00:00Z")
    answer = ApprovalResponse(True, {"TARGET": "test"}, "terminal", "fine", remember)
    store.answer(question.id, answer)

    assert store.take(question.id) == replace(answer, id=question.id)


def test_an_approval_is_spent_once(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 60, awaited=True)
    store.answer(question.id, YES)
    response = store.take(question.id)
    assert response is not None
    store.spend(response)

    with pytest.raises(ToolError) as raised:
        store.spend(response)
    assert raised.value.code is ErrorCode.APPROVAL_DENIED
    assert store.take(question.id) is None
    assert store.state_of(question.id) == "used"
    assert store.ask(REQUEST, 60, awaited=False).id != question.id


def test_what_was_never_stored_needs_no_spending(state: str) -> None:
    ApprovalStore(state).spend(YES)

    assert not os.path.exists(state)


def test_an_approval_is_taken_by_one_call_while_that_is_alive(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 0, awaited=False)
    store.answer(question.id, YES)

    assert store.take(question.id) is not None
    assert store.take(question.id) is None


def test_the_same_call_finds_its_question_again(state: str) -> None:
    store = ApprovalStore(state)
    first = store.ask(REQUEST, 0, awaited=False)

    assert store.ask(replace(REQUEST, step_id="c2"), 0, awaited=False).id == first.id
    assert len(store.pending()) == 1


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "d2"},
        {"rule": "another"},
        {"also": ("another",)},
        {"project": "/elsewhere"},
        {"caller": Caller(CallerKind.AGENT, "other")},
        {"caller": Caller(CallerKind.PERSON, "claude")},
    ],
)
def test_another_call_is_another_question(state: str, change: dict[str, object]) -> None:
    store = ApprovalStore(state)
    first = store.ask(REQUEST, 0, awaited=False)
    store.answer(first.id, YES)

    assert store.ask(replace(REQUEST, **change), 0, awaited=False).is_open  # type: ignore[arg-type]  # of several fields


def test_two_calls_at_once_are_two_questions(state: str) -> None:
    store = ApprovalStore(state)

    assert store.ask(REQUEST, 60, awaited=True).id != store.ask(REQUEST, 60, awaited=True).id


def test_a_question_outlives_who_asked(state: str) -> None:
    asked = elsewhere(state, "print(store.ask(REQUEST, 60, awaited=True).id)")
    store = ApprovalStore(state)
    (found,) = store.pending()
    assert (found.id, found.awaited) == (asked, False)
    store.answer(asked, YES)

    again = store.ask(REQUEST, 60, awaited=True)

    assert (again.id, again.is_open) == (asked, False)
    assert store.take(asked) == replace(YES, id=asked)


def test_an_approval_whose_taker_died_is_taken_again(state: str) -> None:
    asked = elsewhere(
        state,
        "q = store.ask(REQUEST, 60, awaited=True).id; store.answer(q, YES)\n"
        "store.take(q); print(q)",
    )
    store = ApprovalStore(state)

    assert store.ask(REQUEST, 60, awaited=True).id == asked
    response = store.take(asked)
    assert response is not None
    store.spend(response)


def test_an_approval_spent_by_the_dead_is_spent(state: str) -> None:
    asked = elsewhere(
        state,
        "q = store.ask(REQUEST, 60, awaited=True).id; store.answer(q, YES);"
        " store.spend(store.take(q)); print(q)",
    )
    store = ApprovalStore(state)

    assert store.take(asked) is None
    assert store.ask(REQUEST, 60, awaited=True).id != asked


def test_who_was_taken_for_dead_cannot_spend(state: str, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = ApprovalStore(state), ApprovalStore(state)
    question = first.ask(REQUEST, 0, awaited=False)
    first.answer(question.id, YES)
    response = first.take(question.id)
    assert response is not None
    # As across two namespaces of processes, where neither sees the other.
    monkeypatch.setattr("tongs.store.approvals.is_alive", lambda identity: False)
    again = second.take(question.id)
    assert again is not None

    with pytest.raises(ToolError):
        first.spend(response)
    second.spend(again)


def test_a_denial_is_told_once(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 0, awaited=False)
    store.answer(question.id, NO)

    assert not store.ask(REQUEST, 0, awaited=False).is_open
    assert store.take(question.id) == replace(NO, id=question.id)
    assert store.ask(REQUEST, 0, awaited=False).is_open


def test_a_withdrawn_question_takes_no_answer(state: str) -> None:
    store = ApprovalStore(state)
    question = store.ask(REQUEST, 60, awaited=True)

    assert store.withdraw(question.id)
    assert not store.withdraw(question.id)
    assert not store.answer(question.id, YES)
    assert store.take(question.id) is None
    assert (store.pending(), store.state_of(question.id)) == ([], "withdrawn")


def test_time_ends_questions_and_answers(state: str) -> None:
    clock = Clock()
    store = ApprovalStore(state, clock)
    late = store.ask(REQUEST, 60, awaited=True)
    clock.now += 70
    assert not store.answer(late.id, YES)
    assert (store.pending(), store.state_of(late.id)) == ([], "expired")
    unused = store.ask(REQUEST, 0, awaited=False)
    store.answer(unused.id, YES)

    clock.now += KEPT + 1

    assert store.ask(REQUEST, 0, awaited=False).id != unused.id


def test_what_nobody_asked_has_no_answer(state: str) -> None:
    store = ApprovalStore(state)

    assert (store.pending(), store.state_of("x"), store.is_open("x")) == ([], "", False)
    assert not store.answer("x", YES)
    assert store.take("x") is None


def test_a_broken_file_is_said_and_allows_nothing(state: str) -> None:
    os.makedirs(state)
    Path(state, "approvals.db").write_bytes(b"no database" * 1000)

    with pytest.raises(ToolError) as raised:
        ApprovalStore(state).ask(REQUEST, 60, awaited=True)

    assert raised.value.code is ErrorCode.APPROVAL_DENIED
    assert "approvals.db" in raised.value.message
    assert raised.value.hint


def test_an_answer_is_seen_however_soon_it_follows(state: str) -> None:
    asking, answering = ApprovalStore(state), ApprovalStore(state)
    question = asking.ask(REQUEST, 60, awaited=True)
    assert asking.is_open(question.id)
    # As long after the last change as it takes to trust the time of the file.
    os.utime(Path(state) / "approvals.db", ns=(0, 0))
    assert asking.is_open(question.id)
    assert asking.is_open(question.id)

    assert answering.answer(question.id, YES)

    assert not asking.is_open(question.id)
