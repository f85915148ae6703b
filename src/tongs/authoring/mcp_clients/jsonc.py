"""JSON as people write it, with comments and commas at the end: read with places, changed in place.

A change cuts the text at the places of what it replaces, so that everything else stays as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from tongs.core.annotations import Any
from tongs.core.record import dataclass

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*(?:[^*]|\*(?!/))*\*/)*")
_TEXT = re.compile(r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"')
_PLAIN = re.compile(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_DEEPEST = 100


class NotJson(Exception):
    """The text is no JSON; `line` is where it stops to be."""

    def __init__(self, reason: str, line: int) -> None:
        super().__init__(f"line {line}: {reason}")
        self.line = line


@dataclass(frozen=True, slots=True)
class Member:
    """One key of an object, from its first quote to the end of its value."""

    key: str
    start: int
    value: Node

    @property
    def end(self) -> int:
        return self.value.end


@dataclass(frozen=True, slots=True)
class Node:
    """A value, and where it stands in the text."""

    start: int
    end: int
    data: Any
    # Of an object; None for everything else.
    members: tuple[Member, ...] | None = None

    def member(self, key: str) -> Member | None:
        return next((each for each in self.members or () if each.key == key), None)


def parse(text: str) -> Node:
    """The one value of a text; raises NotJson."""
    reader = _Reader(text)
    node = reader.value(reader.skipped(0), 0)
    if reader.skipped(node.end) != len(text):
        raise reader.wrong("nothing more was expected", reader.skipped(node.end))
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text

    def skipped(self, at: int) -> int:
        match = _BLANK.match(self._text, at)
        return at if match is None else match.end()

    def wrong(self, reason: str, at: int) -> NotJson:
        return NotJson(reason, self._text.count("\n", 0, at) + 1)

    def value(self, at: int, depth: int) -> Node:
        first = self._text[at : at + 1]
        if depth > _DEEPEST:
            raise self.wrong("it is nested too deeply", at)
        if first == "{":
            return self._object(at, depth)
        if first == "[":
            return self._array(at, depth)
        if match := (_TEXT if first == '"' else _PLAIN).match(self._text, at):
            return Node(at, match.end(), json.loads(match[0]))
        raise self.wrong("a value was expected" if first else "it ends too early", at)

    def _object(self, start: int, depth: int) -> Node:
        members: list[Member] = []
        at = self.skipped(start + 1)
        while self._text[at : at + 1] != "}":
            match = _TEXT.match(self._text, at)
            if match is None:
                raise self.wrong('a key in quotes, or "}", was expected', at)
            colon = self.skipped(match.end())
            if self._text[colon : colon + 1] != ":":
                raise self.wrong('":" was expected', colon)
            value = self.value(self.skipped(colon + 1), depth + 1)
            members.append(Member(json.loads(match[0]), at, value))
            at = self._next(value.end, "}")
        data = {each.key: each.value.data for each in members}
        if len(data) != len(members):
            raise self.wrong("a key of this object stands there twice", start)
        return Node(start, at + 1, data, tuple(members))

    def _array(self, start: int, depth: int) -> Node:
        items: list[Any] = []
        at = self.skipped(start + 1)
        while self._text[at : at + 1] != "]":
            value = self.value(at, depth + 1)
            items.append(value.data)
            at = self._next(value.end, "]")
        return Node(start, at + 1, items)

    def _next(self, at: int, closing: str) -> int:
        """Where the next item or the end is, a comma taken."""
        at = self.skipped(at)
        if self._text[at : at + 1] == ",":
            return self.skipped(at + 1)
        if self._text[at : at + 1] != closing:
            raise self.wrong(f'"," or "{closing}" was expected', at)
        return at


def with_value(text: str, path: Sequence[str], value: Any) -> str:
    """The text with the value at a path of keys; raises NotJson, ValueError if something else than
    an object stands on the way."""
    if not text.strip():
        return _written(_nested(path, value), 0, "  ", "\n") + "\n"
    node = parse(text)
    for depth, key in enumerate(path):
        if node.members is None:
            raise ValueError(".".join(path[:depth]))
        member = node.member(key)
        if member is None:
            return _added(text, node, key, _nested(path[depth + 1 :], value))
        node = member.value
    style = _style(text)
    written = _written(value, _depth(text, node.start, style[0]), *style)
    return text[: node.start] + written + text[node.end :]


def without(text: str, path: Sequence[str]) -> str:
    """The text without the member at a path; as it is where there is none."""
    node = parse(text)
    for key in path[:-1]:
        member = node.member(key)
        if member is None:
            return text
        node = member.value
    member = node.member(path[-1])
    if member is None or node.members is None:
        return text
    return _cut(text, node.members, node.members.index(member))


def _cut(text: str, members: Sequence[Member], index: int) -> str:
    member = members[index]
    # Comments before and behind a member may be about it or not: they stay.
    comma = _Reader(text).skipped(member.end)
    if text[comma : comma + 1] == ",":
        start, end = member.start, comma + 1
        kept = text[member.end : comma]
    elif index:
        before = members[index - 1].end
        comma = text.index(",", _Reader(text).skipped(before))
        kept = text[comma + 1 : member.start].rstrip(" \t\r\n")
        start, end = comma, member.end
        if "//" in kept and not text[end:].lstrip(" \t").startswith(("\r", "\n")):
            kept += _style(text)[1]
    else:
        start, end, kept = member.start, member.end, ""
    return _without_line(text, start, end) if not kept.strip() else text[:start] + kept + text[end:]


def _without_line(text: str, start: int, end: int) -> str:
    """Cut, and take the line along where nothing else stands on it."""
    line = text.rfind("\n", 0, start) + 1
    newline = text.find("\n", end)
    if not text[line:start].strip() and newline >= 0 and not text[end:newline].strip():
        return text[:line] + text[newline + 1 :]
    return text[:start] + text[end:]


def _added(text: str, node: Node, key: str, value: Any) -> str:
    unit, newline = style = _style(text)
    members = node.members or ()
    if members and "\n" not in text[node.start : node.end]:
        member = f"{json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}"
        return f"{text[: members[-1].end]}, {member}{text[members[-1].end :]}"
    if members:
        depth = _depth(text, members[0].start, unit)
        at = members[-1].end
        comma = _Reader(text).skipped(at)
        has_comma = text[comma : comma + 1] == ","
        at = comma + 1 if has_comma else at
        # A comment behind the last member stays on its line.
        rest = _line_of_comment(text, at)
        lead = f"{'' if has_comma else ','}{text[at:rest]}{newline}{unit * depth}"
        return f"{text[:at]}{lead}{json.dumps(key)}: {_written(value, depth, *style)}{text[rest:]}"
    outer = _depth(text, node.start, unit)
    inside = text[node.start + 1 : node.end - 1].rstrip()
    member = f"{json.dumps(key)}: {_written(value, outer + 1, *style)}"
    body = f"{inside}{newline}{unit * (outer + 1)}{member}{newline}{unit * outer}"
    return f"{text[: node.start + 1]}{body}{text[node.end - 1 :]}"


def _line_of_comment(text: str, at: int) -> int:
    match = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)").match(text, at)
    return at if match is None else match.end()


def _nested(path: Sequence[str], value: Any) -> Any:
    for key in reversed(path):
        value = {key: value}
    return value


def _written(value: Any, depth: int, unit: str, newline: str) -> str:
    lines = json.dumps(value, indent=unit, ensure_ascii=False).split("\n")
    return f"{newline}{unit * depth}".join(lines)


def _style(text: str) -> tuple[str, str]:
    """What one step of indentation is, and how a line ends."""
    indented = re.search(r"\{[^\S\n]*\r?\n([ \t]+)\S", text)
    return indented[1] if indented else "  ", "\r\n" if "\r\n" in text else "\n"


def _depth(text: str, at: int, unit: str) -> int:
    """How deep the line of a place is indented."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    blank = line[: len(line) - len(line.lstrip())]
    return len(blank) // len(unit)
