"""Values as the text of JSON: ASCII, on one line, whatever they hold, and never without end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import sha256

from tongs.core.annotations import Any

# What a record keeps of arguments; the rest is known by its hash.
MOST_ARGUMENTS = 8192
LONGEST_TEXT = 512
# A refused argument may be nested without end, or contain itself.
DEEPEST = 32
# The same list may stand in itself twice, and twice in each of those.
MOST_ITEMS = 10_000

quoted: Callable[[str], str] = json.encoder.encode_basestring_ascii


def _encoder() -> Callable[[Any], str]:
    """Made once: `JSONEncoder.encode` makes the compiled one anew for each value."""
    compiled = getattr(json.encoder, "c_make_encoder", None)
    if compiled is None:
        return json.JSONEncoder(separators=(",", ":"), default=str, allow_nan=False).encode
    pieces = compiled(None, str, quoted, None, ":", ",", False, False, False)
    return lambda value: "".join(pieces(value, 0))


_encode = _encoder()
_NOT_JSON = (TypeError, ValueError, RecursionError, OverflowError)


def text_of(value: Any) -> str:
    """Any value of a tool or a caller; what JSON has no word for as a text."""
    try:
        return _encode(value)
    except _NOT_JSON:
        return _encode(plain(value))


def word(text: str) -> str:
    """A name or a sentence: of a stranger's making, so it may be long, or no text at all."""
    if type(text) is not str:
        text = str(text)
    return quoted(text if len(text) <= LONGEST_TEXT else shortened(text))


def arguments(given: Any) -> tuple[str, Any]:
    """`"arguments":…`, long ones shortened with the size and hash of the whole; and what is shown.

    What is shown is small enough to be walked through, whatever was given.
    """
    if type(given) is not dict and isinstance(given, Mapping):
        given = dict(given)
    try:
        text = _encode(given)
        if len(text) <= MOST_ARGUMENTS:
            return f'"arguments":{text}', given
    except _NOT_JSON:
        text = ""
    shown = plain(given)
    kept = _encode(shown)
    if len(kept) > MOST_ARGUMENTS:
        shown = f"{kept[:LONGEST_TEXT]}…"
        kept = quoted(shown)
    if not text:
        return f'"arguments":{kept},"argumentsCut":true', shown
    seal = sha256(text.encode("ascii")).hexdigest()
    return f'"arguments":{kept},"argumentsSize":{len(text)},"argumentsHash":"{seal}"', shown


def plain(value: Any) -> Any:
    """The value as JSON can say it: bounded in depth and number, strange things described."""
    left = MOST_ITEMS

    def said(value: Any, depth: int) -> Any:
        nonlocal left
        left -= 1
        if depth > DEEPEST or left < 0:
            return "…"
        if isinstance(value, str):
            return shortened(value)
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, Mapping):
            return {shortened(str(key)): said(item, depth + 1) for key, item in value.items()}
        if isinstance(value, list | tuple):
            return [said(item, depth + 1) for item in value]
        return _number(value) if isinstance(value, int | float) else shortened(str(value))

    return said(value, 0)


def _number(value: float) -> float | str:
    if isinstance(value, int):
        # Python refuses to print one that is too long.
        return value if value.bit_length() <= 4096 else f"an integer of {value.bit_length()} bits"
    return value if value - value == 0 else str(value)


def shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… ({len(text)} characters)"
