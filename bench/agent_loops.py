"""The loops that `bench.agent` compares, in a process of their own: the packages are large."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Mapping
from time import perf_counter
from typing import Any

from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from bench.agent import BASELINE
from bench.measuring import ratios
from bench.pipeline import SCHEMA, TOOLS, forecast
from tongs import Runtime
from tongs.agent.events import AgentEvent, CallEnded
from tongs.runtime.chatting import Wishes, open_chat
from tongs.runtime.models import open_model

Loop = Callable[[], Coroutine[Any, Any, str]]


def _by_openai(url: str) -> Loop:
    client = AsyncOpenAI(base_url=url, api_key="none")
    function = {"name": "forecast", "description": TOOLS[0].description, "parameters": SCHEMA}
    tools: Any = [{"type": "function", "function": function}]

    async def answer() -> str:
        messages: list[Any] = [{"role": "user", "content": "go"}]
        while True:
            text, name, number, written = "", "", "", ""
            stream = await client.chat.completions.create(
                model="m", messages=messages, tools=tools, stream=True
            )
            async for chunk in stream:
                for choice in chunk.choices:
                    text += choice.delta.content or ""
                    for call in choice.delta.tool_calls or ():
                        number = call.id or number
                        name = (call.function and call.function.name) or name
                        written += (call.function and call.function.arguments) or ""
            if not name:
                return text
            result = json.dumps(await forecast(**json.loads(written)))
            made = {"name": name, "arguments": written}
            calls = [{"id": number, "type": "function", "function": made}]
            messages += [
                {"role": "assistant", "tool_calls": calls},
                {"role": "tool", "tool_call_id": number, "content": result},
            ]

    return answer


def _by_pydantic_ai(url: str) -> Loop:
    provider = OpenAIProvider(base_url=url, api_key="none")
    agent = Agent(OpenAIChatModel("m", provider=provider), tools=[forecast])

    async def answer() -> str:
        async with agent.run_stream("go") as streamed:
            return await streamed.get_output()

    return answer


def _by_tongs(runtime: Runtime, url: str, tool: str) -> Loop:
    model = open_model(runtime, "openai-compatible:m", url, print)

    def observe(event: AgentEvent) -> None:
        if isinstance(event, CallEnded) and not event.ok:
            raise RuntimeError(event.text)

    async def answer() -> str:
        chat = open_chat(runtime, model, Wishes(tools=(tool,)))
        outcome = await chat.say("go", observe)
        return outcome.text

    return answer


def _timed(runner: asyncio.Runner, answers: Loop) -> Callable[[], float]:
    def measure() -> float:
        begun = perf_counter()
        if (said := runner.run(answers())) != "done":
            raise RuntimeError(said)
        return perf_counter() - begun

    return measure


def main(url: str, project: str, rounds: int) -> None:
    tools = Runtime.open(project, auto_approve=["*"], tools=TOOLS)
    with tools as runtime, asyncio.Runner() as runner:
        loops: Mapping[str, Loop] = {
            BASELINE: _by_openai(url),
            "pydantic-ai": _by_pydantic_ai(url),
            "Tongs": _by_tongs(runtime, url, "forecast"),
            "command": _by_tongs(runtime, url, "hi"),
        }
        works = {name: _timed(runner, answers) for name, answers in loops.items()}
        for work in works.values():
            work()
        print(json.dumps(ratios(works, BASELINE, rounds)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
