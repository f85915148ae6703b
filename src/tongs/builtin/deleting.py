"""`delete_file`: a file or a folder, moved to the trash."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import islice

from tongs.builtin.facts import FOLDER, below, state_of
from tongs.builtin.trash import Trash
from tongs.builtin.trouble import changed, not_found, told
from tongs.builtin.workspace import Spot, Workspace
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible

_MOST_NAMED = 10_000
_MOST_SHOWN = 50

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path relative to the workspace root"},
        "recursive": {
            "type": "boolean",
            "default": False,
            "description": "For directories: delete everything in it, too",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "deleted": {"type": "array", "items": {"type": "string"}},
        "trash": {"type": "string", "description": "The id for `tongs trash restore`"},
    },
    "required": ["deleted"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Delete a file or directory of the workspace; it can be restored from the"
        " trash",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=DeleteFile(),
        tags=("write",),
        automatic=True,
        timeout=60.0,
        requires_approval=True,
        approval_reason="it deletes, which is always confirmed",
    )


class DeleteFile:
    def at_stake(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> str:
        path = call.arguments["path"]
        with Workspace(call, tool, world, permissions) as workspace:
            spot = workspace.to_change(path)
            folder = workspace.open_folder(spot.above, path)
            try:
                state = existing(folder, spot, path)
                _refuse_full(folder, spot, state, call.arguments)
                return state
            finally:
                os.close(folder)

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        path = arguments["path"]
        with Workspace.to_show(world) as workspace:
            spot = workspace.to_change(path)
            folder = workspace.open_folder(spot.above, path)
            try:
                found = [
                    spot.above.below(inner).path + ("/" if stat.S_ISDIR(facts.st_mode) else "")
                    for inner, facts in islice(below(folder, spot.name), _MOST_NAMED + 1)
                ]
            finally:
                os.close(folder)
        count = f"more than {_MOST_NAMED}" if len(found) > _MOST_NAMED else str(len(found))
        lines = [f"delete {visible(spot.path)} ({count} files and folders)"]
        lines += [f"- {visible(name)}" for name in found[:_MOST_SHOWN]]
        if len(found) > _MOST_SHOWN:
            lines.append("… and more")
        return "\n".join((*lines, "it moves to .tongs/trash: tongs trash restore brings it back"))

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _delete(arguments, context))


def existing(folder: int, spot: Spot, path: str) -> str:
    """The state of what lies at a spot; ToolError where nothing does."""
    try:
        state = state_of(folder, spot.name)
    except OSError as error:
        raise told(error, path) from None
    if not state:
        beside = [spot.above.below(name).path for name in os.listdir(folder)]
        raise not_found(path, beside)
    return state


def _refuse_full(folder: int, spot: Spot, state: str, arguments: Mapping[str, Any]) -> None:
    if arguments["recursive"] or not state.startswith(FOLDER):
        return
    if len(list(islice(below(folder, spot.name), 2))) > 1:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{visible(spot.path)} was not deleted: it is a folder and not empty",
            details={"path": arguments["path"]},
            hint="recursive: true deletes it with everything in it",
        )


def _delete(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    path, before = arguments["path"], context.call.at_stake
    with Workspace.of(context) as workspace:
        spot = workspace.to_change(path)
        try:
            folder = workspace.open_folder(spot.above, path)
        except ToolError:
            raise changed(path) from None
        trash = Trash(workspace)
        try:
            number = trash.take(folder, spot, before, path)
        finally:
            os.close(folder)
        deleted, count = trash.contents(number, spot, _MOST_NAMED)
    warnings = []
    if count > len(deleted):
        warnings.append(f"{count} files and folders were deleted, {len(deleted)} are named here")
    return ToolResult(
        output=f"deleted {spot.path} ({count} files and folders)\n"
        f"to get it back: tongs trash restore {number}\n",
        value={"deleted": deleted, "trash": number},
        warnings=warnings,
    )
