"""A call as a model wrote it, read so that nothing in it can end the conversation.

What stands in a conversation is sent back with every later message: what JSON or a provider does
not take would be refused each time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.conversation import CallMade
from tongs.schema.violation_text import not_json

# As where a tool's arguments are checked.
_DEEPEST = 100
_LONGEST_NAME = 64
_UNFINISHED = "the answer reached its limit of length before the arguments were there"


def call_made(
    made: str, name: str, written: str | Mapping[str, Any] | None, *, cut: bool
) -> CallMade:
    """`cut`: the answer ended with this call, and not because the model was done."""
    if isinstance(written, Mapping):
        return _checked(made, name, dict(written), "")
    text = whole(written or "")
    if not text.strip():
        # What a model did not come to write is not what it meant by nothing.
        return CallMade(made, name, None if cut else {}, text, _UNFINISHED if cut else "")
    try:
        read = json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        return CallMade(made, name, None, text, f"the arguments are not valid JSON: {error}")
    if not isinstance(read, dict):
        return CallMade(made, name, None, text, "the arguments are not a JSON object")
    return _checked(made, name, read, text)


def whole(text: str) -> str:
    """With a mark for each half of a character, which UTF-8 cannot carry."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def nameable(name: str) -> str:
    """As every provider takes the name of a function, also of one that there never was."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:_LONGEST_NAME] or "_"


def _checked(made: str, name: str, arguments: dict[str, Any], text: str) -> CallMade:
    if wrong := not_json(arguments, _DEEPEST):
        raw = text or whole(str(arguments))
        return CallMade(made, name, None, raw, f"the arguments cannot be taken: {wrong[0]}")
    return CallMade(made, name, arguments, text or json.dumps(arguments, ensure_ascii=False))


def _no_number(word: str) -> object:
    raise ValueError(f"{word} is no number of JSON")
