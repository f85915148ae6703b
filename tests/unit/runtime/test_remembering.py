"""What was decided once holds for that, and for nothing else."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tongs.core.approval import ApprovalRequest, ApprovalResponse, Remember, Span
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Place
from tongs.core.permissions import Permissions, Secret
from tongs.core.tool import Origin, Tool
from tongs.runtime.approvals import ApprovalDesk
from tongs.runtime.remembering import Remembering
from tongs.schema.document import parse
from tongs.store.approvals import ApprovalStore

PERMISSIONS = Permissions(("h",), ("/r",), ("/w",), (Secret("T"),), ("/s",))
REQUEST = ApprovalRequest(
    step_id="1",
    tool="deploy",
    args={"TARGET": "prod"},
    reason="it costs",
    rule="approval.required",
    caller=Caller(CallerKind.AGENT, "claude"),
    permissions=PERMISSIONS,
    definition="f1",
    tags=("write", "web"),
    project="/project",
)
TOOL = Tool("deploy", tags=("write", "web"), origin=Origin(project="/project", digest="f1"))
CALL = ToolCall("1", "deploy", {"TARGET": "prod"})


def memory(state: Path) -> Remembering:
    return Remembering(str(state), Place("/project"), lambda data, path: parse(data, path).data)


def answer(
    when: dict[str, Any], span: Span = Span.PROJECT, until: str = "", *, approved: bool = True
) -> ApprovalResponse:
    return ApprovalResponse(approved, None, "terminal", "why", Remember(when, span, until))


def recalled(remembering: Remembering, **changes: Any) -> bool:
    return remembering.recall(replace(REQUEST, **changes)) is not None


def test_never_asks_about_what_it_could_mean(tmp_path: Path) -> None:
    remembering = memory(tmp_path)
    below = {"argument": {"TARGET": {"path": ["/x/**"]}}}
    remembering.remember(REQUEST, answer(below, approved=False))
    odd = replace(CALL, arguments={"TARGET": 7})

    verdict = remembering.check(odd, TOOL)

    assert verdict is not None
    assert verdict.decision is Decision.ASK
    assert "never to allow what this could be (why)" in verdict.reason
    person = replace(odd, caller=Caller(CallerKind.PERSON, "ann"))
    assert remembering.check(person, TOOL) is None
    remembering.remember(REQUEST, answer({"tool": "deploy"}, approved=False))
    denied = remembering.check(odd, TOOL)
    assert denied is not None
    assert denied.decision is Decision.DENY


def test_nothing_is_recalled_before_something_is_remembered(tmp_path: Path) -> None:
    remembering = memory(tmp_path)

    assert remembering.recall(REQUEST) is None
    assert remembering.check(CALL, TOOL) is None
    remembering.remember(REQUEST, ApprovalResponse(approved=True))
    assert list(tmp_path.iterdir()) == []


def test_always_answers_the_same_question_in_another_process(tmp_path: Path) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}))

    response = memory(tmp_path).recall(replace(REQUEST, args={"TARGET": "test"}))

    (entry,) = memory(tmp_path).store.entries()
    assert response == ApprovalResponse(approved=True, approver=f"remembered {entry.id}")
    assert (entry.by, entry.project, entry.span) == ("terminal", "/project", Span.PROJECT)


@pytest.mark.parametrize(
    "change",
    [
        {"rule": "a new rule"},
        {"also": ("a new rule",)},
        {"definition": "f2"},
        {"permissions": replace(PERMISSIONS, network=True)},
        {"permissions": replace(PERMISSIONS, network=False)},
        {"project": "/elsewhere"},
        {"tool": "other"},
        {"caller": Caller(CallerKind.AGENT, "other")},
        {"caller": Caller(CallerKind.PROGRAM, "claude")},
    ],
)
def test_any_change_asks_again(tmp_path: Path, change: dict[str, Any]) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}))

    assert recalled(memory(tmp_path))
    assert not recalled(memory(tmp_path), **change)


def test_what_several_rules_asked_is_answered_for_each_of_them(tmp_path: Path) -> None:
    asked = replace(REQUEST, also=("night",))
    memory(tmp_path).remember(asked, answer({"tool": "deploy"}))

    entries = memory(tmp_path).store.entries()
    assert [entry.answers for entry in entries] == ["approval.required", "night"]
    for same in (asked, REQUEST, replace(REQUEST, rule="night")):
        assert memory(tmp_path).recall(same) is not None
    memory(tmp_path).store.revoke(entries[1].id)
    assert memory(tmp_path).recall(asked) is None
    assert recalled(memory(tmp_path))


def test_for_the_user_it_holds_in_every_project(tmp_path: Path) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}, Span.USER))

    assert recalled(memory(tmp_path), project="/elsewhere")


def test_a_session_ends_with_the_process(tmp_path: Path) -> None:
    remembering = memory(tmp_path)
    remembering.remember(REQUEST, answer({"tool": "deploy"}, Span.SESSION))

    assert recalled(remembering)
    assert not recalled(memory(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_what_is_over_holds_no_more(tmp_path: Path) -> None:
    remembering = memory(tmp_path)
    for span in (Span.SESSION, Span.USER):
        remembering.remember(REQUEST, answer({"tool": "deploy"}, span, "2020-01-01T00:00:00Z"))
    assert not recalled(remembering)

    remembering.remember(REQUEST, answer({"tool": "deploy"}, Span.USER, "2999-01-01T00:00:00Z"))
    assert recalled(remembering)
    assert len(memory(tmp_path).store.entries()) == 1


def test_a_tag_holds_for_tools_that_may_touch_no_more(tmp_path: Path) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tag": "web"}))
    remembering = memory(tmp_path)

    assert recalled(remembering, tool="other", definition="f9")
    assert recalled(remembering, tool="other", permissions=Permissions())
    assert not recalled(remembering, tool="other", permissions=Permissions(network=True))
    assert not recalled(remembering, tool="other", tags=("write",))


def test_what_has_no_definition_is_allowed_for_a_session_only(tmp_path: Path) -> None:
    unpinned = replace(REQUEST, definition="")
    remembering = memory(tmp_path)

    with pytest.raises(ToolError) as raised:
        remembering.remember(unpinned, answer({"tool": "deploy"}))
    assert raised.value.code is ErrorCode.APPROVAL_DENIED
    remembering.remember(unpinned, answer({"tool": "deploy"}, Span.SESSION))
    assert recalled(remembering, definition="")


def test_never_is_a_rule_that_denies_whatever_changed(tmp_path: Path) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}, approved=False))
    remembering = memory(tmp_path)

    verdict = remembering.check(CALL, replace(TOOL, tags=("read",)))

    (entry,) = remembering.store.entries()
    assert verdict is not None
    assert (verdict.decision, verdict.rule) == (Decision.DENY, f"remembered {entry.id}")
    assert "(why)" in verdict.reason
    assert verdict.hint == f"to take that back: tongs approvals revoke {entry.id}"
    assert remembering.recall(REQUEST) is None
    assert remembering.check(ToolCall("1", "other"), Tool("other")) is None


def test_the_first_never_counts_at_once_here_and_in_a_moment_elsewhere(tmp_path: Path) -> None:
    here, elsewhere = memory(tmp_path), memory(tmp_path)
    assert here.check(CALL, TOOL) is None
    assert elsewhere.check(CALL, TOOL) is None

    here.remember(REQUEST, answer({"tool": "deploy"}, approved=False))

    assert here.check(CALL, TOOL) is not None
    time.sleep(0.06)
    assert elsewhere.check(CALL, TOOL) is not None


def test_a_revoked_decision_is_forgotten_at_once(tmp_path: Path) -> None:
    memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}))
    remembering = memory(tmp_path)
    assert recalled(remembering)
    (entry,) = remembering.store.entries()

    assert memory(tmp_path).store.revoke(entry.id) == entry
    assert memory(tmp_path).store.revoke(entry.id) is None
    assert not recalled(remembering)


@pytest.mark.parametrize(
    "text",
    [
        "decisions: 7\n",
        "[]\n",
        "decisions: [7]\n",
        "decisions: [{id: ''}]\n",
        "decisions: [{id: x, decision: maybe}]\n",
        "decisions: [{id: x, decision: never, span: session, when: {tool: x}}]\n",
        "decisions: [{id: x, decision: never, span: user, when: {tol: x}}]\n",
        "decisions: [{id: x, decision: never, span: user, when: {tool: x}, more: 1}]\n",
        "decisions: [{id: x, decision: never, span: user, when: {tool: x}, until: 2030}]\n",
        "decisions: [{id: x, decision: never, span: user, when: {tool: x}, permissions: 1}]\n",
        "decisions: [{id: x, decision: never, span: user, when: {tag: x}, permissions: {}}]\n",
    ],
)
def test_a_file_that_is_not_understood_denies(tmp_path: Path, text: str) -> None:
    (tmp_path / "approvals.yml").write_text(text, encoding="utf-8")

    for look in (lambda m: m.check(CALL, TOOL), lambda m: m.recall(REQUEST)):
        with pytest.raises(ToolError) as raised:
            look(memory(tmp_path))
        assert raised.value.code is ErrorCode.DENIED
        assert raised.value.hint


def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "approvals.yml.lock").mkdir()

    with pytest.raises(ToolError) as raised:
        memory(tmp_path).remember(REQUEST, answer({"tool": "deploy"}))

    assert raised.value.code is ErrorCode.APPROVAL_DENIED


def test_text_that_no_file_can_hold_is_not_remembered(tmp_path: Path) -> None:
    with pytest.raises(ToolError):
        memory(tmp_path).remember(REQUEST, answer({"tool": "\udcff"}))

    assert not (tmp_path / "approvals.yml").exists()


def test_decisions_of_two_processes_are_both_kept(tmp_path: Path) -> None:
    first, second = memory(tmp_path), memory(tmp_path)
    first.remember(REQUEST, answer({"tool": "a"}))
    second.remember(REQUEST, answer({"tool": "b"}))
    first.remember(REQUEST, answer({"tool": "c"}))

    assert [entry.when["tool"] for entry in memory(tmp_path).store.entries()] == ["a", "b", "c"]


def test_what_holds_for_the_session_is_shown_and_taken_back(tmp_path: Path) -> None:
    remembering = memory(tmp_path)
    remembering.remember(REQUEST, answer({"tool": "deploy"}, Span.SESSION))
    (entry,) = remembering.session
    desk = ApprovalDesk(ApprovalStore(str(tmp_path)), remembering)

    assert recalled(remembering)
    assert desk.of_session() == [entry]
    assert desk.revoke(entry.id) == entry

    assert not recalled(remembering)
    assert desk.of_session() == []
    with pytest.raises(ToolError):
        desk.revoke(entry.id)
