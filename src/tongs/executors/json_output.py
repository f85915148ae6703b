"""JSON that a program printed or a server sent, as data.

Read more strictly than Python does by itself: the value goes on to programs in other languages,
for which NaN and Infinity are no JSON, and to functions that call themselves for each level.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from math import isfinite

from tongs.core.annotations import Any
from tongs.core.execution import Completed
from tongs.output import decoded

# Nobody means more; and a value is walked by functions that call themselves.
DEEPEST_JSON = 100
_TOO_DEEP = f"it is nested deeper than {DEEPEST_JSON} levels"


def promised(completed: Completed) -> tuple[Any, list[str]]:
    """The output of a program that was promised to be JSON; else what is wrong with it."""
    if completed.stdout_size > len(completed.stdout):
        return None, ["the value is not here as data, since its text was cut"]
    try:
        return read_json(decoded(completed.stdout)), []
    except ValueError as error:
        return None, [f"the output is no JSON, though the definition says so: {error}"]


def read_json(text: str) -> Any:
    """JSON of somebody else. Raises ValueError, also for what would break whoever reads it next.

    A byte order mark at its start, which some programs write, is none of it.
    """
    return _read(text, _refuse_constant)


def read_with_gaps(text: str) -> Any:
    """The same with null for numbers that JSON cannot carry: enough to see an error in it."""
    return _read(text, lambda _: None)


def _read(text: str, uncarried: Callable[[str], Any]) -> Any:
    def number(text: str) -> Any:
        value = float(text)
        return value if isfinite(value) else uncarried(text[:20])

    try:
        plain = text.removeprefix("\ufeff")
        data = json.loads(plain, parse_constant=uncarried, parse_float=number)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count("[") + text.count("{") > DEEPEST_JSON:
        level = [data]
        for _ in range(DEEPEST_JSON):
            level = [item for each in level for item in _items(each)]
            if not level:
                break
        else:
            raise ValueError(_TOO_DEEP)
    return data


def _items(data: Any) -> Iterable[Any]:
    """What is inside, as far as it has an inside itself."""
    found = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
    return (item for item in found if isinstance(item, dict | list))


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number that JSON can carry")
