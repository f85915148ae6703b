"""Certainly valid, or don't know: the common case without loading the JSON Schema engine."""

from __future__ import annotations

from math import isfinite

from tongs.core.annotations import Any

_SILENT = ("description", "default", "title", "examples")
_KNOWN = {"type", "properties", "required", "additionalProperties", "items", "enum", *_SILENT}
_NAMES = {str: "string", bool: "boolean", dict: "object", list: "array", type(None): "null"}
_NUMBERS = ("integer", "number")


def certainly_valid(schema: Any, value: Any) -> bool:
    """True only where JSON Schema 2020-12 accepts `value` too; False says nothing.

    Exact types only: a subclass or a value JSON cannot carry is left to the engine. Recursion
    follows the schema, never the value, so a deep value cannot exhaust the stack.
    """
    if type(schema) is not dict or not schema.keys() <= _KNOWN:
        return False
    if "type" in schema and not _has_type(schema["type"], value):
        return False
    if "enum" in schema:
        # `True == 1` in Python but not in JSON, so the types have to agree as well.
        choices = schema["enum"]
        return _scalar(value) and any(type(one) is type(value) and one == value for one in choices)
    if type(value) is list:
        items = schema.get("items")
        return all(_scalar(one) if items is None else certainly_valid(items, one) for one in value)
    return _object_fits(schema, value) if type(value) is dict else _scalar(value)


def _has_type(wanted: Any, value: Any) -> bool:
    if type(value) is int or (type(value) is float and value.is_integer()):
        return wanted in _NUMBERS
    return bool(wanted == ("number" if type(value) is float else _NAMES.get(type(value))))


def _scalar(value: Any) -> bool:
    if type(value) is str:
        # Lone surrogates cannot be written as UTF-8, so nothing below could carry them.
        return value.isascii() or not any("\ud800" <= char <= "\udfff" for char in value)
    return value is None or type(value) in (bool, int) or (type(value) is float and isfinite(value))


def _object_fits(schema: dict[str, Any], value: dict[Any, Any]) -> bool:
    known = schema.get("properties", {})
    required = schema.get("required", ())
    extra = schema.get("additionalProperties", True)
    if type(known) is not dict or type(extra) is not bool or not value.keys() >= set(required):
        return False
    return all(
        certainly_valid(known[name], one)
        if type(name) is str and name in known
        else extra and _scalar(name) and type(name) is str and _scalar(one)
        for name, one in value.items()
    )
