"""Why a program could not be started, in words a person can act on."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Command
from tongs.sandbox import supervisor

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


def start_failure(command: Command, step: bytes, number: int) -> ToolError:
    """The error for a payload that stopped at `step` with that errno."""
    reason = os.strerror(number) if number else "unknown reason"
    if step == supervisor.STEP_START:
        return _not_started(command, number, reason)
    if step == supervisor.STEP_DIRECTORY:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"cannot start `{command.argv[0]}`: working directory `{command.cwd}`: {reason}",
            hint="check `working-directory`",
        )
    return ToolError(
        ErrorCode.SANDBOX_UNAVAILABLE,
        f"`{command.argv[0]}` was not started: confining it failed at {step.decode()}: {reason}",
    )


def unusable(command: Command, reason: str, hint: str = "") -> ToolError:
    name = command.argv[0] if command.argv else ""
    return ToolError(ErrorCode.EXECUTION_ERROR, f"cannot start `{name}`: {reason}", hint=hint)


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


def _not_started(command: Command, number: int, reason: str) -> ToolError:
    name = command.argv[0]
    if number in (errno.ENOENT, errno.ENOTDIR):
        if "/" not in name:
            path = command.environment.get("PATH", os.defpath)
            return unusable(command, "not found on PATH", f"install it; the tool's PATH is {path}")
        if os.path.exists(os.path.join(command.cwd, name)):
            return unusable(command, "the interpreter in its first line does not exist")
        return unusable(command, "no such file")
    said, hint = _REASONS.get(number, (reason, ""))
    return unusable(command, said, hint)
