"""Runs code that a caller wrote, `shell` and `run_code`, in the sandbox like any tool.

The code is a file of the call, and its values are words and variables: nothing of it is put
together here, and nothing that a caller sends says what starts it.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence

from tongs.config.environment import forbidden_from_model
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import (
    Command,
    CommandLine,
    Completed,
    Context,
    Executor,
    Place,
    World,
)
from tongs.core.permissions import absolute, covered
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.executors.manifest import refuse_nul
from tongs.executors.step import ending, failure, losses
from tongs.executors.timing import deadline, left
from tongs.output import decoded, visible
from tongs.template.code import Code, CodePlan

_ENDINGS = {"bash": "sh", "python": "py"}


def create(executors: Mapping[str, Executor]) -> CodeExecutor:
    return CodeExecutor()


class CodeExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: CodePlan = tool.plan
        code = plan.code(arguments)
        lines = [f"cd {shlex.quote(code.cwd)}"] if code.cwd else []
        lines += [f"{name}={shlex.quote(value)}" for name, value in code.environment.items()]
        lines += [f"set -- {shlex.join(code.args)}"] if code.args else []
        return visible("\n".join([*lines, code.source.rstrip("\n")]))

    def commands(
        self, tool: Tool, arguments: Mapping[str, Any], world: World
    ) -> Sequence[CommandLine]:
        """What rules read: the text of a shell. Other languages start what nobody can tell."""
        plan: CodePlan = tool.plan
        code = plan.code(arguments)
        if code.language != "bash":
            return ()
        return (CommandLine(directory(code.cwd, world.place, tool), text=code.source, given=True),)

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: CodePlan = context.tool.plan
        code = plan.code(arguments)
        if arguments.get("background"):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{context.tool.name} was not run: a call inside another one ends with it",
                details={"parameter": "background"},
                hint="leave `background` out, or run the outer tool in the background",
            )
        refuse_names(code, context.tool)
        cwd = directory(code.cwd, context.world.place, context.tool)
        until = deadline(arguments, context, plan.timeout)
        source = code.source.encode("utf-8", "surrogatepass")
        file = context.session.write(f"{context.tool.name}.{_ENDINGS[code.language]}", source)
        command = Command(
            argv=(_interpreter(code.language, context.world), file, *code.args),
            environment={
                **context.world.environment,
                **code.environment,
                "TMPDIR": context.session.scratch,
            },
            cwd=cwd,
            stdin=context.call.input,
            timeout=left(until),
        )
        refuse_nul(command, context.tool)
        completed = await context.session.run(command, context.observe)
        return _result(completed, context.tool)


def refuse_names(code: Code, tool: Tool) -> None:
    """A variable that a program obeys before it reads its code is not a caller's to set."""
    for name, value in code.environment.items():
        if forbidden_from_model(name):
            why = "it would make the interpreter load or run something else"
        elif not name or "=" in name or "\0" in name + value:
            why = "no variable can have that name or value"
        else:
            continue
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{tool.name} was not run: `env` must not set {visible(name[:80])!r}: {why}",
            details={"parameter": "env", "variable": name},
            hint="set it in the code itself, for what the code starts",
        )


def directory(written: str, place: Place, tool: Tool) -> str:
    """Where the code starts: in the workspace, wherever links lead."""
    if not written:
        return place.start
    if "\0" in written:
        raise ToolError(ErrorCode.INVALID_PATH, "a NUL cannot stand in a working directory")
    found = os.path.realpath(absolute(written, place.root, place.home))
    if not covered(found, (os.path.realpath(place.root),)):
        raise ToolError(
            ErrorCode.INVALID_PATH,
            f"{tool.name} was not run: cwd {visible(written)!r} is outside the workspace",
            details={"path": written, "workspace": place.root},
            hint=f"give a path inside {place.root}, or one relative to it",
        )
    if not os.path.isdir(found):
        missing = not os.path.lexists(found)
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND if missing else ErrorCode.INVALID_PATH,
            f"{tool.name} was not run: cwd {visible(written)!r}"
            f" {'does not exist' if missing else 'is no directory'}",
            details={"path": written},
        )
    return found


def _interpreter(language: str, world: World) -> str:
    """The configured program, or the usual one; sh only where there is no bash."""
    if language in world.interpreters:
        return world.interpreters[language]
    if language == "python":
        return "python3"
    folders = world.environment.get("PATH", os.defpath).split(os.pathsep)
    has_bash = any(os.access(os.path.join(each, "bash"), os.X_OK) for each in folders if each)
    return "bash" if has_bash else "sh"


def _result(completed: Completed, tool: Tool) -> ToolResult:
    """The structure of seed 002, also where the code failed; the text has both streams."""
    error = failure(completed, tool.name)
    if error is not None and error.code is ErrorCode.TIMEOUT:
        error.details["hint"] = "give `timeout` more seconds"
    code = completed.exit_code
    if code is None:
        code = 128 + (completed.signal or 0)  # as a shell says it
    return ToolResult(
        output=decoded(completed.output),
        value={
            "stdout": decoded(completed.stdout),
            "stderr": decoded(completed.stderr),
            "exitCode": code,
            "duration": round(completed.duration * 1000),
        },
        error=error,
        warnings=losses(completed),
        metadata={"exitCode": completed.exit_code, **ending(completed)},
    )
