"""One step of a YAML tool that starts a process: its world, its run, its result."""

from __future__ import annotations

import os.path
import time
from collections.abc import Callable, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import UNKNOWN_PART, Command, CommandLine, Completed, Context, World
from tongs.core.permissions import Permissions, covered
from tongs.core.record import dataclass, field
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import decoded, visible
from tongs.policy.permissions import working_directory
from tongs.template.plan import Plan, Process, Script, Step
from tongs.template.values import ABSENT, ValueRefused, Values, utf8

# Stands for what an earlier step will have printed, where rules read a later one.
UNKNOWN_OUTPUT = "tongs-unknown-output"

_SHELLS = frozenset({"bash", "sh", "dash", "ash", "zsh", "ksh", "mksh"})

# As much of stderr as helps a reader of an error message; the whole is in the metadata.
_ERROR_TAIL = 2000


@dataclass(frozen=True, slots=True)
class FileOf:
    """Stands for the path of one of `Prepared.files`; no value of a caller can equal it."""

    name: str


@dataclass(frozen=True, slots=True)
class Prepared:
    """What an executor made of a step."""

    argv: tuple[str | FileOf, ...]
    files: Mapping[str, bytes] = field(default_factory=dict)
    environment: Mapping[str, str | FileOf] = field(default_factory=dict)
    # For a person: the text that will run.
    preview: str = ""


Prepare = Callable[[Step, Values, World], Prepared]


@dataclass(frozen=True, slots=True)
class StepExecutor:
    """An executor for tools of a single step; `prepare` says what its kind of step starts."""

    prepare: Prepare

    def preview(self, tool: Tool, arguments: Mapping[str, Any], world: World) -> str:
        plan: Plan = tool.plan
        return self.preview_step(plan.steps[0], plan.values(arguments), world)

    def commands(
        self, tool: Tool, arguments: Mapping[str, Any], world: World
    ) -> Sequence[CommandLine]:
        plan: Plan = tool.plan
        return self.step_commands(plan.steps[0], plan.values(arguments), tool, world)

    def step_commands(
        self, step: Step, values: Values, tool: Tool, world: World
    ) -> Sequence[CommandLine]:
        """What a step runs, where a shell or the kernel reads it; other languages are not told."""
        with refused_values_named(step):
            prepared = self.prepare(step, values, world)
            cwd = _start(tool.plan, step, values, tool, world)
        given = bool(tool.raw_parameters)
        if isinstance(step.action, Process):
            argv = tuple(word for word in prepared.argv if isinstance(word, str))
            words = tuple(UNKNOWN_PART if UNKNOWN_OUTPUT in word else word for word in argv)
            return (CommandLine(cwd, argv=words, given=given),) if words else ()
        if isinstance(step.action, Script) and (shell := _shell(step.action)) in _SHELLS:
            # Inside of quotes, since values are bound by a quoted text.
            text = prepared.preview.replace(UNKNOWN_OUTPUT, "'\"$__unknown\"'")
            return (CommandLine(cwd, text=text, given=given, shell=shell),)
        return ()

    async def execute(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        plan: Plan = context.tool.plan
        step = plan.steps[0]
        completed = await self.run_step(step, plan.values(arguments), context)
        return result_of(completed, context.tool)

    def preview_step(self, step: Step, values: Values, world: World) -> str:
        with refused_values_named(step):
            prepared = self.prepare(step, values, world)
        text = visible(prepared.preview)
        if step.input is not None:
            given = step.input.render(values)
            text += f"\n# stdin: {visible(given if isinstance(given, str) else '')!r}"
        return text

    async def run_step(self, step: Step, values: Values, context: Context) -> Completed:
        plan: Plan = context.tool.plan
        with refused_values_named(step):
            prepared = self.prepare(step, values, context.world)
            environment = _environment(plan, step, values, context)
            cwd = _directory(plan, step, values, context)
            stdin = _stdin(step, values, context)
        written = {
            name: context.session.write(f"{step.name}.{name}", data)
            for name, data in prepared.files.items()
        }

        def placed(word: str | FileOf) -> str:
            return written[word.name] if isinstance(word, FileOf) else word

        command = Command(
            argv=tuple(placed(word) for word in prepared.argv),
            environment={
                **environment,
                **{name: placed(value) for name, value in prepared.environment.items()},
            },
            cwd=cwd,
            stdin=stdin,
            timeout=_remaining(step, context),
        )
        return await context.session.run(command, context.observe)


def _shell(script: Script) -> str:
    return os.path.basename(script.command[0]) if script.command else script.shell


def _start(plan: Plan, step: Step, values: Values, tool: Tool, world: World) -> str:
    """Where it would start, whether it may or not."""
    template = step.working_directory or plan.working_directory
    given = ABSENT if template is None else template.render(values)
    if not isinstance(given, str) or not given or "\0" in given:
        return world.place.start
    return working_directory(given, tool, world.place)


class refused_values_named:  # noqa: N801 - reads as a statement: with refused_values_named(step)
    """Turns a value that a template cannot carry into INVALID_ARGUMENTS."""

    def __init__(self, step: Step) -> None:
        self._step = step

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, ValueRefused):
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"{self._step.name} was not run: {error.name} {error.reason}",
                details={"parameter": error.name, "step": self._step.name},
            ) from None


def result_of(completed: Completed, tool: Tool) -> ToolResult:
    """stdout is the result; stderr and how the process ended go beside it."""
    metadata = {"exitCode": completed.exit_code, **ending(completed)}
    error = failure(completed, tool.name)
    value, warnings = structured(completed, tool)
    return ToolResult(
        output=decoded(completed.stdout),
        value=value,
        error=error,
        # Who failed has broken no promise about its output.
        warnings=[*losses(completed), *(warnings if error is None else ())],
        metadata=metadata,
    )


def failure(
    completed: Completed, subject: str, *, time: str = "`timeout:` (milliseconds)"
) -> ToolError | None:
    """What a failed process means, in words; None if it succeeded.

    `time` is where its author says how long it may take.
    """
    tail = last_words(completed)
    details: dict[str, Any] = {"exitCode": completed.exit_code, "stderr": tail}
    said = f": {tail}" if tail else ""
    if completed.timed_out:
        return ToolError(
            ErrorCode.TIMEOUT,
            f"{subject} did not finish within {completed.duration:.3g} s"
            f" and was stopped with everything it had started{said}",
            details=details,
            hint=f"give it more time with --timeout or {time}",
        )
    if completed.exceeded:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{subject} was stopped: its processes together passed limits.{completed.exceeded}"
            f"{said}",
            details={**details, "exceeded": completed.exceeded},
            hint=f"raise `limits: {{{completed.exceeded}: …}}` if it needs more",
        )
    if completed.signal is not None:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{subject} was ended by {_signal_name(completed.signal)}{said}",
            details={**details, "signal": completed.signal},
        )
    if completed.exit_code:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{subject} failed with exit code {completed.exit_code}{said}",
            details=details,
        )
    return None


def last_words(completed: Completed) -> str:
    """The end of what it wrote to stderr, for an error."""
    text = decoded(completed.stderr).strip()
    if completed.redactor is not None:
        text = completed.redactor.text(text)
    return text[-_ERROR_TAIL:]


def ending(completed: Completed) -> dict[str, Any]:
    """The metadata every process leaves, beyond its exit code."""
    found: dict[str, Any] = {"stderr": decoded(completed.stderr)}
    if completed.signal is not None:
        found["signal"] = completed.signal
    if completed.timed_out:
        found["timedOut"] = True
    if completed.spool is not None:
        found["outputHandle"] = completed.spool
        found["outputSize"] = completed.stdout_size + completed.stderr_size
    return found


def losses(completed: Completed) -> list[str]:
    held = len(completed.stdout) + len(completed.stderr)
    written = completed.stdout_size + completed.stderr_size
    return [cut(held, written, completed.spool, completed.lost)] if written > held else []


def cut(held: int, written: int, handle: str | None, lost: int) -> str:
    """Says that of an output only the beginning is here."""
    whole = f", the whole is kept as {handle}" if handle else ""
    rest = f"; {lost} bytes were lost" if lost else ""
    return f"the output was cut: {held} of {written} bytes are here{whole}{rest}"


def structured(completed: Completed, tool: Tool) -> tuple[Any, list[str]]:
    """The output as data, where the tool promises some, and what is wrong with it."""
    if tool.output_schema is None:
        return None, []
    from tongs.executors.json_output import promised  # noqa: PLC0415 - few tools promise it

    return promised(completed)


def _environment(plan: Plan, step: Step, values: Values, context: Context) -> dict[str, str]:
    """The base, then the tool's own entries, then the step's; each sees those before it."""
    environment = {**context.world.environment, "TMPDIR": context.session.scratch}
    for entries in (plan.environment, step.environment):
        added = {
            name: template.render(values, environment=environment) for name, template in entries
        }
        environment.update({n: v for n, v in added.items() if isinstance(v, str)})
    return environment


def _directory(plan: Plan, step: Step, values: Values, context: Context) -> str:
    place = context.world.place
    template = step.working_directory or plan.working_directory
    given = ABSENT if template is None else template.render(values)
    if not isinstance(given, str) or not given:
        return place.start
    if "\0" in given:
        raise ToolError(ErrorCode.INVALID_PATH, "a NUL cannot stand in a working directory")
    directory = working_directory(given, context.tool, place)
    if directory != place.start:
        _keep_inside(directory, context)
    if not os.path.isdir(directory):
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND,
            f"the working directory {directory} of {context.tool.name} does not exist",
            hint="create it, or change `working-directory`",
        )
    return directory


def _keep_inside(directory: str, context: Context) -> None:
    """Links are followed first, then it must be granted, whoever chose it."""
    real = os.path.realpath(directory)
    if covered(real, map(os.path.realpath, context.permissions.readable)):
        return
    from tongs.policy.grants import refused  # noqa: PLC0415 - only for the message

    raise refused(
        ErrorCode.INVALID_PATH,
        f"may not work in {visible(directory)}",
        Permissions(read=(real,)),
        context.permissions.readable,
        context,
    )


def _stdin(step: Step, values: Values, context: Context) -> bytes:
    if step.input is None:
        return context.call.input
    # `input` gets a step's output whole, with the final newline that references lose.
    whole = {**values, **context.whole_outputs}
    given = step.input.render(whole)
    return utf8(given) if isinstance(given, str) else b""


def _remaining(step: Step, context: Context) -> float | None:
    left = None if context.deadline is None else max(0.0, context.deadline - time.monotonic())
    bounds = [bound for bound in (left, step.timeout) if bound is not None]
    return min(bounds, default=None)


def _signal_name(number: int) -> str:
    import signal  # noqa: PLC0415 - only for the message

    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
