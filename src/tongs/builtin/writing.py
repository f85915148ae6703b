"""`write_file`: a whole file, new or instead of the one that is there."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tongs.builtin.changes import difference
from tongs.builtin.facts import FILE, FOLDER, state_of
from tongs.builtin.reading import MOST
from tongs.builtin.replacing import put
from tongs.builtin.trouble import changed, invalid_path, told
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

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path relative to the workspace root"},
        "content": {"type": "string", "description": "The whole new content"},
        "encoding": {
            "type": "string",
            "enum": ["utf-8", "base64"],
            "default": "utf-8",
            "description": "How `content` is written: as text, or as base64 of the bytes",
        },
        "createDirs": {
            "type": "boolean",
            "default": False,
            "description": "Create parent directories if missing",
        },
    },
    "required": ["path", "content"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "size": {"type": "integer", "description": "Bytes written"},
    },
    "required": ["path", "size"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Create or overwrite a file in the workspace",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=WriteFile(),
        tags=("write",),
        automatic=True,
        timeout=30.0,
        approval_reason="it overwrites a file that is there",
        idempotent=True,
    )


class WriteFile:
    def at_stake(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> str:
        _data(call.arguments)  # nobody is asked about what cannot be written
        path = call.arguments["path"]
        with Workspace(call, tool, world, permissions) as workspace:
            return state_to_replace(workspace, target(workspace, path), path)

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        path, data = arguments["path"], _data(arguments)
        with Workspace.to_show(world) as workspace:
            spot = target(workspace, path)
            if not state_to_replace(workspace, spot, path):
                return f"create {visible(spot.path)} ({len(data)} bytes)\n{_shown(data)}"
            before = _before(workspace, spot, path)
        said = f"overwrite {visible(spot.path)} with {len(data)} bytes"
        after = _text(data)
        if before is None or after is None:
            return f"{said} (no text that can be compared)"
        return f"{said}\n{difference(before, after, spot.path)}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _write(arguments, context))


def target(workspace: Workspace, path: str) -> Spot:
    """Where a file is written: at the end of links, if these stay in the workspace."""
    if path.endswith(("/", "/.", "/..")) or path in (".", ".."):
        raise invalid_path(path, "it names a folder, not a file")
    return workspace.to_change(path, follow=True)


def state_to_replace(workspace: Workspace, spot: Spot, path: str) -> str:
    """The state of the file there; empty where there is none, ToolError for anything else."""
    try:
        folder = workspace.open_folder(spot.above, path)
    except ToolError as error:
        if error.code is ErrorCode.FILE_NOT_FOUND:
            return ""
        raise
    try:
        state = state_of(folder, spot.name)
    except OSError as error:
        raise told(error, path) from None
    finally:
        os.close(folder)
    if state and not state.startswith(FILE):
        kind = "a folder" if state.startswith(FOLDER) else "no plain file"
        raise invalid_path(path, f"it is {kind}")
    return state


def _write(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    path, data = arguments["path"], _data(arguments)
    with Workspace.of(context) as workspace:
        spot = target(workspace, path)
        folder = _folder(workspace, spot, arguments)
        try:
            put(workspace.files, folder, spot.name, data, context.call.at_stake, path)
        finally:
            os.close(folder)
    did = "overwrote" if context.call.at_stake else "created"
    value = {"path": spot.path, "size": len(data)}
    return ToolResult(output=f"{did} {spot.path}: {len(data)} bytes written\n", value=value)


def _folder(workspace: Workspace, spot: Spot, arguments: Mapping[str, Any]) -> int:
    path = arguments["path"]
    if arguments["createDirs"]:
        return workspace.make_folders(spot.above, path)
    try:
        return workspace.open_folder(spot.above, path)
    except ToolError as error:
        if error.code is not ErrorCode.FILE_NOT_FOUND:
            raise
        raise ToolError(
            ErrorCode.FILE_NOT_FOUND,
            f"{visible(path)} cannot be written: there is no folder {visible(spot.above.path)}",
            details={"path": path},
            hint="createDirs: true makes it",
        ) from None


def _data(arguments: Mapping[str, Any]) -> bytes:
    content: str = arguments["content"]
    if arguments["encoding"] == "base64":
        from binascii import Error, a2b_base64  # noqa: PLC0415 - few files are written this way

        try:
            return a2b_base64(content.encode("ascii"), strict_mode=True)
        except (Error, UnicodeEncodeError) as error:
            raise ToolError(
                ErrorCode.INVALID_ARGUMENTS,
                f"`content` is not base64: {error}",
                hint="encoding: utf-8 writes text as it is",
            ) from None
    try:
        return content.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            f"`content` holds half of a character at {error.start}, which UTF-8 cannot write",
            hint="encoding: base64 writes any bytes",
        ) from None


def _before(workspace: Workspace, spot: Spot, path: str) -> str | None:
    """The text that is replaced; None where it is none, or too much to be shown."""
    try:
        descriptor = workspace.open_file(spot, path)
    except ToolError as error:
        if error.code is ErrorCode.FILE_NOT_FOUND:
            raise changed(path) from None
        return None
    with open(descriptor, "rb", buffering=0) as file:
        data = file.read(MOST + 1)
    return _text(data)


def _text(data: bytes) -> str | None:
    if len(data) > MOST or b"\0" in data:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _shown(data: bytes) -> str:
    text = _text(data)
    if text is None:
        return "(no text that can be shown)"
    return visible(text[:4000]) + ("…" if len(text) > 4000 else "")
