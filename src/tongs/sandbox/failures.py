"""Why a program could not be started, in words a person can act on."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator, Mapping

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command, Service
from tongs.core.permissions import SYSTEM_FOLDERS, covered
from tongs.output import visible
from tongs.sandbox import orders

# What a program that may not be read looks like from inside.
_UNSEEN = (errno.ENOENT, errno.ENOTDIR, errno.EACCES)

_REASONS: Mapping[int, tuple[str, str]] = {
    errno.EACCES: ("it is not an executable file", "make it executable: chmod +x"),
    errno.EISDIR: ("it is a folder", ""),
    errno.ENOEXEC: ("it is not a program", "give a script a first line such as #!/bin/sh"),
    errno.E2BIG: (
        "its arguments and environment are too long",
        "pass large data on stdin (`input:`) or in a file",
    ),
    errno.ETXTBSY: ("the file is being written", ""),
    errno.ENOMEM: ("the memory limit is too small for it", "raise limits.memory"),
}


_NO_INTERPRETER = ("the interpreter in its first line does not exist", "")
_CARRIAGE_RETURN = (
    "its first line ends in a carriage return, as on Windows, which hides its interpreter",
    "take it out of every line: sed -i 's/\\r$//' FILE",
)


def start_failure(
    command: Command, step: bytes, number: int, readable: Collection[str] | None = None
) -> ToolError:
    """The error for a payload that stopped at `step` with that errno.

    `readable` is all it could see beyond the system, None where it could see everything.
    """
    reason = os.strerror(number) if number else "unknown reason"
    if step == orders.START:
        if readable is not None and number in _UNSEEN and (hidden := _hidden(command, readable)):
            error = unusable(command, f"it may not read {' and '.join(hidden)}")
            error.details["unread"] = hidden
            return error
        return _not_started(command, number, reason)
    if step == orders.DIRECTORY:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"cannot start `{command.argv[0]}`: working directory `{command.cwd}`: {reason}",
            hint="check `working-directory`",
        )
    return ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE,
        f"`{command.argv[0]}` was not started: confining it failed at {step.decode()}: {reason}",
    )


def unusable(command: Command | Service, reason: str, hint: str = "") -> ToolError:
    name = command.argv[0] if command.argv else ""
    return ToolError(ErrorCode.EXECUTION_ERROR, f"cannot start `{name}`: {reason}", hint=hint)


def interpreter_missing(head: bytes) -> tuple[str, str] | None:
    """The reason and the hint, where a file begins with a line that names no program."""
    line = head.partition(b"\n")[0]
    if not line.startswith(b"#!"):
        return None
    if line.endswith(b"\r"):
        return _CARRIAGE_RETURN
    words = line[2:].split()
    if not words or os.path.exists(words[0]):
        return None
    named = visible(os.fsdecode(words[0]))
    return f"the interpreter in its first line, {named}, does not exist", "install it"


def supervisor_lost(command: Command, *, accepted: bool) -> ToolError:
    name = command.argv[0]
    if accepted:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"the supervisor of `{name}` was killed, and what it had started with it",
            hint="short of memory, or killed by the tool itself",
        )
    return ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE, f"`{name}` was not started: no supervisor came up"
    )


def _hidden(command: Command, readable: Collection[str]) -> list[str]:
    """What has to be granted for the program to start: it lies here, and not inside."""
    seen = (*readable, *SYSTEM_FOLDERS)
    needed: dict[str, None] = {}
    for path in _needed_files(command):
        if os.path.islink(path):
            # Nobody can be granted a link, so it takes the folder, and what it leads to.
            needed[os.path.dirname(path)] = None
        needed[os.path.realpath(path)] = None
    return [path for path in needed if not covered(path, seen)]


def _needed_files(command: Command) -> Iterator[str]:
    """The program, where it exists at all, and the interpreter that its first line names."""
    name = command.argv[0]
    folders = command.environment.get("PATH", os.defpath).split(":")
    for folder in ("",) if "/" in name else folders:
        path = os.path.normpath(os.path.join(command.cwd, folder, name))
        if os.path.isfile(path) and os.access(path, os.X_OK):
            yield path
            yield from _interpreter(path)
            return


def _interpreter(path: str) -> Iterator[str]:
    first = _head(path).split()
    if first and first[0].startswith(b"#!"):
        named = os.fsdecode(first[0][2:] or (first[1] if first[1:] else b""))
        if os.path.isabs(named) and os.path.isfile(named):
            yield named


def _head(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.readline(256)
    except OSError:
        return b""


def _not_started(command: Command, number: int, reason: str) -> ToolError:
    name = command.argv[0]
    if number in (errno.ENOENT, errno.ENOTDIR):
        if "/" not in name:
            path = command.environment.get("PATH", os.defpath)
            return unusable(command, "not found on PATH", f"install it; the tool's PATH is {path}")
        path = os.path.join(command.cwd, name)
        if os.path.exists(path):
            return unusable(command, *(interpreter_missing(_head(path)) or _NO_INTERPRETER))
        return unusable(command, "no such file")
    said, hint = _REASONS.get(number, (reason, ""))
    return unusable(command, said, hint)
