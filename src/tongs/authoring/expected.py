"""Whether a result is what an example promises, and if not, where it differs (SEMANTICS 39).

In a text `...` stands for anything. In JSON the string "..." stands for any value; written without
quotes in a list or an object it stands for all that may follow there.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from tongs.core.annotations import Any

ANYTHING = "..."
# What an unquoted `...` is turned into; no JSON text of an author has it.
_REST = "\0rest"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|\.\.\.|[\[\]{}]')

# Differences and lines shown of one example; the first ones tell the most.
_MOST = 10
_LONGEST = 200


def differences(expected: Any, output: str, value: Any) -> list[str]:
    """What is wrong, as lines for a person; none where the result is as expected.

    A text is compared with the output, or as JSON where the result has a value.
    """
    if not isinstance(expected, str):
        try:
            actual = json.loads(output) if value is None else value
        except ValueError:
            return [f"expected: {_shown(expected)}", f"got text: {_cut(output.strip())}"]
        return _first(_of_data(expected, actual, ""))
    if value is not None and not isinstance(value, str):
        try:
            wanted = json.loads(_with_rest(expected))
        except ValueError:
            return _of_text(expected, output)
        return _first(_of_data(wanted, value, ""))
    return _of_text(expected, output if value is None else value)


def text_fits(expected: str, actual: str) -> bool:
    """`...` matches anything, also nothing and also lines."""
    first, *others = expected.split(ANYTHING)
    if not others:
        return expected == actual
    *middle, last = others
    if not actual.startswith(first):
        return False
    position = len(first)
    # The earliest place is always the best one: it leaves the most for what follows.
    for part in middle:
        found = actual.find(part, position)
        if found < 0:
            return False
        position = found + len(part)
    return len(actual) - len(last) >= position and actual.endswith(last)


def _of_text(expected: str, actual: str) -> list[str]:
    # How a block scalar ends is the author's habit, not part of the promise.
    expected, actual = expected.rstrip(), actual.rstrip()
    if text_fits(expected, actual):
        return []
    wanted, got = expected.splitlines(), actual.splitlines()
    if len(wanted) <= 1 and len(got) <= 1:
        return [f"expected: {_cut(expected)}", f"got:      {_cut(actual)}"]
    return _first(_changed_lines(wanted, got))


def _changed_lines(wanted: Sequence[str], got: Sequence[str]) -> Iterator[str]:
    import difflib  # noqa: PLC0415 - only where something differs

    # A line that fits with its `...` is no difference.
    fitting = [next((line for line in got if text_fits(want, line)), want) for want in wanted]
    yield "- expected, + got:"
    for line in difflib.unified_diff(fitting, got, lineterm="", n=1):
        if not line.startswith(("---", "+++", "@@")):
            yield _cut(line)


def _of_data(expected: Any, actual: Any, where: str) -> Iterator[str]:
    if expected == ANYTHING:
        return
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _of_objects(expected, actual, where)
    elif isinstance(expected, list) and isinstance(actual, list):
        yield from _of_lists(expected, actual, where)
    elif isinstance(expected, str) and isinstance(actual, str):
        if not text_fits(expected, actual):
            yield _unlike(expected, actual, where)
    # True is no 1, whatever Python says.
    elif isinstance(expected, bool) is not isinstance(actual, bool) or expected != actual:
        yield _unlike(expected, actual, where)


def _of_objects(
    expected: Mapping[str, Any], actual: Mapping[str, Any], where: str
) -> Iterator[str]:
    for key, wanted in expected.items():
        if key == _REST:
            continue
        inside = f"{where}.{key}" if where else str(key)
        if key in actual:
            yield from _of_data(wanted, actual[key], inside)
        else:
            yield f"{inside}: expected {_shown(wanted)}, but it is missing"
    if _REST not in expected:
        for key in actual:
            if key not in expected:
                inside = f"{where}.{key}" if where else str(key)
                yield f"{inside}: not expected, got {_shown(actual[key])}"


def _of_lists(expected: list[Any], actual: list[Any], where: str) -> Iterator[str]:
    if _REST in expected:
        cut = expected.index(_REST)
        head, tail = expected[:cut], expected[cut + 1 :]
        if len(actual) < len(head) + len(tail):
            least = len(head) + len(tail)
            yield f"{where or 'the list'}: expected at least {least} items, got {len(actual)}"
            return
        expected = [*head, *actual[cut : len(actual) - len(tail)], *tail]
    if len(expected) != len(actual):
        yield f"{where or 'the list'}: expected {len(expected)} items, got {len(actual)}"
    for number, (wanted, got) in enumerate(zip(expected, actual, strict=False)):
        yield from _of_data(wanted, got, f"{where}[{number}]")


def _with_rest(text: str) -> str:
    """JSON in which an unquoted `...` has become something that JSON has."""
    rest = json.dumps(_REST)
    open_marks: list[str] = []

    def replaced(match: re.Match[str]) -> str:
        token = match[0]
        if token in "[{":
            open_marks.append(token)
        elif token in "]}" and open_marks:
            open_marks.pop()
        elif token == ANYTHING:
            inside = open_marks[-1] if open_marks else ""
            return {"{": f"{rest}: 0", "[": rest}.get(inside, json.dumps(ANYTHING))
        return token

    return _TOKEN.sub(replaced, text)


def _unlike(expected: Any, actual: Any, where: str) -> str:
    subject = f"{where}: " if where else ""
    return f"{subject}expected {_shown(expected)}, got {_shown(actual)}"


def _shown(value: Any) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _first(lines: Iterator[str]) -> list[str]:
    found = list(lines)
    more = len(found) - _MOST
    return [*found[:_MOST], *([f"… and {more} more"] if more > 0 else [])]
