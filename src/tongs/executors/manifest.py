"""What the executors of manifests share."""

from __future__ import annotations

import os.path
import time

from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Command, Context
from tongs.core.permissions import absolute, covered
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.template.dollar import DollarText
from tongs.template.manifest import Names
from tongs.template.values import ABSENT, ValueRefused, Values

# Where a manifest says how long a call may take.
TIME = "`timeout_ms` in the manifest"


def left(context: Context) -> float | None:
    """Seconds until the whole call has to be over."""
    if context.deadline is None:
        return None
    return max(0.0, context.deadline - time.monotonic())


def directory(written: DollarText | None, values: Values, context: Context) -> str:
    """Where a process starts: from the project root, and inside what is granted."""
    place, tool = context.world.place, context.tool
    given = ABSENT if written is None else written.value(values)
    if not isinstance(given, str) or not given:
        return place.start
    if "\0" in given:
        raise ToolError(ErrorCode.INVALID_PATH, "a NUL cannot stand in a working directory")
    found = absolute(given, tool.origin.project or place.root, place.home)
    real = os.path.realpath(found)
    # The project root itself may always be stood in: nothing can be read there by that alone.
    if found != place.root and not covered(
        real, map(os.path.realpath, context.permissions.readable)
    ):
        raise ToolError(
            ErrorCode.INVALID_PATH,
            f"{tool.name} may not work in {visible(found)}",
            details={"allowed": list(context.permissions.readable)},
            blocked_by=BlockedBy.PERMISSION,
            hint=f"add it to permissions.fs.read in {tool.origin.path}",
        )
    if not os.path.isdir(real):
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND,
            f"the working directory {visible(found)} of {tool.name} does not exist",
            hint="create it, or change `cwd`",
        )
    return found


def refuse_nul(command: Command, tool: Tool) -> None:
    texts = (*command.argv, *command.environment.values())
    if any("\0" in text for text in texts):
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"{tool.name} was not run: an argument contains a NUL character",
        )


def refused(tool: Tool, names: Names, refusal: ValueRefused) -> ToolError:
    """A value that its place in the manifest cannot carry."""
    what = f"the secret {refusal.name}" if refusal.name in names.secrets else refusal.name
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} was not run: {what} {refusal.reason}",
        details={"parameter": refusal.name},
    )
