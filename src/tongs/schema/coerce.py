"""Text typed on a command line, as the value its schema asks for."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tongs.core.annotations import Any

_INTEGER = re.compile(r"[-+]?[0-9]{1,1000}\Z")
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]{1,3})?\Z")
_BOOLEANS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
# The narrow types first: text fits a string always, and `1` is a number before it is a boolean.
_ORDER = ("null", "integer", "number", "boolean", "array", "object", "string")


class _Unfit(Exception):
    """This text is no value of this type."""


def coerce(text: str | Sequence[str], schema: Mapping[str, Any] | bool) -> Any:
    """The value `text` stands for, or `text` itself, so that validation says what is wrong.

    A sequence is a parameter that was given several times; only an array takes more than one.
    """
    texts = [text] if isinstance(text, str) else list(text)
    wanted = types(schema)
    if len(texts) != 1:
        if "array" in wanted:
            return _elements(texts, schema)
        return texts
    given = texts[0]
    for name in wanted:
        try:
            return _READERS[name](given, schema)
        except _Unfit:
            continue
    return given


def types(schema: Mapping[str, Any] | bool) -> list[str]:
    """What it may be, the narrowest first."""
    if not isinstance(schema, Mapping):
        return ["string"]
    wanted = schema.get("type")
    if wanted is None:
        return _guessed(schema)
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    return [name for name in _ORDER if name in names]


def _guessed(schema: Mapping[str, Any]) -> list[str]:
    """Without a `type` the values or the branches tell; else text stays text."""
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list):
        kinds = {type(choice) for choice in choices}
        order = {type(None): "null", int: "integer", float: "number", bool: "boolean"}
        return [*(name for kind, name in order.items() if kind in kinds), "string"]
    branches = schema.get("anyOf") or schema.get("oneOf") or []
    found = {name for branch in branches for name in types(branch)}
    return [name for name in _ORDER if name in found] or ["string"]


def _integer(text: str, _: Any) -> int:
    if not _INTEGER.match(text):
        raise _Unfit
    return int(text)


def _number(text: str, _: Any) -> int | float:
    if _INTEGER.match(text):
        return int(text)
    if not _NUMBER.match(text):
        raise _Unfit
    number = float(text)
    if number in (float("inf"), float("-inf")):
        raise _Unfit
    return number


def _boolean(text: str, _: Any) -> bool:
    value = _BOOLEANS.get(text.lower())
    if value is None:
        raise _Unfit
    return value


def _null(text: str, schema: Any) -> None:
    if text != "null" or "string" in types(schema):
        raise _Unfit


def _array(text: str, schema: Any) -> list[Any]:
    if text.lstrip().startswith("["):
        with suppress(_Unfit):
            return list(_json(text))
    if "string" in types(schema):
        raise _Unfit
    return _elements([text], schema)


def _object(text: str, _: Any) -> dict[str, Any]:
    value = _json(text)
    if not isinstance(value, dict):
        raise _Unfit
    return value


def _string(text: str, _: Any) -> str:
    return text


_READERS = {
    "null": _null,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
    "array": _array,
    "object": _object,
    "string": _string,
}


def _elements(texts: Sequence[str], schema: Any) -> list[Any]:
    items = schema.get("items", True) if isinstance(schema, Mapping) else True
    return [coerce(text, items) for text in texts]


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise _Unfit from None


def _no_constant(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")
