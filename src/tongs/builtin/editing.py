"""`edit_file`: exact text of a file replaced by other text, a known number of times."""

from __future__ import annotations

import os
from collections.abc import Mapping

from tongs.builtin.changes import difference
from tongs.builtin.reading import as_text, read_whole
from tongs.builtin.replacing import put
from tongs.builtin.trouble import changed, not_found
from tongs.builtin.workspace import Spot, Workspace
from tongs.builtin.writing import state_to_replace, target
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible

_MOST_LINES = 20
_LONGEST_COMPARED = 400

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path relative to the workspace root"},
        "oldText": {
            "type": "string",
            "minLength": 1,
            "description": "The text to replace, exactly as it stands, blanks included",
        },
        "newText": {"type": "string", "description": "What stands there afterwards"},
        "expectedCount": {
            "type": "integer",
            "minimum": 1,
            "default": 1,
            "description": "How often oldText occurs; all of them are replaced",
        },
    },
    "required": ["path", "oldText", "newText"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "replaced": {"type": "integer"},
        "lines": {
            "type": "array",
            "items": {"type": "integer"},
            "description": "Where oldText began, before the change",
        },
        "size": {"type": "integer"},
    },
    "required": ["path", "replaced", "lines", "size"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Replace exact text in a file of the workspace; nothing happens unless the text"
        " is found as often as expected",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=EditFile(),
        tags=("write",),
        automatic=True,
        timeout=30.0,
        approval_reason="it changes a file that is there",
    )


class EditFile:
    def at_stake(self, call: ToolCall, tool: Tool, world: World, permissions: Permissions) -> str:
        path = call.arguments["path"]
        with Workspace(call, tool, world, permissions) as workspace:
            spot = target(workspace, path)
            state = state_to_replace(workspace, spot, path)
            if not state:
                raise not_found(path)
            # Nobody is asked about what would not be done.
            _edited(_text(workspace, spot, path), call.arguments)
            return state

    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        path = arguments["path"]
        with Workspace.to_show(world) as workspace:
            spot = target(workspace, path)
            before = _text(workspace, spot, path)
        after, _ = _edited(before, arguments)
        return f"edit {visible(spot.path)}\n{difference(before, after, spot.path)}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _edit(arguments, context))


def _edit(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    path = arguments["path"]
    with Workspace.of(context) as workspace:
        spot = target(workspace, path)
        try:
            before = _text(workspace, spot, path)
            after, lines = _edited(before, arguments)
        except ToolError:
            # It was there, and had the text, when the call was decided.
            raise changed(path) from None
        data = after.encode("utf-8")
        folder = workspace.open_folder(spot.above, path)
        try:
            put(workspace.files, folder, spot.name, data, context.call.at_stake, path)
        finally:
            os.close(folder)
    value = {"path": spot.path, "replaced": len(lines), "lines": lines, "size": len(data)}
    return ToolResult(output=difference(before, after, spot.path) + "\n", value=value)


def _text(workspace: Workspace, spot: Spot, path: str) -> str:
    with open(workspace.open_file(spot, path), "rb", buffering=0) as file:
        return as_text(read_whole(file, path), path)


def _edited(before: str, arguments: Mapping[str, Any]) -> tuple[str, list[int]]:
    """The new text, and the lines in which something changes; ToolError if nothing may."""
    old, new, expected = arguments["oldText"], arguments["newText"], arguments["expectedCount"]
    if old == new:
        raise ToolError(ErrorCode.INVALID_ARGUMENTS, "oldText and newText are the same")
    try:
        new.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError(ErrorCode.INVALID_ARGUMENTS, "newText holds half of a character") from None
    lines = _lines_of(before, old)
    if not lines:
        raise _missing(before, arguments)
    if len(lines) != expected:
        shown = ", ".join(map(str, lines[:_MOST_LINES])) + (
            ", …" if len(lines) > _MOST_LINES else ""
        )
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{visible(arguments['path'])} was not changed: oldText occurs {len(lines)} times"
            f" (lines {shown}), expected {expected}",
            details={"path": arguments["path"], "lines": lines[:1000], "count": len(lines)},
            hint=f"make oldText longer until it is unique, or set expectedCount: {len(lines)}",
        )
    return before.replace(old, new), lines


def _lines_of(text: str, part: str) -> list[int]:
    found = []
    line, seen = 1, 0
    at = text.find(part)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen = at
        found.append(line)
        at = text.find(part, at + len(part))
    return found


def _missing(before: str, arguments: Mapping[str, Any]) -> ToolError:
    old, path = arguments["oldText"], arguments["path"]
    near = _near(before, old)
    if "\r\n" in before and "\n" in old and "\r" not in old:
        hint = "its lines end in \\r\\n: write \\r\\n in oldText and newText"
    elif near:
        hint = f"the nearest is line {near[0]['line']}: {visible(near[0]['text'])}"
    else:
        hint = "read the file again, and copy the text exactly, blanks included"
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{visible(path)} was not changed: oldText does not occur in it",
        details={"path": path, "count": 0, "near": near},
        hint=hint,
    )


def _near(text: str, part: str) -> list[dict[str, Any]]:
    """The lines most like the first line of what was looked for that says anything."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - only where something is wrong

    wanted = next((line.strip() for line in part.splitlines() if line.strip()), "")
    wanted = wanted[:_LONGEST_COMPARED]
    if not wanted:
        return []
    matcher = SequenceMatcher(autojunk=False)
    matcher.set_seq2(wanted)
    rated = []
    for number, line in enumerate(text.splitlines()[:20_000], 1):
        matcher.set_seq1(line.strip()[:_LONGEST_COMPARED])
        if matcher.real_quick_ratio() > 0.6 and matcher.quick_ratio() > 0.6:
            ratio = matcher.ratio()
            if ratio > 0.6:
                rated.append((-ratio, number, line[:_LONGEST_COMPARED]))
    return [{"line": number, "text": line} for _, number, line in sorted(rated)[:3]]
