"""`output_read`: pages of large output that was kept, lines of it, or a part of its JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from tongs.builtin.running import ask, interpreter_parts
from tongs.builtin.searching import check_pattern
from tongs.config.settings import Settings
from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import STDERR, STDOUT, Context, World
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.output import decoded, visible

_PROGRAM = "output_program.py"
# What a model sees of any output at most.
_MOST_BYTES = 100_000
_LINES = 200
_PIECE = 1024 * 1024
_STREAMS = {"stdout": STDOUT, "stderr": STDERR}

INPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "handle": {
            "type": "string",
            "description": "`outputHandle` in the metadata of the earlier result",
        },
        "stream": {
            "type": "string",
            "enum": ["stdout", "stderr"],
            "default": "stdout",
            "description": "Which of the two is read",
        },
        "offset": {
            "type": "integer",
            "default": 0,
            "description": "Where to begin, counted from 0; negative counts from the end",
        },
        "limit": {
            "type": "integer",
            "minimum": 1,
            "maximum": _MOST_BYTES,
            "description": f"Most lines ({_LINES} if not given) or bytes of the answer",
        },
        "unit": {
            "type": "string",
            "enum": ["lines", "bytes"],
            "default": "lines",
            "description": "What offset and limit count",
        },
        "grep": {
            "type": "string",
            "minLength": 1,
            "description": "Only lines that match this regular expression (Python)",
        },
        "ignoreCase": {
            "type": "boolean",
            "default": False,
            "description": "Take small and capital letters for the same",
        },
        "path": {
            "type": "string",
            "minLength": 1,
            "description": "A part of JSON output: .items[0].name, .items[].id, .[2:5],"
            " . | keys, . | length",
        },
    },
    "required": ["handle"],
    "additionalProperties": False,
    "not": {"required": ["grep", "path"]},
}
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "content": {"type": "string"},
        "size": {"type": "integer", "description": "Bytes kept of this stream"},
        "next": {
            "type": ["integer", "null"],
            "description": "The offset that goes on from here; null at the end",
        },
    },
    "required": ["content", "size", "next"],
}


def tool(name: str, settings: Settings) -> Tool:
    return Tool(
        name=name,
        description="Read output of an earlier call that was too large to be returned whole: a"
        " page of it, the lines that match `grep`, or the part of its JSON that `path` names",
        input_schema=INPUT,
        output_schema=OUTPUT,
        executor="builtin_process",
        plan=OutputRead(),
        tags=("read",),
        automatic=True,
        timeout=30.0,
        idempotent=True,
        programs=interpreter_parts(),
    )


class OutputRead:
    def preview(self, arguments: Mapping[str, Any], world: World) -> str:
        return f"read the kept output {visible(arguments['handle'])}"

    async def run(self, arguments: Mapping[str, Any], context: Context) -> ToolResult:
        kept = context.world.kept_output()
        handle, stream = arguments["handle"], _STREAMS[arguments["stream"]]
        size = kept.size(handle, stream)

        def read(offset: int, length: int) -> bytes:
            return kept.read(handle, offset, length, stream)

        if "grep" in arguments:
            return _grepped(await self._asked(arguments, read, size, context), size)
        if "path" in arguments:
            return _selected(await self._asked(arguments, read, size, context), size)
        page = _bytes if arguments["unit"] == "bytes" else _lines
        value = await context.waiter.blocking(lambda: page(arguments, read, size))
        return ToolResult(output=value["content"], value=value)

    async def _asked(
        self,
        arguments: Mapping[str, Any],
        read: Callable[[int, int], bytes],
        size: int,
        context: Context,
    ) -> dict[str, Any]:
        whole = await context.waiter.blocking(lambda: read(0, size))
        request = {"limit": _LINES, **arguments}
        if "grep" in request:
            return await grep(request, whole, context)
        answer: dict[str, Any] = await ask(_PROGRAM, request, context, whole)
        if "refused" in answer:
            raise ToolError(ErrorCode.INVALID_ARGUMENTS, str(answer["refused"]))
        return answer


async def grep(request: Mapping[str, Any], text: bytes, context: Context) -> dict[str, Any]:
    """The lines of a text that match; `next` is the number, from 0, of the one after them."""
    check_pattern(request["grep"])
    whole = {"offset": 0, "ignoreCase": False, **request}
    found: dict[str, Any] = await ask(_PROGRAM, whole, context, text, expression="grep")
    return found


def _bytes(
    arguments: Mapping[str, Any], read: Callable[[int, int], bytes], size: int
) -> dict[str, Any]:
    wanted = arguments["offset"]
    start = max(0, size + wanted) if wanted < 0 else min(wanted, size)
    data = read(start, min(arguments.get("limit", _MOST_BYTES), _MOST_BYTES))
    after = start + len(data)
    return {
        "content": decoded(data),
        "size": size,
        "offset": start,
        "next": after if after < size else None,
    }


def _lines(
    arguments: Mapping[str, Any], read: Callable[[int, int], bytes], size: int
) -> dict[str, Any]:
    """Lines from `offset` on, as many as wanted and as fit."""
    wanted, limit = arguments["offset"], arguments.get("limit", _LINES)
    first = max(0, sum(1 for _ in _each(read)) + wanted) if wanted < 0 else wanted
    kept: list[bytes] = []
    held = 0
    following = None
    cut = False
    for number, line in enumerate(_each(read)):
        if number < first:
            continue
        if len(kept) == limit or (kept and held + len(line) > _MOST_BYTES):
            following = number
            break
        cut = len(line) > _MOST_BYTES
        kept.append(line[:_MOST_BYTES])
        held += len(kept[-1])
    value = {
        "content": decoded(b"".join(kept)),
        "size": size,
        "offset": first,
        "lines": len(kept),
        "next": following,
    }
    if cut:
        value["cut"] = "a line was cut: unit: bytes reads all of it"
    return value


def _each(read: Callable[[int, int], bytes]) -> Iterator[bytes]:
    """Every line with its end; one that goes on and on is cut, since nobody holds all of it."""
    rest, at = b"", 0
    while piece := read(at, _PIECE):
        at += len(piece)
        *whole, rest = (rest + piece).split(b"\n")
        for line in whole:
            yield line + b"\n"
        # Its end is still looked for, but no more of it is kept than is shown.
        rest = rest[: _MOST_BYTES + 1]
    if rest:
        yield rest


def _grepped(found: dict[str, Any], size: int) -> ToolResult:
    lines = [f"{each['line']}: {each['text']}\n" for each in found["matches"]]
    value = {
        "content": "".join(lines),
        "size": size,
        "next": found["next"],
        "matches": found["matches"],
    }
    return ToolResult(output=value["content"], value=value)


def _selected(found: dict[str, Any], size: int) -> ToolResult:
    value: dict[str, Any] = {"content": found["text"], "size": size, "next": None}
    warnings = []
    if found["truncated"]:
        warnings.append(
            f"{len(found['text'])} of {found['size']} characters are here: name a smaller part"
        )
    else:
        value["value"] = found["value"]
    return ToolResult(output=found["text"] + "\n", value=value, warnings=warnings)
