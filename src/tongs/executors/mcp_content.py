"""What a server gave for a call, as text for a reader and as a value for a program.

Nothing that a terminal obeys or an eye cannot see is left in it. Pictures and the like are named in
the text and, where they are what they say, attached; all blocks as they came lie in the spool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.execution import Context
from tongs.core.result import Attachment, ToolResult
from tongs.core.servers import ServerAnswer
from tongs.executors.keeping import held
from tongs.executors.mcp_attachments import attachments_of
from tongs.output import visible
from tongs.template.values import utf8

# Of base64: three bytes in four characters.
_BYTES, _CHARACTERS = 3, 4


def result_of(answer: ServerAnswer, context: Context) -> ToolResult:
    """The answer without an error, held to limits.output."""
    blocks = [_described(block) for block in answer.content]
    value, facts, warnings = _bounded(_clean(answer.structured), context)
    passed: list[Attachment] = []
    text = "\n".join(shown for shown, _ in blocks)
    if not text and value is not None:
        text = json.dumps(value, ensure_ascii=False, indent=2)
    if data := [fact for _, fact in blocks if fact]:
        facts["blocks"] = data
        passed, left_out = attachments_of(answer.content)
        warnings += left_out
        if handle := context.put_aside(_kept_form(list(answer.content), context)):
            facts["contentHandle"] = handle
    return held(
        ToolResult(
            output=visible(text),
            value=value,
            warnings=[*answer.warnings, *warnings],
            metadata=facts,
            attachments=tuple(passed),
        ),
        context,
    )


def _bounded(value: Any, context: Context) -> tuple[Any, dict[str, Any], list[str]]:
    """A value is whole or not there: cut, it would be another one."""
    if value is None:
        return None, {}, []
    data = _kept_form(value, context)
    kept = context.keep(data)
    if len(kept.data) == len(data):
        return value, {}, []
    facts = {} if kept.handle is None else {"valueHandle": kept.handle}
    size = len(data)
    return None, facts, [f"the value was left out: its {size} bytes are more than limits.output"]


def _kept_form(data: Any, context: Context) -> bytes:
    """As JSON, without the secrets of the call."""
    text = json.dumps(data, ensure_ascii=False)
    return utf8(text if context.redactor is None else context.redactor.text(text))


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
