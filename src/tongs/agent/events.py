"""What happens while a model answers, for whoever shows it. `to_data` is a line of `--json`."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tongs.core.annotations import Any, TypeAlias
from tongs.core.conversation import Usage
from tongs.core.record import dataclass, field


@dataclass(frozen=True, slots=True)
class TextShown:
    text: str

    def to_data(self) -> dict[str, Any]:
        return {"event": "text", "text": self.text}


@dataclass(frozen=True, slots=True)
class ThinkingShown:
    text: str

    def to_data(self) -> dict[str, Any]:
        return {"event": "thinking", "text": self.text}


@dataclass(frozen=True, slots=True)
class CallWritten:
    """The model has begun to write a call."""

    id: str
    tool: str

    def to_data(self) -> dict[str, Any]:
        return {"event": "call_arriving", "id": self.id, "tool": self.tool}


@dataclass(frozen=True, slots=True)
class StepEnded:
    """The model has said all it wants to say before its calls are answered."""

    step: int
    calls: int
    usage: Usage

    def to_data(self) -> dict[str, Any]:
        said = {"event": "step", "step": self.step, "calls": self.calls}
        return {**said, "usage": self.usage.to_data()}


@dataclass(frozen=True, slots=True)
class CallStarted:
    """`id` is the model's name for the call, `call` that of the audit log."""

    id: str
    call: str
    tool: str
    arguments: Mapping[str, Any]

    def to_data(self) -> dict[str, Any]:
        said = {"event": "call", "id": self.id, "call": self.call, "tool": self.tool}
        return {**said, "arguments": dict(self.arguments)}


@dataclass(frozen=True, slots=True)
class CallOutput:
    """`stream` is stdout or stderr."""

    id: str
    stream: str
    data: bytes

    def to_data(self) -> dict[str, Any]:
        text = self.data.decode("utf-8", "replace")
        return {"event": "output", "id": self.id, "stream": self.stream, "text": text}


@dataclass(frozen=True, slots=True)
class CallEnded:
    """`text` is what the model is told; `code` is empty where all went well.

    `output` is the tool's part of it, for who has seen the rest happen; `warnings` are for the
    person, too.
    """

    id: str
    call: str
    tool: str
    ok: bool
    text: str
    code: str = ""
    denied: bool = False
    seconds: float = 0.0
    output: str = ""
    warnings: tuple[str, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {
            "event": "result",
            "id": self.id,
            "call": self.call,
            "tool": self.tool,
            "ok": self.ok,
            "text": self.text,
            "code": self.code,
            "denied": self.denied,
            "seconds": round(self.seconds, 3),
            "warnings": [*self.warnings],
        }


@dataclass(frozen=True, slots=True)
class QuestionAsked:
    call: str
    tool: str
    arguments: Mapping[str, Any]
    reason: str

    def to_data(self) -> dict[str, Any]:
        said = {"event": "question", "call": self.call, "tool": self.tool}
        return {**said, "arguments": dict(self.arguments), "reason": self.reason}


@dataclass(frozen=True, slots=True)
class QuestionAnswered:
    """`arguments` are those that the person has put in the place of the model's."""

    call: str
    tool: str
    approved: bool
    reason: str = ""
    arguments: Mapping[str, Any] | None = None

    def to_data(self) -> dict[str, Any]:
        said = {"event": "answer", "call": self.call, "tool": self.tool}
        edited = None if self.arguments is None else dict(self.arguments)
        return {**said, "approved": self.approved, "reason": self.reason, "arguments": edited}


@dataclass(frozen=True, slots=True)
class Retrying:
    """The model could not be asked and will be again."""

    kind: str
    message: str
    seconds: float
    attempt: int

    def to_data(self) -> dict[str, Any]:
        said = {"event": "retry", "kind": self.kind, "message": self.message}
        return {**said, "seconds": round(self.seconds, 1), "attempt": self.attempt}


@dataclass(frozen=True, slots=True)
class Ended:
    """`outcome` is ended, denied, step-limit, failed or stopped."""

    outcome: str
    text: str
    steps: int
    usage: Usage
    conversation: str
    error: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        return {
            "event": "end",
            "outcome": self.outcome,
            "text": self.text,
            "steps": self.steps,
            "usage": self.usage.to_data(),
            "conversation": self.conversation,
            "error": dict(self.error) or None,
        }


AgentEvent: TypeAlias = (
    TextShown
    | ThinkingShown
    | CallWritten
    | StepEnded
    | CallStarted
    | CallOutput
    | CallEnded
    | QuestionAsked
    | QuestionAnswered
    | Retrying
    | Ended
)
Observe: TypeAlias = Callable[[AgentEvent], None]
