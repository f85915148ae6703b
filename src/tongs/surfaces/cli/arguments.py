"""The arguments of a call, from what was typed: `X=1`, `--param X=1`, `--input-json`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.tool import Tool
from tongs.schema.coerce import coerce
from tongs.schema.nearest import nearest
from tongs.schema.resolve import plain


def arguments_for(tool: Tool, texts: Sequence[str], json_source: str | None) -> dict[str, Any]:
    """Every argument typed for this tool; the pipeline then checks them against its schema.

    JSON is taken as it is. Text becomes what the schema asks for, and text that cannot stays text,
    so that the check can say what is wrong with it.
    """
    arguments = _from_json(tool, json_source) if json_source is not None else {}
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    for name, values in _grouped(tool, texts).items():
        if name in arguments:
            raise _wrong(tool, f"{name} is given twice: in --input-json and as a parameter")
        if name not in properties:
            raise _unknown(tool, name, properties)
        arguments[name] = _value(tool, name, values, plain(properties[name], tool.input_schema))
    return arguments


def _grouped(tool: Tool, texts: Sequence[str]) -> dict[str, list[str]]:
    grouped: dict[str, list[str]] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise _wrong(
                tool,
                f"expected NAME=VALUE, got `{text}`",
                f"tongs tool run {tool.name} {_example(tool)}".rstrip(),
            )
        grouped.setdefault(name, []).append(value)
    return grouped


def _value(tool: Tool, name: str, values: list[str], schema: Mapping[str, Any]) -> Any:
    if len(values) == 1:
        return coerce(values[0], schema)
    value = coerce(values, schema)
    if value == values and not _takes_several(schema):
        raise _wrong(tool, f"{name} is given {len(values)} times, but is no array")
    return value


def _takes_several(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    return kind == "array" or (isinstance(kind, list) and "array" in kind)


def _from_json(tool: Tool, source: str) -> dict[str, Any]:
    try:
        value = json.loads(_json_text(source))
    except OSError as error:
        raise _wrong(tool, f"--input-json {source}: {error.strerror}") from None
    except ValueError as error:
        raise _wrong(tool, f"--input-json is no JSON: {error}") from None
    except RecursionError:
        raise _wrong(tool, "--input-json is nested too deeply") from None
    if not isinstance(value, dict):
        raise _wrong(tool, "--input-json must be one JSON object", 'for example {"NAME": "value"}')
    return value


def _json_text(source: str) -> str | bytes:
    if source == "-":
        return sys.stdin.buffer.read()
    if source.startswith("@"):
        with open(source[1:], "rb") as file:
            return file.read()
    return source


def _unknown(tool: Tool, name: str, known: Mapping[str, Any]) -> ToolError:
    close = nearest(name, known)
    listed = ", ".join(known)
    hint = f"it takes: {listed}" if listed else "it takes no parameters"
    message = f"it has no parameter {name}"
    return _wrong(tool, message, f"did you mean `{close[0]}`?" if close else hint)


def _wrong(tool: Tool, message: str, hint: str = "") -> ToolError:
    return ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        f"{tool.name} was not run: {message}",
        blocked_by=BlockedBy.SCHEMA,
        hint=hint or f"tongs tool get {tool.name}",
    )


def _example(tool: Tool) -> str:
    required = tool.input_schema.get("required") or list(tool.input_schema.get("properties", {}))
    return f"{required[0]}=…" if required else ""
