"""Find `{NAME}` in an author's text.

`{RAW:NAME}`, `{URL:NAME}` and `{JSON:NAME}` choose how the value is written. `{{NAME}}` writes a
literal `{NAME}`. A name that is no slot stays as it is (awk, jq, JSON and brace expansion use
braces too), and `${NAME}` always belongs to the shell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from enum import Enum

from tongs.core.record import dataclass
from tongs.template.values import ABSENT, Slot, Slots, Value, plain_text, utf8


class Mode(Enum):
    SAFE = ""
    RAW = "RAW"
    URL = "URL"
    JSON = "JSON"


@dataclass(frozen=True, slots=True)
class Placeholder:
    """`text[start:end]` stands for the value of `slot`."""

    slot: Slot
    mode: Mode
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Literal:
    """`text[start:end]` is an escaped `{{NAME}}` and means `text`."""

    text: str
    start: int
    end: int


_TOKEN = re.compile(
    r"(?<!\$)\{(?:\{(?P<literal>[\w.:-]+)\}\}|(?:(?P<mode>RAW|URL|JSON):)?(?P<name>[\w.-]+)\})"
)


def find(text: str, slots: Slots) -> Iterator[Placeholder | Literal]:
    """Every placeholder and escape of a known name, in order, none overlapping."""
    for match in _TOKEN.finditer(text):
        if (literal := match["literal"]) is not None:
            if literal.rpartition(":")[2] in slots:
                yield Literal("{" + literal + "}", match.start(), match.end())
        elif (slot := slots.get(match["name"])) is not None:
            yield Placeholder(slot, Mode(match["mode"] or ""), match.start(), match.end())


def names(items: Iterable[object]) -> frozenset[str]:
    """The names of the slots that the placeholders among `items` use."""
    return frozenset(item.slot.name for item in items if isinstance(item, Placeholder))


def raw_names(items: Iterable[object]) -> frozenset[str]:
    """The names used with `RAW:`, whose values are inserted as they are."""
    return names(i for i in items if isinstance(i, Placeholder) and i.mode is Mode.RAW)


def written(value: Value, placeholder: Placeholder) -> Value:
    """The value after `URL:` or `JSON:` rewrote it; any other mode leaves it alone."""
    if value is ABSENT or placeholder.mode in (Mode.SAFE, Mode.RAW):
        return value
    text = plain_text(value, placeholder.slot)
    if placeholder.mode is Mode.JSON:
        return json.dumps(text, ensure_ascii=False)[1:-1]
    from urllib.parse import quote  # noqa: PLC0415 - costs start-up, and few tools need it

    return quote(utf8(text), safe="")
