"""The audit log: seed 004's lines, one per event, whatever the values hold."""

from __future__ import annotations

import re
from pathlib import Path

from tongs.audit.log import AuditLog
from tongs.core.approval import ApprovalResponse
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

TOOL = Tool("weather")
CALL = ToolCall("c1", "weather", {"location": "NYC"}, Caller(CallerKind.AGENT, "claude"))


def lines(path: Path) -> list[str]:
    return [re.sub(r"^\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\] ", "", line) for line in _raw(path)]


def _raw(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_lines_have_the_form_of_the_seed(tmp_path: Path) -> None:
    log = AuditLog([str(tmp_path / "audit" / "tools.log")])

    log.created("weather", "claude", Permissions(network=True))
    log.answered(CALL, TOOL, ApprovalResponse(approved=True, approver="user"))
    log.ended(CALL, TOOL, ToolResult(), started=True)
    log.close()

    assert lines(tmp_path / "audit" / "tools.log") == [
        (
            "TOOL_CREATED name=weather creator=claude"
            " permissions={network:true,fs:{read:[],write:[]},secrets:[]}"
        ),
        "TOOL_APPROVED name=weather approver=user call=c1",
        'TOOL_EXECUTED name=weather params={location:"NYC"} status=success caller=claude call=c1',
    ]


def test_refused_call_is_recorded_as_denied(tmp_path: Path) -> None:
    log = AuditLog([str(tmp_path / "tools.log")])
    error = ToolError(ErrorCode.DENIED, "no", details={"rule": "auto-deny *"})

    log.ended(CALL, TOOL, ToolResult(error=error), started=False)

    assert lines(tmp_path / "tools.log") == [
        (
            'TOOL_DENIED name=weather params={location:"NYC"} status=denied code=DENIED'
            ' rule="auto-deny *" caller=claude call=c1'
        )
    ]


def test_value_cannot_forge_a_line(tmp_path: Path) -> None:
    log = AuditLog([str(tmp_path / "tools.log")])
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
    log = AuditLog([str(tmp_path / "tools.log")])

    log.ended(ToolCall("c1", "t", {"a": "x" * 100_000}), TOOL, ToolResult(), started=True)

    assert len((tmp_path / "tools.log").read_text()) < 2000


def test_log_is_private_and_follows_no_link(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / "link.log").symlink_to(victim)
    warnings: list[str] = []
    log = AuditLog([str(tmp_path / "tools.log"), str(tmp_path / "link.log")], warnings.append)

    log.removed("t", "user")
    log.removed("t", "user")

    assert (tmp_path / "tools.log").stat().st_mode & 0o777 == 0o600
    assert len(_raw(tmp_path / "tools.log")) == 2
    assert victim.read_text() == "precious"
    assert len(warnings) == 1


def test_arguments_that_were_refused_are_recorded_whatever_they_are(tmp_path: Path) -> None:
    endless: dict[str, object] = {}
    endless["again"] = [endless]
    log = AuditLog([str(tmp_path / "tools.log")])

    for arguments in (endless, 5, [1, 2], "text"):
        log.ended(ToolCall("c1", "t", arguments), None, ToolResult(), started=False)  # type: ignore[arg-type]

    assert [line.split()[3][:20] for line in _raw(tmp_path / "tools.log")] == [
        "params={again:[{agai",
        "params=5",
        "params=[1,2]",
        "params=text",
    ]


def test_what_cannot_be_recorded_is_said_to_the_caller_once(tmp_path: Path) -> None:
    (tmp_path / "audit").write_text("a file where the folder should be")
    log = AuditLog([str(tmp_path / "audit" / "tools.log")])

    first = log.ended(CALL, TOOL, ToolResult(), started=True)
    second = log.ended(CALL, TOOL, ToolResult(), started=True)

    assert len(first) == 1
    assert "cannot be written" in first[0]
    assert second == []
