"""A runtime that is closed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode, Runtime, ToolResult, tool

if TYPE_CHECKING:
    from tests.unit.conftest import Project

RAN: list[str] = []


@tool(tags=["read"])
def mark() -> None:
    """Leave a trace."""
    RAN.append("ran")


@pytest.fixture
def closed(project: Project) -> Runtime:
    RAN.clear()
    runtime = project.runtime(tools=[mark], auto_approve=["*"])
    runtime.close()
    return runtime


def refused(result: ToolResult) -> bool:
    error = result.error
    assert error is not None
    assert error.code is ErrorCode.EXECUTION_ERROR
    assert error.message == "mark was not run: this runtime is closed"
    assert "Runtime.open()" in error.hint
    return not RAN


def test_call_after_close_is_refused_with_the_way_out(closed: Runtime) -> None:
    assert refused(closed.call_sync("mark"))
    assert refused(asyncio.run(closed.call("mark")))
    assert refused(closed.call_sync("mark", background=True))


def test_call_of_a_model_after_close_is_answered_and_not_run(closed: Runtime) -> None:
    call = {"type": "tool_use", "id": "1", "name": "mark", "input": {}}

    (message,) = asyncio.run(closed.handle_anthropic([call]))

    assert "this runtime is closed" in message["content"][0]["content"]
    assert not RAN


def test_call_after_close_is_recorded(project: Project, closed: Runtime) -> None:
    closed.call_sync("mark")

    assert "name=mark" in project.audit()
