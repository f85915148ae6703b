"""`move_file`: another name or place for a file or a folder."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping

from tongs.builtin.deleting import existing
from tongs.builtin.facts import FOLDER, state_of
from tongs.builtin.trash import Trash
from tongs.builtin.trouble import changed, invalid_path, told
from tongs.builtin.workspace import Spot, Workspace
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string", "description": "Path relative to the workspace root"},
        "to": {"type": "string", "description": "The new path, name included"},
        "overwrite": {
            "type": "boolean",
            "default": False,
            "description": "Take the place of a file that is there",
        },
    },
    "required": ["from", "to"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "from": {"type": "string"},
        "to": {"type": "string"},
        "trash": {
            "type": "string",
            "description": "The id of the file that was there, for `tongs trash restore`",
        },
    },
    "required": ["from", "to"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Move or rename a file or directory of the workspace",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=MoveFile(),
        tags=("write",),
        automatic=True,
        timeout=60.0,
        approval_reason="it overwrites a file that is there",
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """Both ends of a move, each with its open folder."""

    source: Spot
    target: Spot
    from_folder: int
    to_folder: int

    @property
    def start(self) -> tuple[int, str]:
        return self.from_folder, self.source.name

    @property
    def end(self) -> tuple[int, str]:
        return self.to_folder, self.target.name

    def close(self) -> None:
        os.close(self.from_folder)
        os.close(self.to_folder)


class MoveFile:
    def at_stake(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> str:
        with Workspace(call, tool, world, permissions) as workspace:
            way = _way(workspace, call.arguments)
            try:
                existing(way.from_folder, way.source, call.arguments["from"])
                return _to_overwrite(way, call.arguments)
            finally:
                way.close()

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        with Workspace.to_show(world) as workspace:
            way = _way(workspace, arguments)
            try:
                taken = bool(_to_overwrite(way, arguments))
            finally:
                way.close()
        said = f"move {visible(way.source.path)}\n  to {visible(way.target.path)}"
        return f"{said}\nthe file that is there moves to .tongs/trash" if taken else said

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _move(arguments, context))


def _way(workspace: Workspace, arguments: Mapping[str, Any]) -> _Way:
    source = workspace.to_change(arguments["from"])
    target = workspace.to_change(arguments["to"])
    if source == target:
        raise invalid_path(arguments["to"], "it is the same place")
    if target.names[: len(source.names)] == source.names:
        raise invalid_path(arguments["to"], f"it lies in {visible(source.path)} itself")
    from_folder = workspace.open_folder(source.above, arguments["from"])
    try:
        to_folder = workspace.open_folder(target.above, arguments["to"])
    except BaseException:
        os.close(from_folder)
        raise
    return _Way(source, target, from_folder, to_folder)


def _to_overwrite(way: _Way, arguments: Mapping[str, Any]) -> str:
    """The state of what is in the way; ToolError where it has to stay."""
    path = arguments["to"]
    try:
        state = state_of(*way.end)
    except OSError as error:
        raise told(error, path) from None
    if not state:
        return ""
    if not arguments["overwrite"]:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{visible(arguments['from'])} was not moved: {visible(path)} exists already",
            details={"path": path},
            hint="overwrite: true replaces it",
        )
    if state.startswith(FOLDER):
        raise invalid_path(path, "it is a folder, which no move replaces", "delete_file removes it")
    return state


def _move(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    before = context.call.at_stake
    value: dict[str, Any]
    with Workspace.of(context) as workspace:
        way = _way(workspace, arguments)
        value = {"from": way.source.path, "to": way.target.path}
        try:
            if before:
                value["trash"] = _overwritten(workspace, way, before, arguments)
            else:
                workspace.files.rename_new(way.start, way.end)
        except FileExistsError:
            raise changed(arguments["to"]) from None
        except OSError as error:
            raise _told(error, arguments) from None
        finally:
            way.close()
    said = f"moved {value['from']} to {value['to']}\n"
    if "trash" in value:
        said += f"to get back what was there: tongs trash restore {value['trash']}\n"
    return ToolResult(output=said, value=value)


def _overwritten(workspace: Workspace, way: _Way, before: str, arguments: Mapping[str, Any]) -> str:
    """First the old one goes, if it is what was agreed on; then the new one comes."""
    trash = Trash(workspace)
    number = trash.take(way.to_folder, way.target, before, arguments["to"])
    try:
        workspace.files.rename_new(way.start, way.end)
    except BaseException:
        trash.restore(number)
        raise
    return number


def _told(error: OSError, arguments: Mapping[str, Any]) -> ToolError:
    if error.errno == errno.EXDEV:
        return ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{visible(arguments['from'])} was not moved: {visible(arguments['to'])} lies on"
            " another file system",
            hint="copy it with read_file and write_file, then delete it",
        )
    return told(error, arguments["from"])
