"""What a client is told of a call: text for the model, structure for a program."""

from __future__ import annotations

import json
from base64 import b64encode

from tongs.core.annotations import Any
from tongs.core.digest import digest_of
from tongs.core.errors import ToolError
from tongs.core.record import replace
from tongs.core.result import Attachment, ToolResult
from tongs.core.tool import Tool
from tongs.output import visible
from tongs.runtime.call_shapes import MOST_SHOWN, told
from tongs.schema.check import violations
from tongs.surfaces.mcp.listing import promised_output
from tongs.surfaces.mcp.uris import output_uri

# Names in `_meta`, which the protocol leaves to whoever makes them.
ERROR, CALL = "tongs/error", "tongs/call"

_RAN = "the call has run, but its output does not fit the schema that was promised"


def wire_result(result: ToolResult, tool: Tool | None) -> dict[str, Any]:
    """A `CallToolResult`. Without an error it keeps what `tool` has promised."""
    promised = None if tool is None else promised_output(tool)
    value = clean(result.value)
    broken = promised is not None and result.ok and bool(violations(promised, value))
    content: list[dict[str, Any]] = [{"type": "text", "text": _text(result, broken=broken)}]
    if handle := result.metadata.get("outputHandle"):
        content.append(_link(str(handle)))
    content += [_attached(one) for one in result.attachments]
    made: dict[str, Any] = {
        "content": content,
        "isError": broken or not result.ok,
        "resultType": "complete",
        "_meta": {CALL: result.tool_call_id},
    }
    if result.error is not None:
        made["_meta"][ERROR] = error_wire(result.error)
        # Clients check whatever structure they get against the promise, in a failure, too.
        if promised is None:
            made["structuredContent"] = {"error": error_wire(result.error)}
    elif not broken and isinstance(value, dict) and (promised is not None or _is_short(value)):
        # An earlier protocol takes nothing but an object.
        made["structuredContent"] = value
    return made


def clean(value: Any) -> Any:
    """The same with nothing hidden in its texts: clients show models the structure, too."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(str(key)): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    if value is None or isinstance(value, bool | int | float):
        return value
    return visible(str(value))  # of a function of the program, which may answer with anything


def error_wire(error: ToolError) -> dict[str, Any]:
    return {
        "code": str(error.code),
        "message": visible(error.message),
        "hint": visible(error.hint),
        "blockedBy": None if error.blocked_by is None else str(error.blocked_by),
    }


def _text(result: ToolResult, *, broken: bool) -> str:
    if not broken:
        return told(result)
    return told(replace(result, warnings=(_RAN, *result.warnings)))


def _is_short(value: dict[str, Any]) -> bool:
    """What nobody was promised says only what the text says, which is cut where it is long."""
    return len(json.dumps(value, default=str)) <= MOST_SHOWN


def _attached(one: Attachment) -> dict[str, Any]:
    data = b64encode(one.data).decode()
    if one.kind in ("image", "audio"):
        return {"type": one.kind, "data": data, "mimeType": one.mime}
    # Not the server's own name of it, which clients could take for a place.
    uri = f"tongs://attachment/{digest_of(one.data)}"
    return {"type": "resource", "resource": {"uri": uri, "mimeType": one.mime, "blob": data}}


def _link(handle: str) -> dict[str, Any]:
    return {
        "type": "resource_link",
        "uri": output_uri(handle),
        "name": f"output {handle}",
        "description": "The whole output, of which a part is shown here",
        "mimeType": "text/plain",
    }
