"""What a placeholder may stand for, and the one way a value becomes text."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from enum import Enum

from tongs.core.annotations import Any, Final, TypeAlias
from tongs.core.record import dataclass


class Absent(Enum):
    """An optional parameter that was not given: different from an empty text."""

    ABSENT = "absent"

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = Absent.ABSENT

NO_UNICODE: Final = "is no valid Unicode text (half a surrogate pair)"

# A JSON value or ABSENT.
Value: TypeAlias = Any
Values: TypeAlias = Mapping[str, Value]


@dataclass(frozen=True, slots=True)
class Slot:
    """One name a placeholder may use: a parameter or a property of an earlier step."""

    name: str
    type: str = "string"
    true_value: str | None = None
    false_value: str | None = None
    # The author listed every allowed value (`enum`), so it cannot carry a stranger's code.
    closed: bool = False
    # The author bounded the value with `pattern`.
    patterned: bool = False

    @property
    def mapped(self) -> bool:
        """A boolean whose author wrote the text for true, false, or both."""
        return self.type == "boolean" and (
            self.true_value is not None or self.false_value is not None
        )

    @property
    def harmless(self) -> bool:
        """No value of this slot can be read as code by a second interpreter."""
        return self.closed or self.type in {"number", "integer", "boolean"}

    def authors_text(self, value: Value) -> str | None:
        """The author's own words for a mapped boolean; None where they wrote no word for it."""
        return self.true_value if value else self.false_value


Slots: TypeAlias = Mapping[str, Slot]


class TemplateError(ValueError):
    """The author's text cannot be rendered safely. `offset` counts characters from its start."""

    def __init__(self, message: str, *, offset: int = 0, hint: str = "", rule: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.offset = offset
        self.hint = hint
        self.rule = rule


class ValueRefused(ValueError):
    """A value that this place of the template cannot carry (for example a NUL in an argument)."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name} {reason}")
        self.name = name
        self.reason = reason


def number_text(value: int | float) -> str:
    """A number as a person writes it: `5`, never `5.0`; big integers unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value) if isinstance(value, int) else repr(value)


def plain_text(value: Value, slot: Slot | None = None) -> str:
    """The value as one piece of text; absent is empty, an array is joined by blanks."""
    if value is ABSENT or value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        if slot is not None and slot.mapped:
            return slot.authors_text(value) or ""
        return "true" if value else "false"
    if isinstance(value, int | float):
        return number_text(value)
    if isinstance(value, list):
        return " ".join(plain_text(element) for element in value)
    return json.dumps(value, ensure_ascii=False)


def without_absent(data: Value, value_of: Callable[[Any], Value]) -> Value:
    """Objects and lists with the value of each leaf; an entry whose value is absent is dropped."""
    if isinstance(data, (dict, Mapping)):  # an abstract class is asked several times slower
        pairs = {key: without_absent(entry, value_of) for key, entry in data.items()}
        return {key: entry for key, entry in pairs.items() if entry is not ABSENT}
    if isinstance(data, list):
        entries = [without_absent(entry, value_of) for entry in data]
        return [entry for entry in entries if entry is not ABSENT]
    return value_of(data)


def is_unicode(text: str) -> bool:
    """Whether the text can be written as UTF-8: JSON also allows half a surrogate pair."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def utf8(text: str) -> bytes:
    """The bytes a text stands for; never fails.

    `\\udc80` to `\\udcff` stand for bytes that were no UTF-8 (as in file names); other lone
    surrogates, which JSON allows, are written as three bytes.
    """
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return b"".join(
            char.encode(
                "utf-8", "surrogateescape" if "\udc80" <= char <= "\udcff" else "surrogatepass"
            )
            for char in text
        )
