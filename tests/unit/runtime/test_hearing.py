"""Approvers of a program: each way to answer is understood, and each mistake is a denial."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from tongs import ApprovalRequest, ApprovalResponse, ErrorCode, Runtime, tool

if TYPE_CHECKING:
    from tests.unit.conftest import Project


@tool(tags=["read"])
def peek() -> str:
    """Look."""
    return "seen"


@pytest.fixture
def runtime(project: Project) -> Runtime:
    return project.runtime(tools=[peek])


def plain(answer: Any) -> Callable[[ApprovalRequest], Any]:
    return lambda request: answer


def waiting(answer: Any) -> Callable[[ApprovalRequest], Any]:
    async def ask(request: ApprovalRequest) -> Any:
        await asyncio.sleep(0)
        return answer

    return ask


def raising(request: ApprovalRequest) -> ApprovalResponse:
    raise ValueError("no such person")


async def raising_later(request: ApprovalRequest) -> ApprovalResponse:
    raise ValueError("no such person")


@pytest.mark.parametrize("way", [plain, waiting])
@pytest.mark.parametrize("yes", [True, ApprovalResponse(approved=True)])
def test_yes_in_any_way_lets_the_call_run(runtime: Runtime, way: Any, yes: Any) -> None:
    assert asyncio.run(runtime.call("peek", approver=way(yes))).output == "seen"


@pytest.mark.parametrize("way", [plain, waiting])
@pytest.mark.parametrize("no", [False, ApprovalResponse(approved=False)])
def test_no_in_any_way_denies_it(runtime: Runtime, way: Any, no: Any) -> None:
    error = asyncio.run(runtime.call("peek", approver=way(no))).error

    assert error is not None
    assert error.code is ErrorCode.APPROVAL_DENIED
    assert error.message == "peek was not run: the person denied it"


@pytest.mark.parametrize(
    ("approver", "said"),
    [
        (raising, "raised ValueError: no such person"),
        (raising_later, "raised ValueError: no such person"),
        (plain("yes"), "answered with str"),
        (waiting({"approved": True}), "answered with dict"),
        (plain(ApprovalResponse("no")), "answered with approved=str; expected bool"),  # type: ignore[arg-type]
        (
            plain(ApprovalResponse(approved=True, modified_args=[1])),  # type: ignore[arg-type]
            "answered with modified_args=list; expected a dict",
        ),
    ],
)
def test_mistake_of_an_approver_is_a_denial_that_names_it(
    runtime: Runtime, approver: Any, said: str
) -> None:
    error = asyncio.run(runtime.call("peek", approver=approver)).error

    assert error is not None
    assert error.code is ErrorCode.APPROVAL_DENIED
    assert error.message == f"peek was not run: the approver {said}"
    assert error.hint == "return ApprovalResponse(approved=…), True or False from the approver"


def test_plain_function_answers_calls_that_run_side_by_side(runtime: Runtime) -> None:
    calls = [
        {"id": name, "type": "function", "function": {"name": "peek", "arguments": "{}"}}
        for name in ("a", "b")
    ]

    messages = asyncio.run(runtime.handle_openai(calls, approver=plain(True)))  # type: ignore[arg-type]

    assert [message["content"] for message in messages] == ["seen", "seen"]


def test_approver_of_the_runtime_is_understood_without_an_event_loop(project: Project) -> None:
    runtime = project.runtime(tools=[peek], approver=plain(True))

    assert runtime.call_sync("peek").output == "seen"
