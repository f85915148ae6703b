"""A call that was stopped is told and recorded without the secrets of its tool, too."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode, SafetyRule, ToolResult
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Verdict
from tongs.core.tool import Tool

if TYPE_CHECKING:
    from tests.unit.conftest import Project

AGENT = Caller(CallerKind.AGENT, "claude")
SECRET = "swordfish99"
SEND = """bash: echo sent {TEXT}
parameters: {TEXT: {}, TIMES: {type: integer, default: 1}}
permissions: {secrets: {TOKEN: {}, OTHER: {required: false}}}
"""
DENY_ALL = SafetyRule("no-fish", ("re:.*fish.*",))


def stopped(project: Project, rules: object = (DENY_ALL,), **arguments: object) -> ToolResult:
    runtime = project.runtime(rules=rules, auto_approve=["*"])
    return runtime.run_sync(ToolCall("c1", "send", {"TEXT": SECRET, **arguments}, AGENT))


def told(project: Project, result: ToolResult) -> str:
    """Everything that somebody could read afterwards."""
    log = project.home / "state" / "log" / "tongs.log"
    kept = log.read_text() if log.exists() else ""
    return repr(result.to_wire()) + project.audit() + repr(project.records()) + kept


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOKEN", SECRET)


@pytest.mark.usefixtures("token")
def test_denied_call(project: Project) -> None:
    quoting = {"name": "quoting", "when": {"argument": {"TEXT": "fish"}}, "decision": "deny"}
    project.write("send", SEND)

    result = stopped(project, [quoting])

    assert result.error is not None
    assert result.error.code is ErrorCode.DENIED
    assert "TEXT is '[redacted]'" in result.error.message
    assert SECRET not in told(project, result)
    assert '"TEXT": "[redacted]"' in repr(project.records()).replace("'", '"')


@pytest.mark.usefixtures("token")
def test_call_with_wrong_arguments(project: Project) -> None:
    project.write("send", SEND)

    result = stopped(project, (), TIMES=SECRET)

    assert result.error is not None
    assert result.error.code is ErrorCode.INVALID_ARGUMENTS
    assert SECRET not in told(project, result)


@pytest.mark.usefixtures("token")
def test_call_whose_other_secret_is_missing(project: Project) -> None:
    project.write("send", SEND.replace("OTHER: {required: false}", "OTHER: {}"))

    result = stopped(project, ())

    assert result.error is not None
    assert result.error.code is ErrorCode.SECRET_MISSING
    assert SECRET not in told(project, result)


@pytest.mark.usefixtures("token")
def test_call_that_broke_before_it_ran(project: Project) -> None:
    class Broken:
        def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
            raise RuntimeError(f"cannot judge {call.arguments['TEXT']}")

    project.write("send", SEND)

    result = stopped(project, [Broken()])

    assert result.error is not None
    assert result.error.code is ErrorCode.INTERNAL_ERROR
    assert SECRET not in told(project, result)


def test_secret_of_a_file(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    (project.home / "config.yml").write_text(f"secrets: {{TOKEN: 'file:{path}'}}\n")
    project.write("send", SEND)

    assert SECRET not in told(project, stopped(project))


def test_secret_that_the_config_grants_to_the_tool(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRANTED", SECRET)
    (project.home / "config.yml").write_text(
        "tools: {send: {permissions: {secrets: {GRANTED: {}}}}}\n"
    )
    project.write("send", SEND.replace("permissions: {secrets", "#"))

    assert SECRET not in told(project, stopped(project))


def test_keyring_is_not_unlocked_for_a_call_that_may_not_run(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("tongs.runtime.secrets._from_keyring", lambda *names: asked.append("x"))
    (project.home / "config.yml").write_text("secrets: {TOKEN: 'keyring:mail/ann'}\n")
    project.write("send", SEND)

    result = stopped(project)

    assert result.error is not None
    assert result.error.code is ErrorCode.DENIED
    assert asked == []


@pytest.mark.usefixtures("token")
def test_tool_that_nobody_accepted_cannot_have_a_guess_at_a_secret_confirmed(
    project: Project,
) -> None:
    project.write("send", SEND, trusted=False)

    result = stopped(project)

    assert result.error is not None
    assert result.error.code is ErrorCode.UNTRUSTED
    assert SECRET in repr(project.records())


def test_program_is_not_asked_but_its_config_is(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(SECRET)
    path.chmod(0o600)
    (project.home / "config.yml").write_text(f"secrets: {{TOKEN: 'file:{path}'}}\n")
    project.write("send", SEND)
    asked: list[str] = []
    runtime = project.runtime(rules=[DENY_ALL], secrets=asked.append)

    result = runtime.run_sync(ToolCall("c1", "send", {"TEXT": SECRET}, AGENT))

    assert SECRET not in told(project, result)
    assert asked == []


def test_file_that_others_may_read_is_no_reason_to_fail(project: Project, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(SECRET)
    path.chmod(0o644)
    (project.home / "config.yml").write_text(f"secrets: {{TOKEN: 'file:{path}'}}\n")
    project.write("send", SEND)

    result = stopped(project)

    assert result.error is not None
    assert result.error.code is ErrorCode.DENIED
