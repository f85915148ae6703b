"""An agent's loop, against the same exchange by openai's SDK alone and by pydantic-ai's own agent.

The provider is a server of this process that answers at once, so what is measured is everything but
the model.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

from tests.model_servers import ModelServer, Turn
from tests.web import Asked

from bench.measuring import ratios
from bench.pipeline import ARGUMENTS
from bench.rows import Row
from bench.world import PYTHON, TONGS, World

STARTS = "Start to the first request to a model, multiples of a script with openai's SDK"
CALLS = "A model's tool call, question to answer, multiples of a loop with openai's SDK"
BASELINE = "openai's SDK"
IN_A_ROW = 10

_OPENAI = """
import sys
from openai import OpenAI
client = OpenAI(base_url=sys.argv[1], api_key="none")
messages = [{"role": "user", "content": "go"}]
for chunk in client.chat.completions.create(model="m", messages=messages, stream=True):
    pass
"""
_PYDANTIC_AI = """
import sys
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
provider = OpenAIProvider(base_url=sys.argv[1], api_key="none")
Agent(OpenAIChatModel("m", provider=provider)).run_stream_sync("go").get_output()
"""


class _Provider(ModelServer):
    """Wants a tool called `IN_A_ROW` times, then says so; without tools it says so at once."""

    # When a conversation began.
    asked_at = 0.0

    def turn(self, asked: Asked) -> Turn:
        at, request = perf_counter(), asked.json
        self.asked.clear()
        answered = sum(message["role"] == "tool" for message in request["messages"])
        if not answered:
            self.asked_at = at
        if "tools" not in request or answered == IN_A_ROW:
            return Turn(text=["done"])
        name = request["tools"][0]["function"]["name"]
        return Turn(calls=[(name, ARGUMENTS if name == "forecast" else "{}")])


def rows(world: World, rounds: int) -> Iterator[Row]:
    with _provider() as provider:
        yield from _starts(provider, world, rounds)
        yield from _calls(provider, world, rounds)


@contextmanager
def _provider() -> Iterator[_Provider]:
    provider = _Provider()
    try:
        yield provider
    finally:
        provider.close()


def _starts(provider: _Provider, world: World, rounds: int) -> Iterator[Row]:
    url = provider.base_url
    model = ("--model", "openai-compatible:m", "--base-url", url)
    commands: dict[str, Sequence[str]] = {
        BASELINE: (PYTHON, "-c", _OPENAI, url),
        "pydantic-ai": (PYTHON, "-c", _PYDANTIC_AI, url),
        "tongs": (TONGS, "run", "go", "--no-tools", *model),
        "tools": (TONGS, "run", "go", "--tools", "hi,greet", *model),
    }

    def first(command: Sequence[str]) -> Callable[[], float]:
        def measure() -> float:
            begun = perf_counter()
            subprocess.run(
                list(command),
                cwd=world.project,
                env=world.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            return provider.asked_at - begun

        return measure

    works = {name: first(command) for name, command in commands.items()}
    for work in works.values():  # fill the caches
        work()
    found = ratios(works, BASELINE, rounds)
    yield Row(STARTS, "`tongs run`, no tools", found["tongs"])
    yield Row(STARTS, "`tongs run`, two tools", found["tools"])
    yield Row(STARTS, "a script with pydantic-ai", found["pydantic-ai"])


def _calls(provider: _Provider, world: World, rounds: int) -> Iterator[Row]:
    done = subprocess.run(
        [PYTHON, "-m", "bench.agent_loops", provider.base_url, world.project, str(rounds)],
        cwd=Path(__file__).parent.parent,
        env=world.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    note = "asked, validated, decided, recorded, kept in the conversation"
    yield Row(CALLS, "Tongs, a function", found["Tongs"], note=note)
    yield Row(CALLS, "pydantic-ai's agent, a function", found["pydantic-ai"], note="validated")
    against = found["Tongs"] / found["pydantic-ai"]
    yield Row(CALLS, "Tongs, against pydantic-ai's agent", against)
    yield Row(CALLS, "Tongs, a sandboxed `bash: echo hi`", found["command"])
