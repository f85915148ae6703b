"""`read_file`: text or bytes of one file, whole or by lines."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from tongs.builtin.facts import moment
from tongs.builtin.workspace import Workspace
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import Context, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import visible

# Seed 001: "Max 1MB file size".
MOST = 1024 * 1024
# Lines are counted from the start of a file; beyond this nobody waits for that.
_MOST_COUNTED = 256 * MOST
_PIECE = 256 * 1024

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "Path relative to the workspace root"},
        "encoding": {
            "type": "string",
            "enum": ["utf-8", "base64"],
            "default": "utf-8",
            "description": "utf-8 for text, base64 for anything else",
        },
        "startLine": {
            "type": "integer",
            "minimum": 1,
            "description": "First line to return, counted from 1",
        },
        "endLine": {
            "type": "integer",
            "minimum": 1,
            "description": "Last line to return",
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "size": {"type": "integer", "description": "Bytes of the whole file"},
        "modified": {"type": "string", "description": "ISO 8601"},
        "startLine": {"type": "integer"},
        "endLine": {"type": "integer"},
    },
    "required": ["content", "size", "modified"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Read the contents of a file in the workspace",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin",
        plan=ReadFile(),
        tags=("read",),
        automatic=True,
        timeout=30.0,
        idempotent=True,
    )


class ReadFile:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"read {visible(arguments['path'])}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        return await context.waiter.blocking(lambda: _read(arguments, context))


def _read(arguments: Mapping[str, Any], context: Context) -> ToolResult:
    path = arguments["path"]
    base64 = arguments["encoding"] == "base64"
    with Workspace.of(context) as workspace:
        descriptor = workspace.open_file(workspace.to_read(path), path)
    with open(descriptor, "rb", buffering=0) as file:
        facts = os.fstat(descriptor)
        value: dict[str, Any] = {"content": "", "size": facts.st_size, "modified": moment(facts)}
        if "startLine" in arguments or "endLine" in arguments:
            if base64:
                raise _wrong("startLine and endLine count lines of text, not of base64")
            first, last = arguments.get("startLine", 1), arguments.get("endLine")
            data, value["startLine"], value["endLine"] = _lines(file, path, first, last)
        else:
            data = read_whole(file, path)
    value["content"] = _as_base64(data) if base64 else as_text(data, path)
    return ToolResult(output=value["content"], value=value)


def read_whole(file: Any, path: str) -> bytes:
    """All of an open file; ToolError if that is too much."""
    pieces = []
    left = MOST + 1
    while left > 0 and (piece := file.read(left)):
        pieces.append(piece)
        left -= len(piece)
    if left <= 0:
        raise ToolError(
            ErrorCode.EXECUTION_ERROR,
            f"{visible(path)} is larger than {MOST} bytes, which is the most that is read at once",
            details={"path": path, "most": MOST},
            hint="read a part of it with startLine and endLine, or look for text with search_files",
        )
    return b"".join(pieces)


def as_text(data: bytes, path: str) -> str:
    """The text of a file; ToolError if it is none."""
    try:
        if b"\0" not in data:
            return data.decode("utf-8")
        where = data.index(b"\0")
    except UnicodeDecodeError as error:
        where = error.start
    raise ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{visible(path)} is not UTF-8 text (byte {data[where]:#04x} at offset {where})",
        details={"path": path, "offset": where},
        hint="read it with encoding: base64",
    )


def _lines(file: Any, path: str, first: int, last: int | None) -> tuple[bytes, int, int]:
    """The wanted lines, and which these are: fewer where the file ends before."""
    if last is not None and last < first:
        raise _wrong(f"endLine ({last}) comes before startLine ({first})")
    kept: list[bytes] = []
    size = number = 0
    for number, line in enumerate(_each(file, path), 1):
        if number >= first:
            kept.append(line)
            size += len(line)
        if size > MOST:
            raise _too_much(path, f"the lines have more than {MOST} bytes")
        if number == last:
            break
    if not kept:
        raise _wrong(f"{visible(path)} has {number} lines, there is no line {first}")
    return b"".join(kept), first, number


def _each(file: Any, path: str) -> Iterator[bytes]:
    """Every line with its end."""
    rest = b""
    seen = 0
    while piece := file.read(_PIECE):
        seen += len(piece)
        if seen > _MOST_COUNTED:
            raise _too_much(path, f"only {_MOST_COUNTED} bytes are counted through")
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
        if len(rest) > MOST:
            raise _too_much(path, f"one of its lines has more than {MOST} bytes")
    if rest:
        yield rest


def _too_much(path: str, reason: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"{visible(path)} cannot be read this way: {reason}",
        details={"path": path, "most": MOST},
        hint="ask for fewer lines, or look for text with search_files",
    )


def _wrong(message: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, message)


def _as_base64(data: bytes) -> str:
    from binascii import b2a_base64  # noqa: PLC0415 - few files are read this way

    return b2a_base64(data, newline=False).decode("ascii")
