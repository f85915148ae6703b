"""What a server says of its tools, as far as it can be used: checked, cut, nothing hidden in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.servers import definition_of
from tongs.output import visible

# A list that is longer is no list for a reader, whoever that is. To check one takes time that all
# servers share, and all of it is kept with what was accepted.
MOST_TOOLS = 512
LARGEST_LIST = 4 * 1024 * 1024
LONGEST_DESCRIPTION = 16 * 1024
LONGEST_TITLE = 256
LARGEST_SCHEMA = 256 * 1024
# Lines about what was left out.
MOST_PROBLEMS = 50

# What the protocol allows, and `/`, which servers use nevertheless.
_NAME = re.compile(r"[A-Za-z0-9_./-]{1,128}", re.ASCII)
_HINTS = ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint")


class Malformed(Exception):
    """Why a tool is left out."""


class Room:
    """What one list may still take, over all of its pages."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.bytes = LARGEST_LIST

    @property
    def full(self) -> bool:
        return len(self.names) >= MOST_TOOLS or self.bytes <= 0

    def take(self, item: Any) -> None:
        """Raises Malformed where it does not fit."""
        if self.bytes > 0:
            self.bytes -= len(json.dumps(item))
        if len(self.names) >= MOST_TOOLS:
            raise Malformed(f"a server may have {MOST_TOOLS} tools")
        if self.bytes <= 0:
            raise Malformed(f"a list of tools may have {LARGEST_LIST >> 20} MiB")


def usable(told: Sequence[Any], problems: list[str], room: Room) -> list[dict[str, Any]]:
    """The tools of a page of a list that can be used; a line for each that cannot."""
    found: list[dict[str, Any]] = []
    for at, item in enumerate(told):
        try:
            room.take(item)
            definition = checked(item)
            if definition["name"] in room.names:
                raise Malformed("another tool of the list has its name")
            room.names.add(definition["name"])
            found.append(definition)
        except Malformed as malformed:
            if len(problems) < MOST_PROBLEMS:
                problems.append(f"{_called(item, at)} was left out: {malformed}")
    return found


def checked(told: Any) -> dict[str, Any]:
    """One definition. Raises Malformed."""
    if not isinstance(told, dict):
        raise Malformed("it is no object")
    if not isinstance(told.get("name"), str) or not _NAME.fullmatch(told["name"]):
        raise Malformed("its name is not made of letters, digits, `_`, `-`, `.` and `/`")
    definition = definition_of(told)
    for key, most in (("title", LONGEST_TITLE), ("description", LONGEST_DESCRIPTION)):
        if key in definition:
            definition[key] = _text(definition[key], key, most)
    definition["inputSchema"] = _schema(told.get("inputSchema"), "inputSchema")
    if "outputSchema" in definition:
        definition["outputSchema"] = _schema(definition["outputSchema"], "outputSchema")
    if "annotations" in definition:
        definition["annotations"] = _annotations(definition["annotations"])
    return definition


def _called(item: Any, at: int) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return f"`{visible(name[:64])}`" if isinstance(name, str) and name else f"tool {at + 1}"


def _text(value: Any, key: str, most: int) -> str:
    if not isinstance(value, str):
        raise Malformed(f"its {key} is no text")
    return shown(value, most)


def shown(text: str, most: int) -> str:
    """Text of a stranger for a reader: nothing hidden, and no more than that."""
    return visible(text if len(text) <= most else f"{text[:most]} […]")


def _schema(value: Any, key: str) -> dict[str, Any]:
    from tongs.schema.check import SchemaInvalid, check_root, check_schema  # noqa: PLC0415 - slow

    if not isinstance(value, dict):
        raise Malformed(f"its {key} is no schema")
    if len(json.dumps(value)) > LARGEST_SCHEMA:
        raise Malformed(f"its {key} is larger than {LARGEST_SCHEMA >> 10} KiB")
    cleaned: dict[str, Any] = all_visible(value)
    try:
        if key == "inputSchema":
            # Everybody after us takes it for granted.
            cleaned.setdefault("properties", {})
            check_root(cleaned)
        else:
            check_schema(cleaned)
    except SchemaInvalid as invalid:
        raise Malformed(f"its {key} is no JSON Schema: {visible(invalid.message[:200])}") from None
    return cleaned


def all_visible(value: Any) -> Any:
    """Models read the texts of a schema, too."""
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(key): all_visible(item) for key, item in value.items()}
    if isinstance(value, list):
        return [all_visible(item) for item in value]
    return value


def _annotations(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise Malformed("its annotations are no object")
    hints = {key: value[key] for key in _HINTS if isinstance(value.get(key), bool)}
    title = value.get("title")
    return {**({"title": shown(title, LONGEST_TITLE)} if isinstance(title, str) else {}), **hints}
