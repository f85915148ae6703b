"""What passes between the SDK and a server: nothing that would make the one fail for the other."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.gateway.definitions import MOST_PROBLEMS, Room, usable
from tongs.gateway.wire import Refused
from tongs.output import visible

# Requests of a server that are not answered yet.
MOST_QUESTIONS = 16
# Blocks of one result; a text needs one.
MOST_BLOCKS = 1000
# Bytes that a server may send in a burst without being asked, how many of these are forgotten in a
# second, and what each message counts for besides its size: to read it costs more than its bytes.
MOST_JUNK = 64 * 1024 * 1024
FORGOTTEN = 1024 * 1024
EACH = 2048
# Under which a definition passes through the SDK as it is.
WHOLE = "tongs/definition"

# What each kind of block must have for the SDK to read the result, all of them texts.
_BLOCKS: Mapping[str, Sequence[str]] = {
    "text": ("text",),
    "image": ("data", "mimeType"),
    "audio": ("data", "mimeType"),
    "resource_link": ("uri", "name"),
}
_INTERNAL_ERROR = -32603
# As far as every reader of JSON counts exactly; neither infinite nor too large for a `float`.
_LARGEST_MEASURE = 2**53
# What somebody here listens to.
_NOTICES = frozenset(
    f"notifications/{name}"
    for name in (
        *("progress", "cancelled", "tools/list_changed", "subscriptions/acknowledged"),
        "elicitation/complete",
    )
)


class Flooded(Exception):
    """It sends without an end, and nothing of it is asked for."""


class Filter:
    """Of one connection. `problems` gets a line for what was left out of a list of tools."""

    def __init__(self) -> None:
        self.problems: list[str] = []
        self.room = Room()
        # Messages that were not read.
        self.refused = 0
        self._waiting: dict[int | str, str] = {}
        self._questions: set[int | str] = set()
        self._junk = 0.0
        self._counted = time.monotonic()

    def new_list(self) -> None:
        """A list of tools begins."""
        self.problems.clear()
        self.room = Room()

    def sent(self, message: Mapping[str, Any]) -> None:
        """A message goes out."""
        identity = message.get("id")
        if identity is None:
            return
        if "method" in message:
            self._waiting[identity] = message["method"]
        else:
            self._questions.discard(identity)

    def forget(self, identity: int | str) -> None:
        """Nobody waits for this answer any more."""
        self._waiting.pop(identity, None)

    def wasted(self, size: int) -> None:
        """Bytes of which no message comes: blank lines, a line without an end. Raises Flooded."""
        self._count(size)

    def heard(self, message: dict[str, Any] | Refused, size: int) -> dict[str, Any] | None:
        """What of it is passed on; None for nothing. Raises Flooded."""
        if isinstance(message, Refused):
            return self._refused(message, size)
        identity, method = message.get("id"), message.get("method")
        known = isinstance(identity, int | str) and not isinstance(identity, bool)
        if not isinstance(method, str | None) or not (known or identity is None):
            return self._refused(Refused("it is no message of JSON-RPC"), size)
        if method is None:
            return self._answer(message, identity, size)
        if not isinstance(message.get("params", {}), dict):
            return self._refused(Refused("its params are no object", identity), size)
        if identity is None:
            self._count(size)
            if method == "notifications/progress" and not _is_progress(message.get("params", {})):
                return None
            # Among others not what a server logs, which is for its own stderr.
            return _rpc(message) if method in _NOTICES else None
        if len(self._questions) >= MOST_QUESTIONS or identity in self._questions:
            return self._refused(Refused("it asks more than can be answered"), size)
        self._questions.add(identity)
        self._count(size)
        return _rpc(message)

    def _answer(
        self, message: dict[str, Any], identity: int | str | None, size: int
    ) -> dict[str, Any] | None:
        if identity is None or identity not in self._waiting:
            return self._refused(Refused("nobody waits for it"), size)
        method = self._waiting.pop(identity)
        if "error" in message:
            return {"jsonrpc": "2.0", "id": identity, "error": _error(message["error"])}
        result = message.get("result")
        if not isinstance(result, dict):
            return _failure(identity, "its result is no object")
        if method == "tools/list":
            result = self._tools(result)
        elif method == "tools/call":
            result = _call(result)
        return {"jsonrpc": "2.0", "id": identity, "result": result}

    def _tools(self, result: dict[str, Any]) -> dict[str, Any]:
        told = result.get("tools")
        if not isinstance(told, list):
            if len(self.problems) < MOST_PROBLEMS:
                self.problems.append("its list of tools is no list")
            told = []
        tools = [
            # Without the schema of the output: the SDK would refuse what does not fit it, and
            # would check it on the loop of all servers, with patterns that a stranger wrote.
            {"name": one["name"], "inputSchema": one["inputSchema"], "_meta": {WHOLE: one}}
            for one in usable(told, self.problems, self.room)
        ]
        cursor = result.get("nextCursor")
        kept = {key: value for key, value in result.items() if key not in ("tools", "nextCursor")}
        return {**kept, "tools": tools, **({"nextCursor": cursor} if _is_cursor(cursor) else {})}

    def _refused(self, refused: Refused, size: int) -> dict[str, Any] | None:
        """Where somebody waits for it, they are told instead of waiting on."""
        self.refused += 1
        if refused.id is not None and refused.id in self._waiting:
            self.forget(refused.id)
            return _failure(refused.id, f"its answer was not read: {refused.reason}")
        self._count(size)
        return None

    def _count(self, size: int) -> None:
        now = time.monotonic()
        self._junk = max(0.0, self._junk - (now - self._counted) * FORGOTTEN) + size + EACH
        self._counted = now
        if self._junk > MOST_JUNK:
            raise Flooded


def _is_progress(params: Mapping[str, Any]) -> bool:
    """Whether the SDK, and whoever is told of it as JSON, can do something with it."""
    said, total = params.get("progress"), params.get("total")
    return _is_measure(said) and (total is None or _is_measure(total))


def _is_measure(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= _LARGEST_MEASURE


def _rpc(message: dict[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {"jsonrpc": "2.0"}
    kept.update({key: message[key] for key in ("id", "method", "params") if key in message})
    return kept


def _failure(identity: int | str, reason: str) -> dict[str, Any]:
    return {
        "jsonrpc": "2.0",
        "id": identity,
        "error": {"code": _INTERNAL_ERROR, "message": reason},
    }


def _error(told: Any) -> dict[str, Any]:
    if not isinstance(told, dict):
        told = {}
    code, message = told.get("code"), told.get("message")
    error: dict[str, Any] = {
        "code": code if type(code) is int else _INTERNAL_ERROR,
        "message": message if isinstance(message, str) else "it gives no reason",
    }
    # The SDK reads in it which versions a server speaks.
    return {**error, "data": told["data"]} if isinstance(told.get("data"), dict) else error


def _call(result: dict[str, Any]) -> dict[str, Any]:
    """A result of a tool that the SDK can read, whatever came."""
    if result.get("resultType") == "input_required":
        return result
    told = result.get("content")
    blocks = told if isinstance(told, list) else []
    content = [_block(block) for block in blocks[:MOST_BLOCKS]]
    if len(blocks) > MOST_BLOCKS:
        content.append(_note(f"{len(blocks) - MOST_BLOCKS} more blocks were left out"))
    made: dict[str, Any] = {"content": content, "isError": result.get("isError") is True}
    if "resultType" in result:
        made["resultType"] = "complete"
    if isinstance(result.get("structuredContent"), dict):
        made["structuredContent"] = result["structuredContent"]
    return made


def _block(told: Any) -> dict[str, Any]:
    """A block with what is read of it, or a note where it is none."""
    kind = told.get("type") if isinstance(told, dict) else None
    if kind == "resource" and _is_resource(told.get("resource")):
        resource = told["resource"]
        keys = ("uri", "mimeType", "text", "blob")
        return {"type": kind, "resource": {k: resource[k] for k in keys if k in resource}}
    needed = _BLOCKS.get(kind) if isinstance(kind, str) else None
    if needed is None or not all(isinstance(told.get(key), str) for key in needed):
        said = visible(kind[:40]) if isinstance(kind, str) else "no type"
        return _note(f"a block of the answer was left out ({said}): it cannot be read")
    extra = ("mimeType", "title", "description") if kind == "resource_link" else ()
    known = {key: told[key] for key in extra if isinstance(told.get(key), str)}
    return {"type": kind, **{key: told[key] for key in needed}, **known}


def _is_resource(told: Any) -> bool:
    if not isinstance(told, dict) or not isinstance(told.get("uri"), str):
        return False
    texts = [told[key] for key in ("text", "blob", "mimeType") if key in told]
    return all(isinstance(text, str) for text in texts) and ("text" in told) != ("blob" in told)


def _is_cursor(cursor: Any) -> bool:
    return isinstance(cursor, str) and 0 < len(cursor) < 4096


def _note(text: str) -> dict[str, Any]:
    return {"type": "text", "text": f"[{text}]"}
