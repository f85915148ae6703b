"""Runs the examples of tools through the pipeline, and compares what they give."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from tongs.authoring.expected import differences
from tongs.config.environment import host_environment
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.approval import Approver
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ErrorCode
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

if TYPE_CHECKING:
    from tongs.runtime import Runtime

EXPECTED = "expected_output"


@dataclass(frozen=True, slots=True)
class Tried:
    """One example, and what came of it. `number` counts from 1."""

    tool: str
    path: str
    number: int
    example: Mapping[str, Any]
    result: ToolResult
    differences: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.result.ok and not self.differences

    @property
    def title(self) -> str:
        return str(self.example.get("description") or f"example {self.number}")

    def to_wire(self) -> dict[str, Any]:
        return {
            "tool": self.tool,
            "path": self.path,
            "number": self.number,
            "description": self.title,
            "params": dict(self.example.get("params") or {}),
            "ok": self.ok,
            "differences": list(self.differences),
            "result": self.result.to_wire(),
        }

    def recorded(self) -> dict[str, Any]:
        """The example with what the call gave; what the author wrote stays where it fits."""
        example = dict(self.example)
        if self.result.ok and (self.differences or EXPECTED not in example):
            value = self.result.value
            example[EXPECTED] = self.result.output if value is None else value
        return example


@dataclass(frozen=True, slots=True)
class Trying:
    """How examples are called: as a person types them."""

    runtime: Runtime
    agreed: bool = False
    approver: Approver | None = None
    timeout: float | None = None
    # Tells of each one as it ends.
    observe: Callable[[Tried], None] = lambda tried: None

    def examples(self, tool: Tool) -> Iterator[Tried]:
        """Each example of a tool, in its order."""
        # In front of all others: this very tool is meant, wherever it lies.
        self.runtime.registry.register(tool)
        for number, example in enumerate(tool.examples, 1):
            result = self._called(tool, example.get("params") or {})
            found: list[str] = []
            if result.ok and EXPECTED in example:
                found = differences(example[EXPECTED], result.output, result.value)
            path = tool.origin.path
            tried = Tried(tool.name, path, number, example, result, tuple(found))
            self.observe(tried)
            yield tried
            if result.error is not None and result.error.code is ErrorCode.CANCELLED:
                return

    def refused(self, tool: Tool) -> Tried:
        """Why nothing of an untrusted tool is run; said once, however many examples it has."""
        self.runtime.registry.register(tool)
        arguments = (tool.examples[0].get("params") or {}) if tool.examples else {}
        tried = Tried(tool.name, tool.origin.path, 0, {}, self._called(tool, arguments))
        self.observe(tried)
        return tried

    def _called(self, tool: Tool, arguments: Mapping[str, Any]) -> ToolResult:
        caller = Caller(CallerKind.PERSON, "user", agreed=self.agreed)
        call = ToolCall(os.urandom(6).hex(), tool.name, arguments, caller)
        return self.runtime.run_sync(call, approver=self.approver, timeout=self.timeout)


def secrets(given: Mapping[str, str], *, fake: bool) -> Callable[[str], str | None]:
    """Where the secrets of a test come from; with `fake` none of the person's own is used."""
    host = {} if fake else host_environment()

    def value(name: str) -> str | None:
        known = given.get(name, host.get(name))
        return f"fake-{name}" if known is None and fake else known

    return value
