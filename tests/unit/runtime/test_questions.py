"""What a person is asked is the whole call, and their answer holds for that alone."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import pytest

from tongs import ApprovalRequest, ApprovalResponse, Runtime, ToolResult
from tongs.approvers.terminal_question import description
from tongs.core.approval import Remember, Span
from tongs.core.approval_wire import request_wire
from tongs.core.call import Caller, CallerKind, ToolCall

if TYPE_CHECKING:
    from tests.unit.conftest import Project

AGENT = Caller(CallerKind.AGENT, "claude")
DEPLOY = "bash: echo to {TARGET}\nparameters: {TARGET: {}}\napproval: {required: true}\n"
PROD = {
    "name": "prod-asks",
    "when": {"tool": "deploy", "argument": {"TARGET": {"pattern": "prod"}}},
    "decision": "ask",
    "reason": "customers are there",
}


class Person:
    """A double for a person: approves everything, from now on as `when` says."""

    def __init__(self, when: dict[str, Any] | None = None, span: Span = Span.SESSION) -> None:
        self.remember = None if when is None else Remember(when, span)
        self.asked: list[ApprovalRequest] = []

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        self.asked.append(request)
        return ApprovalResponse(approved=True, approver="ann", remember=self.remember)


def call(
    runtime: Runtime, person: Person, name: str, stdin: bytes = b"", /, **arguments: Any
) -> ToolResult:
    return runtime.run_sync(ToolCall("c1", name, arguments, AGENT, stdin), approver=person)


def test_an_answer_to_one_rule_is_none_to_another_about_the_same_call(project: Project) -> None:
    project.write("deploy", DEPLOY)
    runtime, person = project.runtime(rules=[PROD]), Person({"tool": "deploy"}, Span.USER)
    call(runtime, person, "deploy", TARGET="staging")
    call(runtime, person, "deploy", TARGET="staging")
    assert [request.rules for request in person.asked] == [("approval.required",)]

    call(runtime, person, "deploy", TARGET="prod")

    (_, request) = person.asked
    assert request.rules == ("approval.required", "prod-asks")
    assert "customers are there" in request.reason
    asked = [r for r in project.records() if r["event"] == "APPROVAL_REQUESTED"]
    assert asked[-1]["also"] == ["prod-asks"]

    call(runtime, person, "deploy", TARGET="prod")
    assert len(person.asked) == 2


def test_an_answer_about_a_deletion_is_none_about_what_nobody_understands(
    project: Project,
) -> None:
    (project.root / "build").mkdir()
    runtime, person = project.runtime(), Person({"tool": "shell"})
    call(runtime, person, "shell", command="rm -rf build")
    assert "delete-inside" in person.asked[0].rules

    person.asked.clear()
    call(runtime, person, "shell", command="rm -rf nothere")
    assert person.asked == []

    hidden = 'rm -rf nothere; eval "$(echo ZWNobyBoaQ== | base64 -d)"'
    call(runtime, person, "shell", command=hidden)

    (request,) = person.asked
    assert {"delete-inside", "not-understood"} <= {*request.rules}


def test_a_question_shows_what_comes_by_standard_input_and_is_bound_to_it(
    project: Project,
) -> None:
    project.write("feed", "bash: cat\napproval: {required: true}\n")
    runtime, person = project.runtime(), Person()
    for given in (b"harmless\n", b"harmful \n", b"", b"harmless\n", b"x" * 300):
        assert call(runtime, person, "feed", given).output == given.decode()

    first, other, nothing, again, long = person.asked
    assert len({request.digest for request in (first, other, nothing, long)}) == 4
    assert first.digest == again.digest
    hashed = sha256(b"harmless\n").hexdigest()
    assert first.stdin == f'9 bytes, sha256 {hashed}: "harmless\\n"'
    assert f"standard input: {first.stdin}" in description(first)
    assert nothing.stdin == ""
    assert "standard input" not in description(nothing)
    assert long.stdin.endswith('x" …')


def test_the_reason_of_a_question_tells_no_secret(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "hunter 22's")
    project.write(
        "clean",
        "bash: rm -rf {DIR}\nparameters: {DIR: {}}\npermissions: {secrets: {API_KEY: {}}}\n",
    )
    rule = {"name": "rm-asks", "when": {"command": "rm"}, "decision": "ask"}
    runtime, person = project.runtime(rules=[rule]), Person()

    call(runtime, person, "clean", DIR="./build/hunter 22's")
    denied = runtime.run_sync(ToolCall("c2", "clean", {"DIR": "./build/hunter 22's"}, AGENT))

    (request,) = person.asked
    assert "[redacted]" in request.reason
    assert denied.error is not None
    told = json.dumps([request_wire(request), denied.to_wire(), project.records()])
    assert "hunter" not in told + project.audit()


@pytest.mark.parametrize(
    "when",
    [
        {"tool": "send", "arguments": {"T": "[redacted]"}},
        {"tool": "send", "argument": {"T": {"equals": "[redacted]"}}},
    ],
)
def test_two_calls_that_look_the_same_without_their_secrets_are_asked_about_twice(
    project: Project, monkeypatch: pytest.MonkeyPatch, when: dict[str, Any]
) -> None:
    monkeypatch.setenv("FIRST", "hunter22")
    monkeypatch.setenv("OTHER", "rabbit33")
    project.write(
        "send",
        "bash: echo {T}\nparameters: {T: {}}\npermissions: {secrets: {FIRST: {}, OTHER: {}}}\n",
    )
    runtime, person = project.runtime(), Person(when)

    call(runtime, person, "send", T="hunter22")
    call(runtime, person, "send", T="rabbit33")

    assert [(request.args, request.whole) for request in person.asked] == [
        ({"T": "[redacted]"}, False)
    ] * 2


def test_always_this_very_call_is_not_for_another_standard_input(project: Project) -> None:
    project.write("feed", "bash: cat\napproval: {required: true}\n")
    runtime, person = project.runtime(), Person({"tool": "feed", "arguments": {}})

    for given in (b"", b"", b"harmful\n"):
        call(runtime, person, "feed", given)

    assert [request.whole for request in person.asked] == [True, False]
