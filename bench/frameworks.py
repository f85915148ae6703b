"""One small tool called through Tongs and through what people use instead, in the same process.

The frameworks live in an environment of their own (`make agents`), so this runs there as a program
of its own and prints what it measured.
"""

# ruff: noqa: PLC0415 - the frameworks are there only where this runs as a program

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from bench.measuring import ratios
from bench.pipeline import ARGUMENTS, REFERENCE, forecast, in_loop, subjects
from bench.rows import Row
from bench.world import World

ROOT = Path(__file__).parent.parent
PYTHON = ROOT / ".venv" / "agents" / "bin" / "python"
SECTION = "One tool call in process, multiples of json.loads + jsonschema-rs + call + json.dumps"
NAMES = {
    "a plain call": "the function itself, nothing checked",
    "Tongs": "validated, decided, audit record appended",
    "pydantic-ai": "ToolManager.handle_call",
    "FastMCP": "server.call_tool, without a connection",
}
_MISSING = "not here; make agents"

Work = Callable[[], Coroutine[Any, Any, Any]]


def rows(world: World, rounds: int) -> Iterator[Row]:
    found = _measured(world, rounds)
    for name, note in NAMES.items():
        value = found.get(name)
        yield Row(SECTION, name, value, note=note if value is not None else _MISSING)


def _measured(world: World, rounds: int) -> dict[str, float]:
    if not PYTHON.exists():
        return {}
    done = subprocess.run(
        [str(PYTHON), "-m", "bench.frameworks", world.project, str(rounds)],
        cwd=ROOT,
        env=world.environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _pydantic_ai() -> Work:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage

    toolset: Any = FunctionToolset([forecast])
    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage(), run_step=1)
    made: list[Any] = []

    async def call() -> Any:
        if not made:
            made.append(await ToolManager(toolset).for_run_step(context))
        part = ToolCallPart(tool_name="forecast", args=ARGUMENTS, tool_call_id="1")
        return json.dumps(await made[0].handle_call(part))

    return call


def _fastmcp() -> Work:
    from fastmcp import FastMCP

    server: Any = FastMCP("bench")
    server.tool(forecast)

    async def call() -> Any:
        return await server.call_tool("forecast", json.loads(ARGUMENTS))

    return call


def main(project: str, rounds: int) -> None:
    loop = asyncio.new_event_loop()
    arguments = json.loads(ARGUMENTS)

    async def plain() -> Any:
        return await forecast(**arguments)

    with subjects(project) as subject:
        works = {
            REFERENCE: subject.by_hand,
            "a plain call": plain,
            "Tongs": subject.in_loop,
            "pydantic-ai": _pydantic_ai(),
            "FastMCP": _fastmcp(),
        }
        timed = {name: in_loop(loop, work) for name, work in works.items()}
        for work in timed.values():
            work()
        print(json.dumps(ratios(timed, REFERENCE, rounds)))
    loop.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
