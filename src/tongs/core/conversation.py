"""What a person, a model and its tools have said to each other, and what a model says meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence

from tongs.core.annotations import Any, Protocol, TypeAlias
from tongs.core.digest import digest_of
from tongs.core.record import dataclass, field

_LONGEST_TITLE = 80


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one answer, as the provider counts them; 0 where it does not say."""

    input: int = 0
    output: int = 0

    def to_data(self) -> dict[str, Any]:
        return {"input": self.input, "output": self.output}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Usage:
        return Usage(data.get("input", 0), data.get("output", 0))


@dataclass(frozen=True, slots=True)
class UserSaid:
    text: str

    def to_data(self) -> dict[str, Any]:
        return {"type": "user", "text": self.text}


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call as a model made it. `id` is the provider's own: an answer must name it.

    `raw` is the text of the arguments as it came; `arguments` is None, and `error` says why, where
    that is no JSON object. Nothing is run then.
    """

    id: str
    name: str
    arguments: Mapping[str, Any] | None
    raw: str = ""
    error: str = ""

    def to_data(self) -> dict[str, Any]:
        arguments = None if self.arguments is None else dict(self.arguments)
        made = {"id": self.id, "name": self.name, "arguments": arguments}
        return {**made, "raw": self.raw, "error": self.error}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> CallMade:
        said = (data["id"], data["name"], data["arguments"])
        return CallMade(*said, data.get("raw", ""), data.get("error", ""))


@dataclass(frozen=True, slots=True)
class ModelSaid:
    """One whole answer of a model.

    `details` is JSON that only the adapter of its provider reads: what must be sent back unchanged,
    such as the signatures of what the model thought.
    """

    text: str
    calls: tuple[CallMade, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    def to_data(self) -> dict[str, Any]:
        return {
            "type": "model",
            "text": self.text,
            "calls": [call.to_data() for call in self.calls],
            "usage": self.usage.to_data(),
            "model": self.model,
            "details": dict(self.details),
        }


@dataclass(frozen=True, slots=True)
class CallAnswered:
    """What a model is told of one of its calls."""

    id: str
    name: str
    text: str
    ok: bool

    def to_data(self) -> dict[str, Any]:
        return {"id": self.id, "name": self.name, "text": self.text, "ok": self.ok}

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> CallAnswered:
        return CallAnswered(data["id"], data["name"], data["text"], data["ok"])


@dataclass(frozen=True, slots=True)
class ToolsAnswered:
    """The answers to all calls of the `ModelSaid` before it, in their order."""

    answers: tuple[CallAnswered, ...]

    def to_data(self) -> dict[str, Any]:
        return {"type": "tools", "answers": [answer.to_data() for answer in self.answers]}


Message: TypeAlias = UserSaid | ModelSaid | ToolsAnswered


def message_of(data: Mapping[str, Any]) -> Message:
    """What `to_data` of a message made, read back. Raises ValueError and KeyError."""
    match data["type"]:
        case "user":
            return UserSaid(data["text"])
        case "model":
            calls = tuple(CallMade.from_data(call) for call in data["calls"])
            usage = Usage.from_data(data.get("usage", {}))
            return ModelSaid(
                data["text"], calls, usage, data.get("model", ""), data.get("details", {})
            )
        case "tools":
            return ToolsAnswered(tuple(CallAnswered.from_data(each) for each in data["answers"]))
        case other:
            raise ValueError(f"a message has the unknown type {other!r:.40}")


@dataclass(frozen=True, slots=True)
class Conversation:
    """`started` is a time in UTC (ISO 8601), `project` a real path, `model` its name in config."""

    id: str
    title: str
    started: str
    project: str
    model: str
    messages: tuple[Message, ...] = ()

    def to_data(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "title": self.title,
            "started": self.started,
            "project": self.project,
            "model": self.model,
            "messages": [message.to_data() for message in self.messages],
        }

    @staticmethod
    def from_data(data: Mapping[str, Any]) -> Conversation:
        messages = tuple(message_of(each) for each in data["messages"])
        said = (data["id"], data["title"], data["started"], data["project"], data["model"])
        return Conversation(*said, messages)


def title_of(text: str) -> str:
    """The beginning of what was said first, on one line."""
    words = " ".join(text.split())
    return words if len(words) <= _LONGEST_TITLE else words[: _LONGEST_TITLE - 1] + "…"


@dataclass(frozen=True, slots=True)
class TextArrived:
    text: str


@dataclass(frozen=True, slots=True)
class ThinkingArrived:
    text: str


@dataclass(frozen=True, slots=True)
class CallArriving:
    """A model has begun to write a call; its arguments are still to come."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream. `stop` is end, calls, length (cut off) or refusal."""

    said: ModelSaid
    stop: str = "end"


ModelEvent: TypeAlias = TextArrived | ThinkingArrived | CallArriving | Finished


class ModelFailed(Exception):
    """A model gave no answer.

    `kind` is auth, rate, context, refused, connection, bad-request, server or unavailable;
    `retry_after` is what the provider asks for, in seconds.
    """

    def __init__(
        self, kind: str, message: str, hint: str = "", retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.retry_after = retry_after


class ChatModel(Protocol):
    """A model of some provider, ready to be asked."""

    @property
    def name(self) -> str:
        """As a person names it; also the name of the caller in the record of calls."""

    @property
    def form(self) -> str:
        """The form of `Offer.export` for its tools: openai, anthropic or gemini."""

    @property
    def instructions(self) -> str:
        """What the person wants this model to be told, from the config; sent by nobody but us."""

    def load(self) -> None:
        """What takes long before the first request, in any thread; otherwise `stream` does it."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], instructions: str
    ) -> AsyncIterator[ModelEvent]:
        """The model's answer as it comes; `Finished` is last. Raises ModelFailed.

        To close the iterator cancels the request on the wire. `tools` are functions in this model's
        `form`.
        """

    async def aclose(self) -> None:
        """Close the connections that are kept for the next request."""


def call_id(conversation: str, message: int, position: int) -> str:
    """The id under which a model's call is recorded, made of where it stands in its conversation.

    So whoever resumes the conversation can look up what came of it.
    """
    return digest_of(f"{conversation}/{message}/{position}".encode())[:12]
