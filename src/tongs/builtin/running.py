"""Runs one of our own small programs in the sandbox of the call."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Mapping

from tongs.builtin.trouble import out_of_time, stuck
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Context
from tongs.core.permissions import SYSTEM_FOLDERS, covered
from tongs.output import decoded

# Isolated, without site packages, and writes no byte code.
_OPTIONS = ("-I", "-S", "-B", "-X", "utf8")

_sources: dict[str, bytes] = {}


def interpreter_parts() -> tuple[str, ...]:
    """What lies around the interpreter that runs Tongs, where the sandbox would not show it."""
    base = os.path.realpath(sys.base_prefix)
    return () if covered(base, SYSTEM_FOLDERS) else (base,)


def _interpreter() -> str:
    # That of an environment is a link to it, and here nothing of the environment is needed.
    return os.path.realpath(sys.executable)


async def ask(
    program: str,
    request: Mapping[str, Any],
    context: Context,
    more: bytes = b"",
    *,
    expression: str = "",
) -> Any:
    """What a program answers to a request; `more` follows it on its standard input.

    `expression` names the argument with a regular expression, which may not come to an end.
    """
    tried = request.get(expression) or ""
    session = context.session
    left = None if context.deadline is None else max(0.0, context.deadline - time.monotonic())
    command = Command(
        argv=(
            _interpreter(),
            *_OPTIONS,
            session.write(program, _source(program)),
        ),
        environment={**context.world.environment, "TMPDIR": session.scratch},
        cwd=context.world.place.root,
        stdin=json.dumps(request).encode() + b"\n" + more,
        timeout=left,
    )
    done = await session.run(command, lambda event: None)
    if done.timed_out:
        raise out_of_time(context.tool.name, expression if tried else "")
    if done.exit_code != 0:
        said = decoded(done.stderr).strip()
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{context.tool.name} failed: {said.splitlines()[-1] if said else done.exceeded}",
            details={"exitCode": done.exit_code, "stderr": said[-2000:]},
        )
    answer = json.loads(done.stdout)
    if "stuck" in answer:
        raise stuck(context.tool.name, expression, tried, answer["stuck"])
    return answer


def _source(program: str) -> bytes:
    if program not in _sources:
        path = os.path.join(os.path.dirname(os.path.abspath(__file__)), program)
        with open(path, "rb") as file:
            _sources[program] = file.read()
    return _sources[program]
