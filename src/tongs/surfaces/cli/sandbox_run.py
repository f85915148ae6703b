"""`tongs sandbox run`: a program under permissions given by hand."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.live import Live
from tongs.surfaces.cli.parser import Parser, UsageError
from tongs.surfaces.cli.tool_run import end_as_if_interrupted, timeout_of

if TYPE_CHECKING:
    from tongs.core.network import Network
    from tongs.runtime.trying import Trial

# As `timeout` ends, and as a shell tells of a signal or a program that is not there.
TIMED_OUT = 124
NOT_STARTED = 127
SIGNALLED = 128


def options(parser: Parser) -> None:
    parser.add_argument("--read", action="append", default=[], metavar="PATH")
    parser.add_argument("--write", action="append", default=[], metavar="PATH")
    parser.add_argument("--scratch", action="append", default=[], metavar="PATH")
    parser.add_argument("--network", action="store_true", default=None)
    parser.add_argument("--no-network", action="store_true")
    parser.add_argument("--host", action="append", default=[], metavar="HOST")
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]")
    parser.add_argument("--memory", metavar="SIZE")
    parser.add_argument("--processes", metavar="NUMBER")
    parser.add_argument("--timeout", metavar="MILLISECONDS")
    parser.add_argument("--json", action="store_true")
    parser.take_command()


def run(invocation: Invocation) -> int:
    trial = _trial(invocation.options)
    live = Live(invocation.console, stream=not invocation.options.json, every_step=False)
    result = _tried(invocation, trial, live)
    if invocation.options.json:
        invocation.console.data(failure.result_json(result.to_wire()))
    else:
        _show(invocation, result, live)
    return _exit_code(result)


def _trial(options: Any) -> Trial:
    from tongs.runtime.trying import Trial, granted_environment

    if not options.command:
        raise _wrong("the command is missing", "tongs sandbox run --read . -- ls -l")
    return Trial(
        command=tuple(options.command),
        permissions=Permissions(
            network=_network(options),
            read=_paths("--read", options.read),
            write=_paths("--write", options.write),
            scratch=_paths("--scratch", options.scratch),
        ),
        environment=granted_environment([_variable(text) for text in options.env]),
        limits=_limits(options),
        timeout=timeout_of(options.timeout),
    )


def _network(options: Any) -> Network:
    chosen = [
        name
        for name, given in (
            ("--network", options.network),
            ("--no-network", options.no_network),
            ("--host", options.host),
        )
        if given
    ]
    if len(chosen) > 1:
        raise _wrong(f"{' and '.join(chosen)} exclude each other")
    if not options.host:
        return bool(options.network)
    from tongs.core.hosts import parse

    return tuple(str(_read("--host", parse, host)) for host in options.host)


def _paths(option: str, given: Sequence[str]) -> tuple[str, ...]:
    """Each as what it is, links followed: that is how tools are granted paths, too."""
    found = []
    for path in given:
        real = os.path.realpath(path)
        if not path or not os.path.lexists(real):
            hint = f"mkdir {path}" if path and option == "--write" else ""
            raise _wrong(f"{option} {path}: there is no such file or folder", hint)
        found.append(real)
    return tuple(found)


def _variable(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    if not name.isascii() or not name.isidentifier():
        raise _wrong(f"--env {text}: expected NAME or NAME=VALUE", "--env LANG=C --env EDITOR")
    return name, value if equals else None


def _limits(options: Any) -> dict[str, Any]:
    from tongs.schema.units import size

    limits: dict[str, Any] = {}
    if options.memory is not None:
        limits["memory"] = _positive("--memory", size, options.memory)
    if options.processes is not None:
        limits["processes"] = _positive("--processes", _whole, options.processes)
    return limits


def _positive(option: str, reader: Callable[[str], int], text: str) -> int:
    number = _read(option, reader, text)
    if number < 1:
        raise _wrong(f"{option} {text}: must be at least 1")
    return int(number)


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise ValueError("must be a whole number")
    return int(text)


def _read(option: str, reader: Callable[[str], Any], text: str) -> Any:
    try:
        return reader(text)
    except ValueError as error:
        raise _wrong(f"{option} {text}: {error}") from None


def _wrong(message: str, hint: str = "") -> UsageError:
    return UsageError(f"sandbox run: {message}", hint or "tongs help sandbox run")


def _tried(invocation: Invocation, trial: Trial, live: Live) -> ToolResult:
    from tongs.runtime.trying import NAME, missing_options, tool_of

    runtime = invocation.runtime
    runtime.registry.register(tool_of(trial))
    caller = Caller(CallerKind.PERSON, "user", agreed=True)
    arguments = {"command": list(trial.command)}
    call = ToolCall(os.urandom(6).hex(), NAME, arguments, caller, _stdin())
    end_as_if_interrupted()
    try:
        result = runtime.run_sync(call, observe=live)
    finally:
        live.pause()
    # What a definition would need is no help here: the options are the definition.
    if missing := missing_options(result, trial, runtime):
        assert result.error is not None
        hint = f"to grant it, add: {' '.join(missing)}"
        if trial.permissions.scratch and "scratch-view" in result.metadata["notEnforced"]:
            hint += "; --scratch needs user namespaces: `tongs doctor`"
        result.error.details["hint"] = hint
    return result


def _stdin() -> bytes:
    """What a pipe or a file holds. Nothing of a terminal: nobody could tell when it ends."""
    if sys.stdin is None or sys.stdin.isatty():
        return b""
    return sys.stdin.buffer.read()


def _show(invocation: Invocation, result: ToolResult, live: Live) -> None:
    console = invocation.console
    console.flush()
    for warning in result.warnings:
        console.warn(warning)
    if result.error is not None:
        failure.show(console, result.error, stderr_shown=live.streaming)


def _exit_code(result: ToolResult) -> int:
    """The program's own, where it ran to an end."""
    error: ToolError | None = result.error
    if error is None:
        return failure.OK
    if error.code is ErrorCode.TIMEOUT:
        return TIMED_OUT
    if (number := result.metadata.get("signal")) is not None:
        return SIGNALLED + int(number)
    if code := result.metadata.get("exitCode"):
        return int(code)
    not_started = error.code is ErrorCode.EXECUTION_ERROR
    return NOT_STARTED if not_started else failure.exit_code(error)
