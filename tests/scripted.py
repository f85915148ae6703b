"""A model that says what a test has written down, for models cost money and say what they like."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from tongs.core.conversation import (
    CallMade,
    Finished,
    Message,
    ModelEvent,
    ModelFailed,
    ModelSaid,
    TextArrived,
    ThinkingArrived,
    Usage,
)

# A turn is the text, a failure, the calls as (name, arguments), or a whole list of events.
Turn = str | ModelFailed | Sequence[tuple[str, Any] | ModelEvent | ModelFailed]
HANG = "…hangs…"


class Scripted:
    """`asked` keeps what it was given each time; `closed` counts the requests that were ended."""

    name = "scripted"
    form = "openai"
    instructions = "be brief"

    def __init__(self, *turns: Turn) -> None:
        self._turns = list(turns)
        self.asked: list[tuple[tuple[Message, ...], list[str], str]] = []
        self.waiting = asyncio.Event()
        self.closed = 0

    async def stream(
        self, messages: Sequence[Message], tools: Sequence[Mapping[str, Any]], instructions: str
    ) -> AsyncIterator[ModelEvent]:
        names = [tool["function"]["name"] for tool in tools]
        self.asked.append((tuple(messages), names, instructions))
        turn = self._turns.pop(0)
        try:
            if isinstance(turn, ModelFailed):
                raise turn
            if isinstance(turn, str):
                for word in turn.split(" "):
                    if word == HANG:
                        self.waiting.set()
                        await asyncio.Event().wait()
                    yield TextArrived(word)
                yield Finished(ModelSaid(turn, (), Usage(10, 2), self.name))
                return
            if turn and isinstance(turn[0], tuple):
                yield ThinkingArrived("hm")
                yield Finished(self._calls(turn), "calls")
                return
            for event in turn:
                if isinstance(event, ModelFailed):
                    raise event
                assert not isinstance(event, tuple)
                yield event
        finally:
            self.closed += 1

    def load(self) -> None:
        """Nothing takes long."""

    async def aclose(self) -> None:
        """It has no connections."""

    def _calls(self, turn: Sequence[Any]) -> ModelSaid:
        number = len(self.asked)
        made = [
            CallMade(f"c{number}.{at}", name, given)
            if isinstance(given, dict)
            else CallMade(f"c{number}.{at}", name, None, given, "the arguments are no JSON")
            for at, (name, given) in enumerate(turn)
        ]
        return ModelSaid("", tuple(made), Usage(10, 2), self.name)
