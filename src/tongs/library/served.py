"""A Python tool file in a process of its own: what `executors/python_runner.py` calls there."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from types import ModuleType

from tongs.core.annotations import Any
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.library.answers import error_of, result_of
from tongs.library.calling import function_of
from tongs.library.members import description, members

# No module that a tool imports can have this name.
MODULE = "tongs tool file"


def load(source: str, path: str) -> ModuleType:
    """The module of this text, as if it had been read from `path`."""
    module = ModuleType(MODULE)
    module.__file__ = path
    # Where type hints and data classes look for the names that a class uses.
    sys.modules[MODULE] = module
    exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    return module


def described(module: ModuleType) -> list[dict[str, Any]]:
    return [description(tool) for tool in members(module).values()]


def member(module: ModuleType, name: str) -> Tool:
    return members(module)[name]


def answered(tool: Tool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """What came of a call: a line about it, and the text of its output or of its error."""
    try:
        answer = function_of(tool)(arguments)
        if hasattr(answer, "__await__"):
            import asyncio  # noqa: PLC0415 - costs more than most functions take

            answer = asyncio.run(_awaited(answer))
        result = result_of(answer)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the code of a tool may raise anything
        result = ToolResult(error=error_of(error, tool.name))
    return _written(result)


async def _awaited(value: Any) -> Any:
    """asyncio.run takes a coroutine only."""
    return await value


def _written(result: ToolResult) -> tuple[dict[str, Any], str]:
    head: dict[str, Any] = {}
    if result.warnings:
        head["warnings"] = list(map(str, result.warnings))
    if result.error is not None:
        # `default`: the details of an error are for reading.
        return {**head, "answer": "failure"}, json.dumps(result.error.to_wire(), default=str)
    if result.value is None or result.value == result.output:
        return {**head, "answer": "text", "value": result.value is not None}, result.output
    text = json.dumps(result.value, ensure_ascii=False)
    if text == result.output:
        return {**head, "answer": "json"}, text
    return {**head, "answer": "both", "value": result.value}, result.output
