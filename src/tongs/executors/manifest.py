"""What the executors of manifests share."""

from __future__ import annotations

import json
import os.path
import time
from collections.abc import Iterable

from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Command, Context
from tongs.core.permissions import absolute, covered
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.template.dollar import DollarText
from tongs.template.manifest import Names
from tongs.template.values import ABSENT, ValueRefused, Values

# Nobody means more; and a value is walked by functions that call themselves.
DEEPEST_JSON = 100
_TOO_DEEP = f"it is nested deeper than {DEEPEST_JSON} levels"


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


def structured(output: str, wanted: bool) -> tuple[Any, list[str]]:
    """The output as data, where it was promised to be JSON; else what is wrong with it."""
    if not wanted:
        return None, []
    try:
        return read_json(output), []
    except ValueError as error:
        return None, [f"the output is no JSON, though the manifest says so: {error}"]


def read_json(text: str) -> Any:
    """JSON of somebody else. Raises ValueError, also for what would break whoever walks it."""
    try:
        data = json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST_JSON:
        level = [data]
        for _ in range(DEEPEST_JSON):
            level = [item for each in level for item in _items(each)]
            if not level:
                break
        else:
            raise ValueError(_TOO_DEEP)
    return data


def _items(data: Any) -> Iterable[Any]:
    """What is inside, as far as it has an inside itself."""
    found = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return (item for item in found if isinstance(item, dict | list))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")
