"""The reference page of the built-in tools, made from the tools themselves."""

from collections.abc import Mapping
from typing import Any

from tongs.builtin import ALIASES, MODULES, Builtins
from tongs.config.settings import Settings
from tongs.core.tool import Tool

_HEAD = """\
# Built-in tools

<!-- Generated from the tools in src/tongs/builtin by `make docs`; do not edit. -->

These come with Tongs. They are called like any tool (`tongs tool run read_file path=README.md`),
and `tongs tool list --builtin` lists them. Paths start at the workspace: the project, or else the
working directory. An absolute path is accepted if it lies in there; what leads out of it, also
through a link, is not (`INVALID_PATH`). [How they are used](../how-to/work-on-files.md).

"value" is what a program gets (`value` of the result), beside a text for a reader (`output`).
"""


def builtin_reference() -> str:
    """The whole text of docs/reference/built-in-tools.md."""
    builtins = Builtins(Settings())
    parts = [_HEAD]
    for name in MODULES:
        tool = builtins.get(name)
        assert tool is not None
        also = [alias for alias, meant in ALIASES.items() if meant == name]
        parts.append(_entry(tool, also))
    return "".join(parts)


def _entry(tool: Tool, aliases: list[str]) -> str:
    lines = [f"\n## {tool.name}\n", f"{tool.description}.\n"]
    if aliases:
        lines.append(f"Also called `{'`, `'.join(aliases)}`.\n")
    lines += ["| argument | type | meaning |", "|---|---|---|"]
    required = tool.input_schema.get("required", ())
    for name, schema in tool.input_schema["properties"].items():
        lines.append(f"| `{name}` | {_type(schema)} | {_meaning(schema, name in required)} |")
    if tool.output_schema is not None:
        lines += ["\nvalue:\n", "| key | type | meaning |", "|---|---|---|"]
        for name, schema in tool.output_schema["properties"].items():
            always = name in tool.output_schema.get("required", ())
            lines.append(f"| `{name}` | {_type(schema)} | {_returned(schema, always)} |")
    timeout = "" if tool.timeout is None else f" Timeout: {tool.timeout:g} s."
    lines.append(f"\nLevel `{tool.level}`. Approval: {_approval(tool)}.{timeout}\n")
    return "\n".join(lines)


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{each}`" for each in schema["enum"])
    kind = schema.get("type", "any")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _meaning(schema: Mapping[str, Any], required: bool) -> str:
    text = str(schema.get("description", "")).rstrip(".").replace("|", "\\|")
    if required:
        return f"{text} (required)"
    if "default" in schema:
        default = str(schema["default"]).lower() if schema["default"] in (True, False) else None
        return f"{text} (default: `{default or schema['default']}`)"
    return text


def _returned(schema: Mapping[str, Any], always: bool) -> str:
    text = str(schema.get("description", "")).rstrip(".").replace("|", "\\|")
    inner = schema.get("items", {}).get("properties", {})
    if inner:
        text = "each with " + ", ".join(f"`{name}`" for name in inner)
    return text if always else f"{text} (not always there)".strip()


def _approval(tool: Tool) -> str:
    if tool.requires_approval is True:
        return f"always ({tool.approval_reason})"
    if callable(tool.requires_approval) or hasattr(tool.plan, "at_stake"):
        return f"where {tool.approval_reason}" if tool.approval_reason else "by its arguments"
    if callable(tool.automatic):
        return "agents ask, unless the config lists the host"
    return "none" if tool.automatic else "agents ask"
