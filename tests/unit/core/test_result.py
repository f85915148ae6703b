"""A result succeeded exactly when it has no error."""

from __future__ import annotations

import pytest

from tongs import ErrorCode, ToolError, ToolResult


def test_result_without_error_succeeded() -> None:
    result = ToolResult(tool_call_id="call-123", output="data", success=True)

    assert result.ok
    assert result.success
    assert result.to_wire() == {
        "ok": True,
        "output": "data",
        "value": None,
        "error": None,
        "warnings": [],
        "metadata": {},
    }


def test_text_as_error_becomes_an_execution_error() -> None:
    result = ToolResult(tool_call_id="call-123", output="", error="What went wrong", success=False)

    assert not result.ok
    assert result.error == ToolError(ErrorCode.EXECUTION_ERROR, "What went wrong")
    assert result.to_wire()["error"] == {
        "code": "EXECUTION_ERROR",
        "message": "What went wrong",
        "details": {},
        "blockedBy": None,
    }


@pytest.mark.parametrize(
    "contradiction", [{"success": True, "error": "no"}, {"success": False, "error": None}]
)
def test_success_that_contradicts_the_error_is_refused(contradiction: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="ToolResult"):
        ToolResult(**contradiction)


def test_error_carries_hint_in_its_details() -> None:
    error = ToolError("DENIED", "no", hint="ask")

    assert error.code is ErrorCode.DENIED
    assert error.hint == "ask"
    assert error.to_wire()["details"] == {"hint": "ask"}


def test_tool_may_use_a_code_of_its_own() -> None:
    assert ToolError("QUOTA_EXCEEDED", "later").code == "QUOTA_EXCEEDED"


def test_equal_errors_have_equal_hashes() -> None:
    one, other = ToolError("DENIED", "no"), ToolError(ErrorCode.DENIED, "no")

    assert one == other
    assert len({one, other}) == 1
    assert one != "DENIED"
    assert repr(one) == "ToolError(DENIED, 'no')"
