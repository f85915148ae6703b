"""A project with something beside it that no tool may touch, and an agent who calls tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tongs import Runtime
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.result import ToolResult

AGENT = Caller(CallerKind.AGENT, "agent")


@dataclass
class Person:
    """Answers every question the same way, after whatever `meanwhile` does."""

    approves: bool = True
    asked: list[ApprovalRequest] = field(default_factory=list)
    meanwhile: Callable[[], object] = lambda: None
    edits: dict[str, Any] | None = None

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse:
        self.asked.append(request)
        self.meanwhile()
        return ApprovalResponse(self.approves, self.edits, approver="person")


@dataclass
class Scene:
    project: Path
    outside: Path
    runtime: Runtime
    person: Person = field(default_factory=Person)

    def call(self, name: str, caller: Caller = AGENT, **arguments: Any) -> ToolResult:
        call = ToolCall(os.urandom(4).hex(), name, arguments, caller)
        return self.runtime.run_sync(call, approver=self.person)

    def code(self, name: str, **arguments: Any) -> str | None:
        """The error code of a call; None where it worked."""
        error = self.call(name, **arguments).error
        return None if error is None else str(error.code)


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project / ".tongs" / "tools", outside, tmp_path / "home"):
        folder.mkdir(parents=True)
    (outside / "secret").write_text("secret")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TONGS_HOME", str(tmp_path / "user"))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global"))
    with Runtime.open(project, single_thread=True) as runtime:
        yield Scene(project, outside, runtime)
