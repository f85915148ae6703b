"""What a server gave for a call, as text for a reader and as a value for a program.

Nothing that a terminal obeys or an eye cannot see is left in it. Pictures and the like are named in
the text; their data lies in the spool, with all blocks as they came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.execution import Context, Kept
from tongs.core.servers import ServerAnswer
from tongs.output import decoded, visible

# Of base64: three bytes in four characters.
_BYTES, _CHARACTERS = 3, 4


class Content:
    """`facts` are for the metadata of the result."""

    def __init__(self, answer: ServerAnswer, context: Context) -> None:
        self.warnings: list[str] = []
        self.facts: dict[str, Any] = {}
        self._context = context
        blocks = [_described(block) for block in answer.content]
        self.value = self._bounded(_clean(answer.structured))
        text = "\n".join(shown for shown, _ in blocks)
        if not text and self.value is not None:
            text = json.dumps(self.value, ensure_ascii=False, indent=2)
        self.output = self._held(text)
        if data := [fact for _, fact in blocks if fact]:
            self.facts["blocks"] = data
            whole = json.dumps(list(answer.content), ensure_ascii=False)
            if handle := context.put_aside(whole.encode("utf-8", "replace")):
                self.facts["contentHandle"] = handle

    def _held(self, text: str) -> str:
        """As much of it as limits.output allows."""
        data = visible(text).encode("utf-8", "replace")
        kept = self._context.keep(data)
        if len(kept.data) < len(data):
            self._tell(kept, len(data))
        return decoded(kept.data)

    def _bounded(self, value: Any) -> Any:
        """A value is whole or not there: cut, it would be another one."""
        if value is None:
            return None
        data = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        kept = self._context.keep(data)
        if len(kept.data) == len(data):
            return value
        self.warnings.append(
            f"the value was left out: its {len(data)} bytes are more than limits.output"
        )
        if kept.handle is not None:
            self.facts["valueHandle"] = kept.handle
        return None

    def _tell(self, kept: Kept, size: int) -> None:
        from tongs.executors.step import cut  # noqa: PLC0415 - large answers only

        self.warnings.append(cut(len(kept.data), size, kept.handle, kept.lost))
        self.facts["outputSize"] = size
        if kept.handle is not None:
            self.facts["outputHandle"] = kept.handle


def _described(block: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """A block as text, and what to say of one whose data is no text."""
    kind = str(block.get("type"))
    if kind == "text":
        return str(block["text"]), {}
    if kind == "resource_link":
        return f"[link to {block['uri']}: {block['name']}]", {}
    if kind == "resource":
        resource = block["resource"]
        if "text" in resource:
            return f"[resource {resource['uri']}]\n{resource['text']}", {}
        fact = _fact(kind, str(resource.get("mimeType", "")), str(resource["blob"]))
        return f"[resource {resource['uri']}: {_size(fact)}]", {**fact, "uri": resource["uri"]}
    fact = _fact(kind, str(block["mimeType"]), str(block["data"]))
    return f"[{kind}: {_size(fact)}]", fact


def _fact(kind: str, mime: str, data: str) -> dict[str, Any]:
    size = len(data.rstrip("=")) * _BYTES // _CHARACTERS
    return {"type": kind, "mimeType": visible(mime[:100]), "bytes": size}


def _size(fact: Mapping[str, Any]) -> str:
    return f"{fact['mimeType'] or 'data'}, {fact['bytes']} bytes"


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): _clean(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value
