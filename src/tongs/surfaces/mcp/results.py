"""What a client is told of a call: text for the model, structure for a program."""

from __future__ import annotations

import json

from tongs.core.annotations import Any
from tongs.core.errors import ToolError
from tongs.core.record import replace
from tongs.core.result import ToolResult
from tongs.core.tool import Tool
from tongs.runtime.model_calls import MOST_SHOWN, told
from tongs.schema.check import violations
from tongs.surfaces.mcp.listing import promised_output
from tongs.surfaces.mcp.uris import output_uri

# Names in `_meta`, which the protocol leaves to whoever makes them.
ERROR, CALL = "tongs/error", "tongs/call"

_RAN = "the call has run, but its output does not fit the schema that was promised"


def wire_result(result: ToolResult, tool: Tool | None) -> dict[str, Any]:
    """A `CallToolResult`. Without an error it keeps what `outputSchema` promised."""
    promised = None if tool is None else promised_output(tool)
    broken = promised is not None and result.ok and bool(violations(promised, result.value))
    content: list[dict[str, Any]] = [{"type": "text", "text": _text(result, broken=broken)}]
    if handle := result.metadata.get("outputHandle"):
        content.append(_link(str(handle)))
    made: dict[str, Any] = {
        "content": content,
        "isError": broken or not result.ok,
        "resultType": "complete",
        "_meta": {CALL: result.tool_call_id},
    }
    if result.error is not None:
        made["_meta"][ERROR] = error_wire(result.error)
        made["structuredContent"] = {"error": error_wire(result.error)}
    elif (value := _structure(result, promised is not None)) is not None:
        made["structuredContent"] = value
    return made


def error_wire(error: ToolError) -> dict[str, Any]:
    return {
        "code": str(error.code),
        "message": error.message,
        "hint": error.hint,
        "blockedBy": None if error.blocked_by is None else str(error.blocked_by),
    }


def _text(result: ToolResult, *, broken: bool) -> str:
    if not broken:
        return told(result)
    return told(replace(result, warnings=(_RAN, *result.warnings)))


def _structure(result: ToolResult, promised: bool) -> Any:
    """The value, if it is an object: an earlier protocol takes nothing else. One that nobody was
    promised is left out where it is long, since it says what the text says."""
    value = result.value
    if not isinstance(value, dict):
        return None
    if promised:
        return value
    return value if len(json.dumps(value, default=str)) <= MOST_SHOWN else None


def _link(handle: str) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": output_uri(handle),
        "name": f"output {handle}",
        "description": "The whole output, of which a part is shown here",
        "mimeType": "text/plain",
    }
