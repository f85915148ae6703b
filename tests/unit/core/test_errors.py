"""What went wrong, for a person and for a program."""

from __future__ import annotations

import pytest

from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, Severity, ToolError
from tongs.core.jobs import NoJobs


def test_every_problem_of_a_file_is_told_and_the_first_hint_is_taken() -> None:
    problems = [
        Problem("t.yaml", "is empty"),
        Problem("t.yaml", "unknown key", 3, "bsh", severity=Severity.WARNING, hint="write `bash`"),
    ]

    error = DefinitionInvalid(problems).as_tool_error("t")

    assert error == ToolError(
        ErrorCode.INVALID_DEFINITION,
        "t cannot be used: t.yaml: is empty\nt.yaml:3: bsh: unknown key",
        details={"problems": [problem.to_wire() for problem in problems]},
        hint="write `bash`",
    )
    assert error.details["problems"][1] == {
        "file": "t.yaml",
        "line": 3,
        "field": "bsh",
        "rule": "definition",
        "severity": "warning",
        "message": "unknown key",
        "hint": "write `bash`",
    }


def test_same_error_is_equal_and_has_the_same_hash() -> None:
    one, other = (ToolError(ErrorCode.TIMEOUT, "late", hint="wait") for _ in range(2))

    assert one == other
    assert hash(one) == hash(other)
    assert repr(one) == "ToolError(TIMEOUT, 'late')"
    assert one != ToolError(ErrorCode.TIMEOUT, "late")


def test_session_without_jobs_knows_none() -> None:
    jobs = NoJobs()

    assert jobs.all() == ()
    with pytest.raises(ToolError, match=f"there is no job `{'x' * 80}` in this session"):
        jobs.get("x" * 100)
