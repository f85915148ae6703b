"""What an unquoted word of YAML means: the core schema of YAML 1.2, narrowed to JSON."""

from __future__ import annotations

import re
from math import isfinite

_WORDS: dict[str, bool | None] = {
    "": None,
    "~": None,
    **dict.fromkeys(("null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# `010` is 8 to some readers and 10 to others, and a number prints as it was written: it stays text.
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)\Z")
_BASED = re.compile(r"0x[0-9a-fA-F]+\Z|0o[0-7]+\Z")
_FLOAT = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?\Z")
_NOT_JSON = frozenset(
    f"{sign}{word}" for sign in ("", "-", "+") for word in (".inf", ".Inf", ".INF")
)
_MAX_DIGITS = 1000


class NotANumber(ValueError):
    """YAML calls it a number, JSON cannot carry it."""


def plain(text: str) -> str | int | float | bool | None:
    """The value of an unquoted scalar."""
    if text in _WORDS:
        return _WORDS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.match(text):
        if len(text) > _MAX_DIGITS:
            raise NotANumber(f"a number of {len(text)} digits is too long")
        return int(text)
    if _FLOAT.match(text):
        number = float(text)
        if not isfinite(number):
            raise NotANumber(f"`{text[:40]}` is too large for a number")
        return number
    if text in _NOT_JSON or text in (".nan", ".NaN", ".NAN"):
        raise NotANumber(f"`{text}` is no number that JSON knows")
    if _BASED.match(text):
        if len(text) > _MAX_DIGITS:
            raise NotANumber(f"a number of {len(text)} digits is too long")
        return int(text, 0)
    return text
