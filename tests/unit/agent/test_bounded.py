"""How long is waited for the pieces of an answer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tongs.agent.bounded import Listening, patience
from tongs.agent.model_errors import Words
from tongs.config.settings import ModelConfig
from tongs.core.conversation import ModelFailed

WORDS = Words("mine", ModelConfig("ollama", "m", "http://127.0.0.1:1/v1"), str)


@dataclass
class Part:
    content: str = ""
    tool_name: str = ""
    args_delta: str = ""
    signature_delta: str = ""


@dataclass
class Event:
    delta: Part


def heard(parts: list[Part], *, each_after: float, held_for: float = 0.0) -> list[Part]:
    """What comes of an answer whose parts come so many seconds apart, with a patience of one
    second, if whoever takes one does something with it for a while. No time really passes."""

    async def coming(pass_by: Callable[[float], None]) -> AsyncIterator[Event]:
        for part in parts:
            pass_by(each_after)
            await asyncio.sleep(0)
            yield Event(part)

    async def listen() -> list[Part]:
        loop: Any = asyncio.get_running_loop()
        now = loop.time()

        def pass_by(seconds: float) -> None:
            nonlocal now
            now += seconds

        loop.time = lambda: now
        listening, events, taken = Listening(1.0, WORDS), coming(pass_by), []
        while (event := await listening.next(events)) is not None:
            taken.append(event.delta)
            pass_by(held_for)
        return taken

    return asyncio.run(listen())


@pytest.mark.parametrize(
    "part",
    [Part(content="x"), Part(tool_name="x"), Part(args_delta="x"), Part(signature_delta="x")],
)
def test_a_slow_answer_is_waited_for(part: Part) -> None:
    assert heard([part] * 9, each_after=0.9) == [part] * 9


def test_pieces_that_say_nothing_give_no_more_time() -> None:
    with pytest.raises(ModelFailed, match="nothing of an answer for 1s"):
        heard([Part(content="x"), *[Part()] * 9], each_after=0.4)


def test_who_takes_long_with_a_piece_takes_no_time_from_the_next() -> None:
    parts = [Part(content="x")] * 3
    assert heard(parts, each_after=0.9, held_for=60) == parts


def test_a_timeout_of_somebody_else_stays_one() -> None:
    async def late() -> None:
        raise TimeoutError

    with pytest.raises(TimeoutError):
        asyncio.run(Listening(1.0, WORDS).wait_for(late()))


@pytest.mark.parametrize(
    ("settings", "seconds"),
    [
        ({}, 1800.0),
        ({"timeout": 5}, 1800.0),
        ({"timeout": 7200.0}, 7200.0),
        ({"timeout": 7200.0, "content_timeout": 60.0}, 60.0),
    ],
)
def test_the_patience_of_the_settings(settings: dict[str, float], seconds: float) -> None:
    assert patience(settings) == seconds
