"""The audit log: seed 004's lines, one per event, whatever the values hold."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tongs.audit.chain import Chain
from tongs.audit.log import AuditLog
from tongs.audit.readable import ReadableLog
from tongs.audit.verify import entries
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Remember
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.parts import Allowance
from tongs.core.permissions import Limits, Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool


def log_at(path: Path, warnings: list[str] | None = None) -> AuditLog:
    said = [] if warnings is None else warnings
    return AuditLog(Chain(str(path.parent / "chain")), ReadableLog(str(path), said.append), "/p")


TOOL = Tool("weather")
CALL = ToolCall("c1", "weather", {"location": "NYC"}, Caller(CallerKind.AGENT, "claude"))


def lines(path: Path) -> list[str]:
    return [re.sub(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] ", "", line) for line in _raw(path)]


def _raw(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_lines_have_the_form_of_the_seed(tmp_path: Path) -> None:
    log = log_at(tmp_path / "audit" / "tools.log")

    log.created("weather", "claude", Permissions(network=True))
    log.answered(CALL, TOOL, ApprovalResponse(approved=True, approver="user"))
    log.ended(CALL, TOOL, ToolResult(), started=True)
    log.close()

    assert lines(tmp_path / "audit" / "tools.log") == [
        (
            "TOOL_CREATED name=weather creator=claude"
            " permissions={network:true,fs:{read:[],write:[]}}"
        ),
        "TOOL_APPROVED name=weather approver=user call=c1",
        'TOOL_EXECUTED name=weather params={location:"NYC"} status=success caller=claude call=c1',
    ]


def test_refused_call_is_recorded_as_denied(tmp_path: Path) -> None:
    log = log_at(tmp_path / "tools.log")
    error = ToolError(ErrorCode.DENIED, "no", details={"rule": "auto-deny *"})

    log.ended(CALL, TOOL, ToolResult(error=error), started=False)

    assert lines(tmp_path / "tools.log") == [
        (
            'TOOL_DENIED name=weather params={location:"NYC"} status=denied code=DENIED'
            ' rule="auto-deny *" caller=claude call=c1'
        )
    ]


def test_value_cannot_forge_a_line(tmp_path: Path) -> None:
    log = log_at(tmp_path / "tools.log")
    forged = "x\n[2025-01-09T15:00:05] TOOL_APPROVED name=evil approver=user"

    log.ended(
        ToolCall("c1", forged, {forged: [forged, "\x1b[2J\u2028"]}),
        None,
        ToolResult(),
        started=False,
    )

    (line,) = _raw(tmp_path / "tools.log")
    assert "\\n[2025" in line
    assert "\x1b" not in line
    assert "\u2028" not in line


def test_long_value_is_shortened(tmp_path: Path) -> None:
    log = log_at(tmp_path / "tools.log")

    log.ended(ToolCall("c1", "t", {"a": "x" * 100_000}), TOOL, ToolResult(), started=True)

    assert len((tmp_path / "tools.log").read_text()) < 2000


def test_log_is_private(tmp_path: Path) -> None:
    log_at(tmp_path / "tools.log").removed("t", "user")

    assert (tmp_path / "tools.log").stat().st_mode & 0o777 == 0o600
    (file,) = (tmp_path / "chain").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert file.parent.stat().st_mode & 0o777 == 0o700


def test_log_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "link.log").symlink_to(victim)
    warnings: list[str] = []
    log = log_at(tmp_path / "link.log", warnings)

    log.removed("t", "user")
    log.removed("t", "user")

    assert victim.read_text() == "precious"
    assert len(warnings) == 1


def test_arguments_that_were_refused_are_recorded_whatever_they_are(tmp_path: Path) -> None:
    endless: dict[str, object] = {}
    endless["again"] = [endless]
    log = log_at(tmp_path / "tools.log")

    for arguments in (endless, 5, [1, 2], "text"):
        log.ended(ToolCall("c1", "t", arguments), None, ToolResult(), started=False)  # type: ignore[arg-type]

    assert [line.split()[3][:20] for line in _raw(tmp_path / "tools.log")] == [
        "params={again:[{agai",
        "params=5",
        "params=[1,2]",
        "params=text",
    ]


def test_what_cannot_be_copied_is_said_to_the_caller_once(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file where the folder should be")
    copy = ReadableLog(str(tmp_path / "audit" / "tools.log"))
    log = AuditLog(Chain(str(tmp_path / "chain")), copy)

    first = log.ended(CALL, TOOL, ToolResult(), started=True)
    second = log.ended(CALL, TOOL, ToolResult(), started=True)

    assert len(first) == 1
    assert "cannot be written" in first[0]
    assert second == []


def records(folder: Path) -> list[dict[str, Any]]:
    return [entry.data() for entry in entries(str(folder))][1:]


def test_question_and_answer_are_recorded_with_all_that_was_decided(tmp_path: Path) -> None:
    log = log_at(tmp_path / "tools.log")
    request = ApprovalRequest("c1", "weather", {"location": "NYC"}, "why", "level run", digest="d")
    edited = ToolCall("c1", "weather", {"location": "Rome"}, CALL.caller, parent="c0")
    approved = ApprovalResponse(
        approved=True,
        modified_args={"location": "Rome"},
        approver="ann",
        reason="fine",
        remember=Remember({"tool": "weather"}),
        id="a1",
    )
    allowance = Allowance(Permissions(network=True), Limits(), None, {}, {})
    verdict = Verdict(Decision.ASK, "level run", "why")

    log.asked(CALL, TOOL, request)
    log.answered(edited, TOOL, approved)
    log.began(edited, TOOL, verdict, allowance, approved)
    log.answered(CALL, TOOL, ApprovalResponse(approved=False, reason="no"))

    asked, answered, began, denied = records(tmp_path / "chain")
    assert (asked["event"], asked["rule"], asked["digest"]) == (
        "APPROVAL_REQUESTED",
        "level run",
        "d",
    )
    assert {key: answered[key] for key in ("event", "approver", "reason", "approval")} == {
        "event": "TOOL_APPROVED",
        "approver": "ann",
        "reason": "fine",
        "approval": "a1",
    }
    assert (answered["arguments"], answered["modified"]) == ({"location": "Rome"}, True)
    assert (answered["remembered"], answered["parent"]) == ("session", "c0")
    assert (began["approver"], began["approval"], began["decision"]) == ("ann", "a1", "ask")
    assert began["permissions"]["network"] is True
    assert (denied["event"], denied["approver"], denied["reason"]) == (
        "APPROVAL_DENIED",
        "user",
        "no",
    )
    assert [line.split()[0] for line in lines(tmp_path / "tools.log")] == [
        "APPROVAL_REQUESTED",
        "TOOL_APPROVED",
    ]


def test_decision_that_cannot_be_recorded_is_not_carried_out(tmp_path: Path) -> None:
    (tmp_path / "chain").write_text("a file where the folder should be")
    log = log_at(tmp_path / "tools.log")

    with pytest.raises(ToolError, match="weather was not accepted: the audit record cannot"):
        log.trusted("weather", "user", "d")
    with pytest.raises(ToolError, match="x was left as it was"):
        log.event("APPROVAL_REVOKED", name="x")
    assert log.ended(CALL, TOOL, ToolResult(), started=True) == [
        "the end of the call is not in the audit record: File exists"
    ]


def test_words_that_are_kept_in_memory_are_few(tmp_path: Path) -> None:
    log = log_at(tmp_path / "tools.log")
    allowance = Allowance(Permissions(), Limits(), None, {}, {})
    for number in range(100):
        tool = Tool(f"t{number}")
        log.began(CALL, tool, Verdict(Decision.ALLOW, "r", ""), allowance, None)
        walls = {"enforced": [f"wall-{number}"], "exitCode": 0, "enforcement": "off"}
        log.ended(CALL, tool, ToolResult(metadata=walls), started=True)

    last = records(tmp_path / "chain")[-1]
    assert (last["tool"], last["enforced"], last["enforcement"]) == ("t99", ["wall-99"], "off")
    assert max(map(len, (log._known, log._walls, log._callers))) <= 64
