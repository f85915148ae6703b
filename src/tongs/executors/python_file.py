"""Runs one tool of a Python tool file, in an interpreter of its own."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Completed, Context, Executor, Service, World
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool, Trust
from tongs.executors.manifest import left
from tongs.executors.python import OPTIONS, answer_of, command, runner, without_answer
from tongs.executors.step import ending, failure, losses
from tongs.output import decoded, visible
from tongs.template.python_file import PythonFilePlan


def create(executors: Mapping[str, Executor]) -> PythonFileExecutor:
    return PythonFileExecutor()


@dataclass(frozen=True, slots=True)
class PythonFileExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: PythonFilePlan = tool.plan
        words = ", ".join(f"{name}={value!r}" for name, value in arguments.items())
        return visible(f"{plan.tool}({words})\n# of {plan.path}, with {plan.python}")

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool, world = context.tool, context.world
        plan: PythonFilePlan = tool.plan
        environment = {k: v for k, v in world.environment.items() if k != "TMPDIR"}
        service = Service(
            key=(tool.origin.digest, plan.python, plan.tool, *environment.items()),
            argv=(plan.python, *OPTIONS),
            program=runner(),
            environment=environment,
            cwd=world.place.start,
            opening=opening(plan, tool=plan.tool),
            request=json.dumps({"arguments": dict(arguments)}).encode(),
            timeout=left(context),
        )
        observe = without_answer(context.observe)
        completed = None
        # What its author still works on is read anew each time.
        if tool.trust in (Trust.PLACE, Trust.ACCEPTED):
            completed = await context.session.serve(service, observe)
        if completed is None:
            completed = await context.session.run(command(service, context), observe)
        return _result(completed, tool)


def opening(plan: PythonFilePlan, **more: Any) -> bytes:
    """What the runner is told first: the text of the file, as it was accepted."""
    source = decoded(plan.source)
    return json.dumps(
        {"source": source, "path": plan.path, "package": plan.package, **more}
    ).encode()


def _result(completed: Completed, tool: Tool) -> ToolResult:
    head, text = answer_of(completed)
    kind = str(head.get("answer", ""))
    warnings = [*map(str, head.get("warnings", ())), *losses(completed)]
    metadata = {"exitCode": completed.exit_code, **ending(completed), "warm": completed.warm}
    if completed.cold:
        metadata["coldBecause"] = completed.cold
    if kind not in ("text", "json", "both") or completed.exit_code != 0:
        error = _error(kind, text, completed, tool)
        return ToolResult(error=error, warnings=warnings, metadata=metadata)
    value: Any = head.get("value")
    if kind == "text":
        value = text if value else None
    elif kind == "json":
        cut = completed.stdout_size > len(completed.stdout)
        value = None if cut else json.loads(text)
        if cut:
            warnings.append("the value is not here as data, since its text was cut")
    return ToolResult(output=text, value=value, warnings=warnings, metadata=metadata)


def _error(kind: str, text: str, completed: Completed, tool: Tool) -> ToolError:
    stderr = decoded(completed.stderr).strip()[-2000:]
    if kind in ("failure", "error") and completed.exit_code == 1:
        told = json.loads(text)
        if kind == "error":
            said = f"{told.get('exceptionType')}: {told.get('message')}"
            message = f"{tool.name} cannot be run: to import {tool.origin.path} raised {said}"
            return ToolError(ErrorCode.EXECUTION_ERROR, message, details={"stderr": stderr})
        blocked = told.get("blockedBy")
        return ToolError(
            told["code"],
            told["message"],
            details={**told["details"], **({"stderr": stderr} if stderr else {})},
            blocked_by=BlockedBy(blocked) if blocked in list(BlockedBy) else None,
        )
    return failure(completed, tool.name, time="`@tool(timeout=…)` (seconds)") or ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{tool.name} ended without an answer: it did not return",
        details={"exitCode": completed.exit_code, "stderr": stderr},
        hint="something in it ended the process, such as os._exit()",
    )
