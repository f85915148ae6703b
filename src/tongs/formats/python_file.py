"""A Python file whose functions with `@tool` and BaseTools are tools (seeds 001 and 002)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import replace
from tongs.core.tool import Origin, Tool, Trust
from tongs.formats.executable import Defaults, Described
from tongs.formats.executable import load as load_described
from tongs.formats.manifest_python import around
from tongs.template.python_file import PythonFilePlan

EXECUTOR = "python_file"


def unknown(name: str, origin: Origin, data: bytes) -> Tool:
    """A file that nobody has trusted: it was not imported, so nobody knows what is in it."""
    return Tool(
        name=name,
        executor=EXECUTOR,
        plan=_plan(name, origin, data),
        origin=origin,
        trust=Trust.UNTRUSTED,
    )


def load(said: Sequence[Mapping[str, Any]], origin: Origin, data: bytes) -> list[Tool]:
    """Every tool of the file. Raises DefinitionInvalid."""
    if not said:
        raise DefinitionInvalid(
            [
                Problem(
                    origin.path,
                    "it defines no tool",
                    hint="put @tool on a function (from tongs import tool), or write a BaseTool",
                )
            ]
        )
    return [_tool(each, origin, data) for each in said]


def _tool(said: Mapping[str, Any], origin: Origin, data: bytes) -> Tool:
    tool = load_described(Described(said), origin, b"", Defaults())
    timeout = said.get("timeout")
    return replace(
        tool,
        executor=EXECUTOR,
        plan=_plan(tool.name, origin, data),
        timeout=float(timeout) if isinstance(timeout, int | float) else None,
        origin=replace(origin, member=tool.name),
        parts=(),
        programs=programs(),
    )


def interpreter() -> tuple[str, str]:
    """The Python that has Tongs, which such a file imports, and where the package lies."""
    python = os.path.join(os.path.realpath(sys.prefix), "bin", "python3")
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return python, os.path.realpath(package)


def programs() -> tuple[str, ...]:
    """What that interpreter reads: it may be in an environment, and the package beside it."""
    return (*around(os.path.realpath(sys.prefix)), interpreter()[1])


def _plan(name: str, origin: Origin, data: bytes) -> PythonFilePlan:
    return PythonFilePlan(os.path.realpath(origin.path), data, name, *interpreter())
