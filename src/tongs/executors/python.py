"""Calls the function of a manifest in an interpreter of its own (seed 004, `exec.python`)."""

from __future__ import annotations

import json
import os.path
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import (
    STDOUT,
    Command,
    Completed,
    Context,
    Event,
    Executor,
    Observer,
    OutputArrived,
    Service,
    World,
)
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool, Trust
from tongs.executors.manifest import TIME, directory, left
from tongs.executors.step import ending, failure, last_words, losses
from tongs.output import decoded, visible
from tongs.template import dollar
from tongs.template.manifest import PythonPlan
from tongs.template.values import ABSENT, Values

RUNNER = "python_runner.py"
# Isolated from the person's own environment and packages, and writes no byte code.
OPTIONS = ("-I", "-B", "-X", "utf8")

_source: list[bytes] = []


def create(executors: Mapping[str, Executor]) -> PythonExecutor:
    return PythonExecutor()


@dataclass(frozen=True, slots=True)
class PythonExecutor:
    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: PythonPlan = tool.plan
        args, kwargs = _given(plan, plan.names.shown(arguments))
        words = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
        call = f"{plan.module}.{plan.function}({', '.join(words)})"
        return visible(f"{call}\n# with {_interpreter(plan, world)}")

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        tool, world = context.tool, context.world
        plan: PythonPlan = tool.plan
        values = plan.names.values(arguments, world.environment)
        program = _interpreter(plan, world)
        _refuse_missing(plan, program, tool)
        args, kwargs = _given(plan, values)
        opening = {"module": plan.module, "function": plan.function, "root": plan.root}
        request = {"args": args, "kwargs": kwargs, "json": plan.json}
        environment = {k: v for k, v in world.environment.items() if k != "TMPDIR"}
        service = Service(
            # With what follows: all that a process is made of before it hears of a request.
            key=(tool.origin.digest, program, plan.module, plan.function, *environment.items()),
            argv=(program, *OPTIONS),
            program=runner(),
            environment=environment,
            cwd=directory(plan.cwd, values, context),
            # ASCII: a lone surrogate cannot be written in UTF-8, and JSON can.
            opening=json.dumps(opening).encode(),
            request=json.dumps(request).encode(),
            timeout=left(context),
        )
        observe = without_answer(context.observe)
        completed = None
        # What its author still works on, or nobody has pinned, is read anew each time.
        if tool.trust in (Trust.PLACE, Trust.ACCEPTED) and tool.origin.digest:
            completed = await context.session.serve(service, observe)
        if completed is None:
            completed = await context.session.run(command(service, context), observe)
        return _result(completed, tool)


def command(service: Service, context: Context) -> Command:
    """The same in an interpreter that is started for it, and ends with it."""
    session = context.session
    return Command(
        argv=(*service.argv, session.write(RUNNER, service.program)),
        environment={**service.environment, "TMPDIR": session.scratch},
        cwd=service.cwd,
        stdin=service.opening + b"\n" + service.request,
        timeout=left(context),
    )


def _given(plan: PythonPlan, values: Values) -> tuple[list[Any], dict[str, Any]]:
    """The arguments. Every position stays what it is, so an absent one is None there."""
    args = [dollar.filled(each, values) for each in plan.args]
    kwargs: dict[str, Any] = dollar.filled(plan.kwargs, values)
    return [None if each is ABSENT else each for each in args], kwargs


def _interpreter(plan: PythonPlan, world: World) -> str:
    """Of the environment it names, or else as for every Python script."""
    if plan.venv is not None:
        return os.path.join(plan.venv, "bin", "python")
    return world.interpreters.get("python", "python3")


def _refuse_missing(plan: PythonPlan, program: str, tool: Tool) -> None:
    if plan.venv is None or os.access(program, os.X_OK):
        return
    lacking = "it has no bin/python" if os.path.isdir(plan.venv) else "it does not exist"
    raise ToolError(
        ErrorCode.FILE_NOT_FOUND,
        f"{tool.name} was not run: its virtual environment {visible(plan.venv)} cannot be used,"
        f" {lacking}",
        details={"venv": plan.venv},
        hint=f"python3 -m venv {visible(plan.venv)}, or another `venv` in {tool.origin.path}",
    )


def runner() -> bytes:
    """The program that calls a function in the tool's own interpreter."""
    if not _source:
        with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), RUNNER), "rb") as file:
            _source.append(file.read())
    return _source[0]


def without_answer(observe: Observer) -> Observer:
    """Live output is what the tool prints; the answer comes whole, in the result."""

    def watch(event: Event) -> None:
        if not isinstance(event, OutputArrived) or event.stream != STDOUT:
            observe(event)

    return watch


def _result(completed: Completed, tool: Tool) -> ToolResult:
    head, text = answer_of(completed)
    kind = str(head.get("answer", ""))
    cut = completed.stdout_size > len(completed.stdout)
    error = _error(kind, text, completed, tool)
    value: Any = None
    warnings = losses(completed)
    if error is not None:
        text = ""
    elif kind == "text":
        value = text
    elif cut:
        warnings.append("the value is not here as data, since its text was cut")
    else:
        value = json.loads(text)
    metadata = {"exitCode": completed.exit_code, **ending(completed), "warm": completed.warm}
    if completed.cold:
        metadata["coldBecause"] = completed.cold
    return ToolResult(output=text, value=value, error=error, warnings=warnings, metadata=metadata)


def answer_of(completed: Completed) -> tuple[Mapping[str, Any], str]:
    """What the runner said, and what it said about that; nothing where it said nothing."""
    line, newline, body = completed.stdout.partition(b"\n")
    try:
        head = json.loads(line.decode()) if newline else {}
    except ValueError:
        head = {}
    return head if isinstance(head, dict) else {}, decoded(body)


def _error(kind: str, text: str, completed: Completed, tool: Tool) -> ToolError | None:
    if kind in ("json", "text") and completed.exit_code == 0:
        return None
    if kind == "error" and completed.exit_code == 1:
        return _told(json.loads(text), completed, tool)
    plan: PythonPlan = tool.plan
    return failure(completed, tool.name, time=TIME) or ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{tool.name} ended without an answer: {plan.module}.{plan.function} did not return",
        details={"exitCode": completed.exit_code, "stderr": last_words(completed)},
        hint="something in it ended the process, such as os._exit()",
    )


def _told(facts: Mapping[str, Any], completed: Completed, tool: Tool) -> ToolError:
    plan: PythonPlan = tool.plan
    name, where = tool.name, facts["where"]
    said = f"{facts.get('exceptionType')}: {facts.get('message')}".rstrip(": ")
    if where == "call":
        message, hint = f"{name} raised {said}", ""
    elif where == "import":
        message = f"{name} cannot be run: to import {plan.module} raised {said}"
        hint = _import_hint(facts, plan, tool)
    elif where == "function":
        lack = "is no function" if facts["exists"] else "does not exist"
        message = f"{name} cannot be run: {plan.module}.{plan.function} {lack}"
        others = ", ".join(facts["others"])
        hint = f"`function` names one of {others}" if others else f"define it in {plan.module}"
    elif where == "exit":
        message = f"{name} ended itself with sys.exit({facts['code']!r}) instead of returning"
        hint = "return a value, or raise an exception"
    else:
        asked = "be JSON" if plan.json else "be text"
        message = f"{name} returned what cannot {asked}: {facts['type']} ({facts['reason']})"
        hint = "return dicts, lists, texts, numbers, booleans or None"
        hint += ", or write `return: text`" if plan.json else ""
    shown = {key: value for key, value in facts.items() if key not in ("where", "message")}
    stderr = last_words(completed)
    details = {"where": where, **shown, "exitCode": completed.exit_code, "stderr": stderr}
    return ToolError(ErrorCode.EXECUTION_ERROR, message, details=details, hint=hint)


def _import_hint(facts: Mapping[str, Any], plan: PythonPlan, tool: Tool) -> str:
    missing = facts.get("missingModule")
    if not missing:
        return ""
    stem = os.path.join(plan.root, *str(missing).split("."))
    beside = next((path for path in (f"{stem}.py", stem) if os.path.exists(path)), None)
    if beside is not None:
        path = os.path.relpath(beside, plan.root)
        return f"it may not read {beside}: add {path} to permissions.fs.read in {tool.origin.path}"
    top = str(missing).partition(".")[0]
    if plan.venv is None:
        return f"name an environment that has {top} with `venv` in {tool.origin.path}"
    return f"{os.path.join(plan.venv, 'bin', 'python')} -m pip install {top}"
