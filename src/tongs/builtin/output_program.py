"""Looks through kept output. Runs in the sandbox, in an interpreter of its own.

There, because a regular expression may never end and JSON may need a lot of memory. No part of
Tongs is imported: this file is all there is. The first line of stdin is the request as JSON, the
rest is the output to look through.
"""

from __future__ import annotations

import json
import re
import signal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any  # noqa: TID251 - for type checkers only

LONGEST_TEXT = 2000
MOST_TEXT = 100_000
# Seconds of the processor for an expression, and characters for which there is one more.
LONGEST_TRY = 1.0
CHARACTERS_A_SECOND = 2 * 1024 * 1024


class Refused(Exception):
    """What was asked for cannot be had, in words for whoever asked."""


class Stuck(Exception):
    """The expression does not come to an end."""


def main() -> None:
    request = json.loads(sys.stdin.buffer.readline())
    data = sys.stdin.buffer.read().decode("utf-8", "replace")
    json.dump(answer(request, data), sys.stdout)


def answer(request: dict[str, Any], text: str) -> dict[str, Any]:
    try:
        if "grep" in request:
            limit_time(LONGEST_TRY + len(text) / CHARACTERS_A_SECOND)
            return grep(request, text)
        return select(request["path"], text)
    except Refused as refused:
        return {"refused": str(refused)}
    except Stuck:
        return {"stuck": "the output"}
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def grep(request: dict[str, Any], text: str) -> dict[str, Any]:
    """The lines that match, from line `offset` on, counted from 0."""
    regex = re.compile(request["grep"], re.IGNORECASE if request["ignoreCase"] else 0)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    found: list[dict[str, Any]] = []
    size = 0
    following = None
    for number in range(max(0, request["offset"]), len(lines)):
        line = lines[number]
        match = regex.search(line)
        if not match:
            continue
        if len(found) == request["limit"] or size > MOST_TEXT:
            following = number
            break
        found.append({"line": number + 1, "text": cut(line, match.start())})
        size += len(found[-1]["text"])
    return {"matches": found, "next": following, "lines": len(lines)}


def limit_time(seconds: float) -> None:
    """Stuck, unless the timer is taken back. An expression that is tried looks for signals."""

    def stop(*signalled: object) -> None:
        raise Stuck

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)


def cut(line: str, around: int) -> str:
    line = line.rstrip("\r")
    if len(line) <= LONGEST_TEXT:
        return line
    start = max(0, around - LONGEST_TEXT // 2)
    return ("…" if start else "") + line[start : start + LONGEST_TEXT] + "…"


# --- paths --------------------------------------------------------------------------------------


def select(path: str, text: str) -> dict[str, Any]:
    """What a path finds: one value, or a list of them where it goes through several."""
    values, several = follow(parsed(path), document(text))
    result = values if several else values[0]
    shown = json.dumps(result, ensure_ascii=False, indent=2)
    if len(shown) > MOST_TEXT:
        return {"text": shown[:MOST_TEXT], "size": len(shown), "truncated": True}
    return {"text": shown, "value": result, "size": len(shown), "truncated": False}


def document(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        try:
            return [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError:
            raise Refused(f"the output is not JSON: {error}") from None


TOKEN = re.compile(
    r"""\.(?P<name>[A-Za-z_$@][\w$@-]*)
      | \.?\["(?P<quoted>(?:[^"\\]|\\.)*)"\]
      | \."(?P<plain>(?:[^"\\]|\\.)*)"
      | \.?\[(?P<index>-?\d+)\]
      | \.?\[(?P<start>-?\d+)?:(?P<end>-?\d+)?\]
      | \.?(?P<each>\[\])
      | \s*\|\s*(?P<word>keys|length|type|first|last)\b
      | \s*(?:\|\s*)?(?P<here>\.)(?=\s*(?:\||$|\[))
      | \s*\|\s*(?=[.\[])""",
    re.VERBOSE,
)


def parsed(path: str) -> list[tuple[str, Any]]:
    """The steps of `.items[0].name`, `.items[].id`, `.[2:5]`, `."a b" | keys`."""
    steps: list[tuple[str, Any]] = []
    at, path = 0, path.strip()
    while at < len(path):
        match = TOKEN.match(path, at)
        if not match or match.end() == at:
            known = '.name  .[0]  .[]  .[2:5]  ."a b"  | keys  | length  | type  | first  | last'
            raise Refused(f"`{path[at:][:60]}` is no part of a path; these are: {known}")
        at = match.end()
        kind = match.lastgroup
        if kind in ("name", "quoted", "plain"):
            text = match[kind]
            steps.append(("key", text if kind == "name" else json.loads(f'"{text}"')))
        elif kind == "index":
            steps.append(("index", int(match["index"])))
        elif match["start"] is not None or match["end"] is not None:
            ends = [int(each) if each else None for each in (match["start"], match["end"])]
            steps.append(("slice", slice(*ends)))
        elif kind == "each":
            steps.append(("each", None))
        elif kind == "word":
            steps.append(("word", match["word"]))
    return steps


def follow(steps: list[tuple[str, Any]], data: Any) -> tuple[list[Any], bool]:
    values, several = [data], False
    for kind, what in steps:
        if kind == "each":
            values = [inner for value in values for inner in every(value)]
            several = True
        else:
            values = [STEPS[kind](value, what, several) for value in values]
    return values, several


def every(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    if isinstance(value, list):
        return value
    raise Refused(f"`[]` goes through a list or an object, this is {kind_of(value)}")


def at_key(value: Any, key: str, several: bool) -> Any:
    if isinstance(value, dict) and key in value:
        return value[key]
    if several and (value is None or isinstance(value, dict)):
        return None  # not every one has to have it
    if isinstance(value, dict):
        known = ", ".join(list(value)[:40])
        raise Refused(f"there is no `{key}`; these are there: {known or 'none'}")
    raise Refused(f"`{key}` is looked for in an object, this is {kind_of(value)}")


def at_index(value: Any, index: int, several: bool) -> Any:
    if not isinstance(value, list):
        raise Refused(f"`[{index}]` is looked for in a list, this is {kind_of(value)}")
    if -len(value) <= index < len(value):
        return value[index]
    if several:
        return None
    raise Refused(f"there is no `[{index}]`, the list has {len(value)} entries")


def at_slice(value: Any, wanted: slice, several: bool) -> Any:
    if isinstance(value, list | str):
        return value[wanted]
    raise Refused(f"a part is taken of a list or a text, this is {kind_of(value)}")


def at_word(value: Any, word: str, several: bool) -> Any:
    if word == "type":
        return kind_of(value)
    if word in ("first", "last"):
        return at_index(value, 0 if word == "first" else -1, several)
    if word == "keys" and isinstance(value, dict):
        return sorted(value)
    if word == "keys" and isinstance(value, list):
        return list(range(len(value)))
    if word == "length" and isinstance(value, list | dict | str):
        return len(value)
    raise Refused(f"`{word}` does not work for {kind_of(value)}")


def kind_of(value: Any) -> str:
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    kinds = {int: "number", float: "number", str: "string", list: "array", dict: "object"}
    return kinds[type(value)]


STEPS: dict[str, Callable[[Any, Any, bool], Any]] = {
    "key": at_key,
    "index": at_index,
    "slice": at_slice,
    "word": at_word,
}


if __name__ == "__main__":
    main()
