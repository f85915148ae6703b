"""The whole pipeline around a function, against the least that could be done by hand."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema_rs

from bench.measuring import instructions, ratios, repeated
from bench.rows import Row
from bench.world import World
from tongs import Caller, CallerKind, Permissions, Runtime, Tool, ToolCall, ToolResult
from tongs.core.driving import drive
from tongs.core.parts import Door, Parts
from tongs.core.record import replace
from tongs.pipeline import run
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter

SECTION = "In process, multiples of json.loads + jsonschema-rs + call + json.dumps"
REFERENCE = "by hand"
CALLS = 300
COUNTED = 500

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "minLength": 1},
        "days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 3},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
    },
    "required": ["city", "unit"],
    "additionalProperties": False,
}
ARGUMENTS = '{"city": "Zürich", "days": 5, "unit": "celsius"}'


async def forecast(city: str, days: int, unit: str) -> dict[str, Any]:
    return {"city": city, "forecast": [20 + day for day in range(days)], "unit": unit}


def forecast_now(city: str, days: int, unit: str) -> dict[str, Any]:
    return {"city": city, "forecast": [20 + day for day in range(days)], "unit": unit}


def _tool(name: str, function: Callable[..., Any]) -> Tool:
    return Tool(
        name,
        "The weather of the coming days",
        input_schema=SCHEMA,
        tags=("read",),
        permissions=Permissions(),
        execute=lambda arguments: function(**arguments),
    )


TOOLS = (_tool("forecast", forecast), _tool("forecast_now", forecast_now))


@dataclass(frozen=True)
class Subjects:
    """One call each, ready to be repeated."""

    by_hand: Callable[[], Coroutine[Any, Any, str]]
    in_loop: Callable[[], Coroutine[Any, Any, ToolResult]]
    in_sync: Callable[[], ToolResult]
    refused: Callable[[], ToolResult]
    unrecorded: Callable[[], ToolResult]


class NoAudit:
    """What the records of a call cost is seen without them."""

    def asked(self, *anything: Any) -> None:
        """Nothing."""

    answered = began = asked

    def ended(self, *anything: Any, started: bool) -> list[str]:
        return []


@contextmanager
def subjects(project: str) -> Iterator[Subjects]:
    validator = jsonschema_rs.Draft202012Validator(SCHEMA)

    async def by_hand() -> str:
        arguments = json.loads(ARGUMENTS)
        validator.validate(arguments)
        return json.dumps(await forecast(**arguments))

    with Runtime.open(project, auto_approve=["tool:read"], tools=TOOLS) as runtime:
        loop_door, sync_door = Door(waiter=LoopWaiter()), Door(waiter=BlockingWaiter())

        recorded = runtime._parts  # noqa: SLF001 - the same without its record, to compare
        without = replace(recorded, audit=NoAudit())

        async def through(
            name: str, arguments: str, door: Door, parts: Parts = recorded
        ) -> ToolResult:
            call = ToolCall("bench", name, json.loads(arguments), _AGENT)
            return await run(call, parts, door)

        def in_sync(arguments: str) -> ToolResult:
            return drive(through("forecast_now", arguments, sync_door))

        answer = in_sync(ARGUMENTS)
        if json.loads(answer.output) != json.loads(drive(by_hand())):
            raise RuntimeError(f"the pipeline answers otherwise: {answer}")
        yield Subjects(
            by_hand,
            lambda: through("forecast", ARGUMENTS, loop_door),
            lambda: in_sync(ARGUMENTS),
            lambda: in_sync(ARGUMENTS.replace("celsius", "kelvin")),
            lambda: drive(through("forecast_now", ARGUMENTS, sync_door, without)),
        )


def rows(world: World, rounds: int, *, count_instructions: bool) -> Iterator[Row]:
    with subjects(world.project) as subject:
        loop = asyncio.new_event_loop()
        works = {
            REFERENCE: in_loop(loop, subject.by_hand),
            "async": in_loop(loop, subject.in_loop),
            "sync": repeated(subject.in_sync, CALLS),
            "refused": repeated(subject.refused, CALLS),
            "unrecorded": repeated(subject.unrecorded, CALLS),
        }
        for work in works.values():
            work()
        measured = ratios(works, REFERENCE, rounds)
        loop.close()
    counted = _counted(world) if count_instructions else None
    note = "validated, decided, two records chained, one line copied"
    yield Row(SECTION, "async tool", measured["async"], "x", 10, 3, note=note)
    yield Row(SECTION, "sync call, no thread", measured["sync"], "x", 10, 3, instructions=counted)
    yield Row(SECTION, "arguments refused", measured["refused"])
    yield Row(SECTION, "sync call, not recorded", measured["unrecorded"])
    share = measured["sync"] / measured["unrecorded"]
    yield Row(SECTION, "audit: a call with its records, against one without", share)


def _counted(world: World) -> float | None:
    def of(way: str) -> int | None:
        """What COUNTED more calls add."""
        program = [sys.executable, "-m", "bench.pipeline", world.project, way]
        here = str(Path(__file__).parent.parent)
        few = instructions([*program, "1"], world.environment, here)
        many = instructions([*program, str(1 + COUNTED)], world.environment, here)
        return None if few is None or many is None else many - few

    by_hand, in_sync = of(REFERENCE), of("sync")
    return None if by_hand is None or in_sync is None else in_sync / by_hand


_AGENT = Caller(CallerKind.AGENT, "bench")


def in_loop(loop: asyncio.AbstractEventLoop, work: Callable[[], Any]) -> Callable[[], float]:
    async def many() -> None:
        for _ in range(CALLS):
            await work()

    once = repeated(lambda: loop.run_until_complete(many()), 1)
    return lambda: once() / CALLS


def _repeat(project: str, way: str, times: int) -> None:
    with subjects(project) as subject:
        for _ in range(times):
            if way == REFERENCE:
                drive(subject.by_hand())
            else:
                subject.in_sync()


if __name__ == "__main__":
    _repeat(sys.argv[1], sys.argv[2], int(sys.argv[3]))
