"""Providers of models on the loopback interface, which speak as those documented do.

A test says what the model answers, turn by turn; the server says it in the streaming protocol of
OpenAI's chat completions, Anthropic's messages or Google's generateContent.
"""

from __future__ import annotations

import itertools
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.web import Asked, Reply, Web

Arguments = Mapping[str, Any] | str


@dataclass(frozen=True)
class Turn:
    """One answer. `text` arrives in these pieces; arguments that are text are sent as they are."""

    text: Iterable[str] = ()
    calls: Sequence[tuple[str, Arguments]] = ()
    thinking: str = ""
    # end, length or refusal; calls if there are any
    stop: str = "end"
    # The connection ends before the answer does.
    cut: bool = False
    # After the text nothing more comes until the other side has gone (`ModelServer.gone`).
    hold: bool = False
    # Sent in front of the end, as it is.
    raw: bytes = b""
    # Anything but 200: `body` is the whole answer.
    status: int = 200
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class ModelServer(Web):
    """`turns` are taken one by one; the last one stays. `asked` are the requests."""

    def __init__(self, protocol: str = "openai", turns: Sequence[Turn] = ()) -> None:
        super().__init__(self._answered)
        self.protocol = protocol
        self.turns = list(turns) or [Turn(text=["ok"])]
        self.gone = threading.Event()
        # A text that is sent in the place of another, for what the protocol would not say.
        self.renamed = ("", "")
        self._speak: Callable[[Turn], Iterator[bytes]] = _SPEAKERS[protocol]

    @property
    def base_url(self) -> str:
        return f"{self.url}/v1" if self.protocol == "openai" else self.url

    def turn(self, asked: Asked) -> Turn:
        """The next answer; a real model would read the question."""
        return self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]

    def _answered(self, asked: Asked) -> Reply:
        turn = self.turn(asked)
        if turn.status != 200:
            body = turn.body if isinstance(turn.body, bytes) else json.dumps(turn.body).encode()
            kind = {"Content-Type": "application/json"}
            return Reply(turn.status, body, {**kind, **turn.headers})
        return Reply(pieces=self._pieces(turn))

    def _pieces(self, turn: Turn) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
        yield b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        before, after = (text.encode() for text in self.renamed)
        for piece in self._speak(turn):
            yield _chunk(piece.replace(before, after))
        if turn.hold:
            try:
                while not self.gone.wait(0.005):
                    yield _chunk(_ALIVE[self.protocol])
            finally:
                self.gone.set()
        if not turn.cut:
            yield b"0\r\n\r\n"


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def _event(data: Any, name: str = "") -> bytes:
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n".encode()


def _written(arguments: Arguments) -> str:
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


def _stop(turn: Turn) -> str:
    return "calls" if turn.calls and turn.stop == "end" else turn.stop


def _openai(turn: Turn) -> Iterator[bytes]:
    """Chat completions: one delta an event, arguments in pieces, `[DONE]` at the end."""

    chunk = openai_delta
    yield chunk({"role": "assistant", "content": ""})
    if turn.thinking:
        yield chunk({"reasoning_content": turn.thinking})
    for piece in turn.text:
        yield chunk({"refusal" if turn.stop == "refusal" else "content": piece})
    if turn.cut or turn.hold:
        return
    for number, (name, arguments) in enumerate(turn.calls):
        written = _written(arguments)
        half = len(written) // 2
        opened = {"name": name, "arguments": ""}
        one = {"index": number, "id": f"call_{number + 1}", "type": "function", "function": opened}
        yield chunk({"tool_calls": [one]})
        for piece in (written[:half], written[half:]):
            yield chunk({"tool_calls": [{"index": number, "function": {"arguments": piece}}]})
    if turn.raw:
        yield turn.raw
    ends = {"end": "stop", "calls": "tool_calls", "length": "length", "refusal": "stop"}
    yield chunk({}, ends[_stop(turn)])
    usage = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    yield _event({**_OPENAI, "choices": [], "usage": usage})
    yield b"data: [DONE]\n\n"


def openai_delta(delta: Mapping[str, Any], finish: str | None = None) -> bytes:
    """One event of OpenAI's chat completions."""
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return _event({**_OPENAI, "choices": [choice]})


_OPENAI = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}


def _anthropic(turn: Turn) -> Iterator[bytes]:
    """Messages: blocks that start, have deltas, and stop."""
    numbers = itertools.count()

    def block(opened: Mapping[str, Any], deltas: Sequence[Mapping[str, Any]]) -> Iterator[bytes]:
        number = next(numbers)
        yield _named("content_block_start", index=number, content_block=opened)
        for delta in deltas:
            yield _named("content_block_delta", index=number, delta=delta)
        if not (turn.cut or turn.hold):
            yield _named("content_block_stop", index=number)

    usage = {"input_tokens": 11, "output_tokens": 1}
    opened = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []}
    rest = {"stop_reason": None, "stop_sequence": None, "usage": usage}
    yield _named("message_start", message={**opened, **rest})
    yield _named("ping")
    if turn.thinking:
        said = {"type": "thinking_delta", "thinking": turn.thinking}
        signed = {"type": "signature_delta", "signature": "c2lnbmVk"}
        yield from block({"type": "thinking", "thinking": "", "signature": ""}, [said, signed])
    if turn.text:
        pieces = [{"type": "text_delta", "text": piece} for piece in turn.text]
        yield from block({"type": "text", "text": ""}, pieces)
    if turn.cut or turn.hold:
        return
    for number, (name, arguments) in enumerate(turn.calls):
        written = _written(arguments)
        half = len(written) // 2
        made = {"type": "tool_use", "id": f"toolu_{number + 1}", "name": name, "input": {}}
        halves = (written[:half], written[half:])
        pieces = [{"type": "input_json_delta", "partial_json": piece} for piece in halves]
        yield from block(made, pieces)
    if turn.raw:
        yield turn.raw
    ends = {"end": "end_turn", "calls": "tool_use", "length": "max_tokens", "refusal": "refusal"}
    delta = {"stop_reason": ends[_stop(turn)], "stop_sequence": None}
    yield _named("message_delta", delta=delta, usage={"output_tokens": 7})
    yield _named("message_stop")


def _named(name: str, **data: Any) -> bytes:
    return _event({"type": name, **data}, name)


def _google(turn: Turn) -> Iterator[bytes]:
    """generateContent: every event is a response of its own; arguments come whole, as objects."""

    def response(parts: Sequence[Mapping[str, Any]], finish: str = "") -> bytes:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        if finish:
            candidate["finishReason"] = finish
        usage = {"promptTokenCount": 11, "candidatesTokenCount": 7, "totalTokenCount": 18}
        data = {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "m"}
        return _event({**data, "responseId": "r1"})

    if turn.thinking:
        yield response([{"text": turn.thinking, "thought": True}])
    for piece in turn.text:
        yield response([{"text": piece}])
    if turn.cut or turn.hold:
        return
    calls: list[dict[str, Any]] = [
        {"functionCall": {"name": name, "args": arguments}} for name, arguments in turn.calls
    ]
    if calls and turn.thinking:
        calls[0]["thoughtSignature"] = "c2lnbmVk"
    if turn.raw:
        yield turn.raw
    ends = {"end": "STOP", "calls": "STOP", "length": "MAX_TOKENS", "refusal": "SAFETY"}
    yield response(calls, ends[_stop(turn)])


# What comes while there is nothing to say; Google's package takes no comments.
_ALIVE = {"openai": b": still here\n\n", "anthropic": _named("ping"), "google": b"\n"}
_SPEAKERS = {"openai": _openai, "anthropic": _anthropic, "google": _google}


def refusals(protocol: str) -> dict[str, Turn]:
    """How each provider says that something is wrong, by the kind of ModelFailed."""
    return {
        kind: Turn(status=status, body=body) for kind, (status, body) in _WRONG[protocol].items()
    }


def _openai_error(message: str, code: str | None, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def _anthropic_error(message: str, kind: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def _google_error(message: str, code: int, status: str, reason: str = "") -> dict[str, Any]:
    info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}
    details = [info] if reason else []
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


_INVALID = "invalid_request_error"
_WRONG: dict[str, dict[str, tuple[int, Any]]] = {
    "openai": {
        "auth": (401, _openai_error("Incorrect API key provided", "invalid_api_key", _INVALID)),
        "rate": (429, _openai_error("Rate limit reached", "rate_limit_exceeded", "requests")),
        "context": (
            400,
            _openai_error(
                "This model's maximum context length is 8192 tokens",
                *("context_length_exceeded", _INVALID),
            ),
        ),
        "bad-request": (400, _openai_error("Unsupported value: 'temperature'", None, _INVALID)),
        "unavailable": (404, _openai_error("The model `m` does not exist", "model_not_found", "")),
        "server": (500, _openai_error("The server had an error", None, "server_error")),
    },
    "anthropic": {
        "auth": (401, _anthropic_error("invalid x-api-key", "authentication_error")),
        "rate": (429, _anthropic_error("This would exceed your rate limit", "rate_limit_error")),
        "context": (400, _anthropic_error("prompt is too long: 210000 tokens > 200000", _INVALID)),
        "bad-request": (400, _anthropic_error("max_tokens: must be greater than 0", _INVALID)),
        "unavailable": (404, _anthropic_error("model: m", "not_found_error")),
        "server": (529, _anthropic_error("Overloaded", "overloaded_error")),
    },
    "google": {
        "auth": (
            400,
            _google_error("API key not valid.", 400, "INVALID_ARGUMENT", "API_KEY_INVALID"),
        ),
        "rate": (429, _google_error("Resource has been exhausted", 429, "RESOURCE_EXHAUSTED")),
        "context": (
            400,
            _google_error(
                "The input token count (2000000) exceeds the maximum number of tokens allowed",
                *(400, "INVALID_ARGUMENT"),
            ),
        ),
        "bad-request": (400, _google_error("Invalid value at 'x'", 400, "INVALID_ARGUMENT")),
        "unavailable": (404, _google_error("models/m is not found", 404, "NOT_FOUND")),
        "server": (503, _google_error("The model is overloaded", 503, "UNAVAILABLE")),
    },
}
