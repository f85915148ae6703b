"""What can be mended by itself: edits of a text that keep its comments and its order.

An edit replaces characters of the author's own text. Whether the result is better is for the
caller to find out, by looking at it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import Problem, Severity
from tongs.core.record import dataclass
from tongs.schema.check import Violation, violations
from tongs.schema.document import Document, PathTuple, field_name
from tongs.schema.files import load as schema_called
from tongs.schema.units import duration
from tongs.schema.yaml_scalars import NotANumber, plain

_ENTRY = re.compile(r"(?P<indent> *)(?P<dashes>(?:- +)*)(?P<key>[\w.-]+): +(?P<text>[^\s|>'\"].*)")
_TIMEOUTS = frozenset({"timeout", "timeout_ms"})
_MEANT = {
    **dict.fromkeys(("yes", "on", "y"), "true"),
    **dict.fromkeys(("no", "off", "n"), "false"),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the characters from `start` to `end`; `what` tells a person."""

    start: int
    end: int
    new: str
    line: int
    what: str


@dataclass(frozen=True, slots=True)
class Scalar:
    """Where one value stands in the text, with its quotes."""

    start: int
    end: int
    line: int


def edits(
    text: str, document: Document | None, problems: Sequence[Problem], schema: str
) -> list[Edit]:
    """What to change in a text; `document` is None where it is no YAML."""
    if document is None:
        return list(_blocks(text, problems))
    scalars = positions(text)
    found = [*_values(text, document, scalars, schema)]
    if schema == "manifest":
        found += _kind(document, scalars)
    return found


def applied(text: str, changes: Iterable[Edit]) -> str:
    """The text after all changes; one that overlaps another is left out."""
    before = len(text)
    for edit in sorted(changes, key=lambda change: -change.start):
        if edit.end <= before:
            text = text[: edit.start] + edit.new + text[edit.end :]
            before = edit.start
    return text


def rank(problems: Iterable[Problem]) -> tuple[int, int, int]:
    """How far from usable a file is; whoever mends a line may uncover what stood behind it."""
    counts = [0, 0, 0]
    for problem in problems:
        if problem.severity is Severity.ERROR:
            stage = {"yaml": 0, "colon-trap": 0, "schema": 1}.get(problem.rule, 2)
            counts[stage] += 1
    return counts[0], counts[1], counts[2]


def positions(text: str) -> dict[PathTuple, Scalar]:
    """Where each value of a YAML text stands; for a text that was read before."""
    import yaml  # noqa: PLC0415 - only where something is mended
    from yaml._yaml import CParser  # noqa: PLC0415 - as above

    found: dict[PathTuple, Scalar] = {}
    # One frame for each open container: its path, and the next index or the key just read.
    frames: list[list[Any]] = []
    for event in _events(CParser(text)):
        if isinstance(event, yaml.CollectionEndEvent):
            frames.pop()
            continue
        opens = isinstance(event, yaml.CollectionStartEvent)
        if not opens and not isinstance(event, yaml.ScalarEvent | yaml.AliasEvent):
            continue
        if frames and frames[-1][1] is _KEY:
            # Only texts are keys here; anything else was refused when the file was read.
            frames[-1][1] = getattr(event, "value", "")
            continue
        path = _next_path(frames)
        if isinstance(event, yaml.ScalarEvent):
            start, end = event.start_mark, event.end_mark
            if start is not None and end is not None:
                found[path] = Scalar(start.index, end.index, start.line + 1)
        elif opens:
            frames.append([path, _KEY if isinstance(event, yaml.MappingStartEvent) else 0])
    return found


# Marks a frame that waits for a key.
_KEY = object()


def _events(parser: Any) -> Iterator[Any]:
    try:
        while parser.check_event():
            yield parser.get_event()
    finally:
        parser.dispose()


def _next_path(frames: list[list[Any]]) -> PathTuple:
    if not frames:
        return ()
    frame = frames[-1]
    path: PathTuple = (*frame[0], frame[1])
    frame[1] = frame[1] + 1 if isinstance(frame[1], int) else _KEY
    return path


def _values(
    text: str, document: Document, scalars: Mapping[PathTuple, Scalar], schema: str
) -> Iterator[Edit]:
    """Values of the wrong type whose right one stands there already, in other characters."""
    for violation in violations(schema_called(schema), document.data):
        scalar = scalars.get(violation.path)
        if violation.keyword != "type" or scalar is None or not violation.path:
            continue
        written = text[scalar.start : scalar.end]
        new = _retyped(violation, _at(document.data, violation.path), written)
        if new is not None:
            what = f"{field_name(violation.path)}: {new}"
            yield Edit(scalar.start, scalar.end, new, scalar.line, what)


def _retyped(violation: Violation, value: Any, written: str) -> str | None:
    """What to write instead of a value; None where that is anybody's guess."""
    wanted = violation.message.partition(", got ")[0].removeprefix("must be ").split(" or ")
    # `true or false` is one type.
    types = {"boolean" if word in ("true", "false") else word.split()[-1] for word in wanted}
    if isinstance(value, str):
        return _unquoted(value.strip(), types, violation.path[-1])
    if types != {"string"} or isinstance(value, dict | list) or value is None:
        return None
    # As it was written: 1.10 is no 1.1.
    return f'"{written}"'


def _unquoted(text: str, types: set[str], key: str | int) -> str | None:
    if key in _TIMEOUTS and "integer" in types:
        try:
            return str(round(duration(text) * 1000))
        except ValueError:
            pass
    if "boolean" in types and text.lower() in _MEANT:
        return _MEANT[text.lower()]
    try:
        value = plain(text)
    except NotANumber:
        return None
    fits = {bool: "boolean", int: "integer", float: "number"}.get(type(value))
    if fits in types or (fits == "integer" and "number" in types):
        return str(value).lower() if isinstance(value, bool) else text
    return None


def _kind(document: Document, scalars: Mapping[PathTuple, Scalar]) -> Iterator[Edit]:
    """The one key under `exec` is what the author wrote the tool for."""
    data = document.data if isinstance(document.data, dict) else {}
    body = data.get("exec")
    scalar = scalars.get(("kind",))
    if scalar is None or not isinstance(body, dict) or len(body) != 1:
        return
    (given,) = body
    if given in ("http", "command", "python") and data["kind"] != given:
        yield Edit(scalar.start, scalar.end, given, scalar.line, f"kind: {given}")


def _blocks(text: str, problems: Sequence[Problem]) -> Iterator[Edit]:
    """A text with `: ` in it, as a block below its key."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    for number in sorted({p.line for p in problems if p.rule == "colon-trap"}):
        row = lines[number - 1].rstrip("\r\n") if 0 < number <= len(lines) else ""
        entry = _ENTRY.fullmatch(row)
        # A comment would become part of the text, and so would lines that belong to it already.
        if entry is None or " #" in row or _goes_on(lines, number, len(entry["indent"])):
            continue
        column = len(entry["indent"]) + len(entry["dashes"])
        ending = lines[number - 1][len(row) :] or "\n"
        new = f"{row[: entry.start('text')].rstrip()} |{ending}{' ' * (column + 2)}{entry['text']}"
        start = starts[number - 1]
        yield Edit(start, start + len(row), new, number, f"{entry['key']}: a block of its own")


def _goes_on(lines: Sequence[str], number: int, indent: int) -> bool:
    following = next((line for line in lines[number:] if line.strip()), "")
    inner = len(following) - len(following.lstrip(" "))
    return inner > indent and not _ENTRY.match(following.rstrip("\r\n"))


def _at(data: Any, path: PathTuple) -> Any:
    for key in path:
        data = data[key]
    return data
