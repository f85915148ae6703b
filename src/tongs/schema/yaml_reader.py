"""Strict YAML 1.2 on top of libyaml's events.

Events and not composed nodes, because composing recurses in C and a file of nothing but `[` then
ends the process. Whoever imports this module pays for PyYAML; `document.parse` does it when needed.
"""

from __future__ import annotations

import re

import yaml
from yaml import ScalarEvent
from yaml._yaml import CParser

from tongs.core.annotations import Any, NoReturn
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.schema.yaml_scalars import NotANumber, plain
from tongs.schema.yaml_trouble import explain

MAX_NODES = 20_000
MAX_DEPTH = 64
_MAX_REPAIRS = 20

# libyaml (YAML 1.1) breaks lines at these and skips byte order marks, YAML 1.2 and most editors do
# not: a reviewer would see a comment where the parser sees a key.
_HIDDEN = re.compile("[\x85\u2028\u2029\ufeff]|\r(?!\n)")


class _Stop(Exception):
    """Reading on makes no sense; the problems so far are the answer."""


class Reader:
    """Turns the bytes of one file into data and lines, collecting every problem on the way."""

    def __init__(self, data: bytes, source: str, most_nodes: int = MAX_NODES) -> None:
        self._most_nodes = most_nodes
        self._data = data
        self._source = source
        self._problems: list[Problem] = []
        self._nodes = 0
        self._repaired = ""
        # Finished anchored nodes: value, lines, how many nodes they are, and how deep they go.
        self._anchors: dict[str, tuple[Any, Any, int, int]] = {}

    def read(self) -> tuple[Any, Any]:
        """The data and its lines, or DefinitionInvalid."""
        try:
            text = self._decoded()
            while (result := self._attempt(text)) is None:
                text = self._repaired
        except _Stop:
            raise DefinitionInvalid(self._problems) from None
        if self._problems:
            raise DefinitionInvalid(self._problems)
        return result

    def _attempt(self, text: str) -> tuple[Any, Any] | None:
        """Read `text`; None where it is no YAML but a repaired line lets the search go on.

        libyaml gives up at the first error, and an author wants to hear of all of them.
        """
        self._nodes = 0
        self._anchors.clear()
        self._last_line = text.count("\n") + 1
        self._parser: Any = CParser(text)
        found = len(self._problems)
        try:
            return self._document()
        except yaml.YAMLError as error:
            trouble = explain(error, text)
            # What was found before the error is found again when the rest is read.
            del self._problems[found:]
            if any(problem.line == trouble.line for problem in self._problems):
                # The repair of this line did not help, so what follows would be guesswork.
                raise _Stop from None
            self._problem(trouble.line, trouble.message, trouble.hint)
            if trouble.repaired is None or len(self._problems) >= _MAX_REPAIRS:
                raise _Stop from None
            self._repaired = trouble.repaired
            return None

    def _problem(self, line: int, message: str, hint: str = "") -> None:
        self._problems.append(Problem(self._source, message, line, rule="yaml", hint=hint))

    def _stop(self, line: int, message: str, hint: str = "") -> NoReturn:
        self._problem(line, message, hint)
        raise _Stop

    def _decoded(self) -> str:
        try:
            text = self._data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = self._data.count(b"\n", 0, error.start) + 1
            byte = self._data[error.start]
            self._stop(
                line, f"not UTF-8 text: byte 0x{byte:02x}", "save the file with the encoding UTF-8"
            )
        if not text.isascii() or "\r" in text:
            for match in _HIDDEN.finditer(text):
                self._problem(
                    text.count("\n", 0, match.start()) + 1,
                    f"hidden character U+{ord(match[0]):04X}",
                    'remove it, or write it as an escape in "quotes"',
                )
        if self._problems:
            raise _Stop
        return text

    def _document(self) -> tuple[Any, Any]:
        parser = self._parser
        parser.get_event()
        if type(parser.get_event()) is yaml.StreamEndEvent:
            self._stop(1, "the file is empty", "write into it what it should say, or remove it")
        result = self._node(parser.get_event(), 0)
        parser.get_event()
        extra = parser.get_event()
        if type(extra) is not yaml.StreamEndEvent:
            self._stop(
                extra.start_mark.line + 1,
                "a second document starts here",
                "keep one document per file; remove the `---`",
            )
        return result

    def _node(self, event: Any, depth: int) -> tuple[Any, Any]:
        """The value that starts with `event`, and its lines."""
        kind = type(event)
        line = event.start_mark.line + 1
        self._nodes += 1
        if self._nodes > self._most_nodes:
            self._stop(line, f"more than {self._most_nodes} values")
        if kind is ScalarEvent and event.tag is None and event.anchor is None:
            return self._scalar(event, line)
        if kind is yaml.AliasEvent:
            return self._alias(event, line, depth)
        if event.tag is not None:
            self._problem(
                line,
                f"tag `{_short(event.tag)}` is not supported",
                "remove it; put a text in quotes to keep it a text",
            )
        if kind is ScalarEvent:
            result = self._scalar(event, line)
            size = 1
        elif depth == MAX_DEPTH:
            self._stop(line, f"nested deeper than {MAX_DEPTH} levels")
        else:
            before = self._nodes
            fill = self._mapping if kind is yaml.MappingStartEvent else self._sequence
            result = fill(line, depth + 1)
            size = self._nodes - before + 1
        if event.anchor is not None:
            self._anchors[event.anchor] = (*result, size, _height(result[0]))
        return result

    def _scalar(self, event: Any, line: int) -> tuple[Any, Any]:
        if event.implicit[0]:
            try:
                # An empty scalar at the end of a file is said to stand behind its last line.
                return plain(event.value), line if event.value else min(line, self._last_line)
            except NotANumber as error:
                self._problem(line, str(error), "put it in quotes to keep it a text")
                return None, line
        return event.value, -(line + 1) if event.style == "|" else line

    def _sequence(self, line: int, depth: int) -> tuple[list[Any], list[Any]]:
        get = self._parser.get_event
        values: list[Any] = []
        lines: list[Any] = [line]
        while type(event := get()) is not yaml.SequenceEndEvent:
            value, where = self._node(event, depth)
            values.append(value)
            lines.append(where)
        return values, lines

    def _mapping(self, line: int, depth: int) -> tuple[dict[str, Any], list[Any]]:
        get = self._parser.get_event
        values: dict[str, Any] = {}
        lines: list[Any] = [line]
        seen: dict[str, int] = {}
        while type(event := get()) is not yaml.MappingEndEvent:
            key_line = min(event.start_mark.line + 1, self._last_line)
            key = self._key(event, key_line)
            value, where = self._node(get(), depth)
            if key in seen:
                self._problem(
                    key_line,
                    f"key `{_short(key)}` is already on line {seen[key]}",
                    "keep one of the two",
                )
                continue
            seen[key] = key_line
            values[key] = value
            if type(where) is list and where[0] != key_line:
                # The line of an entry is that of its key, which is what a message talks about.
                where = [key_line, *where[1:]]
            lines.append(where)
        return values, lines

    def _key(self, event: Any, line: int) -> str:
        if type(event) is not ScalarEvent:
            self._stop(line, "a key must be a plain text", "write `key: value`")
        self._nodes += 1
        key: str = event.value
        if event.tag is not None:
            self._problem(line, f"tag `{_short(event.tag)}` is not supported", "remove it")
        if event.anchor is not None:
            self._anchors[event.anchor] = (key, line, 1, 0)
        if key == "<<" and event.implicit[0]:
            self._problem(
                line, "merge keys (`<<`) are not supported", "repeat the keys where they are needed"
            )
        return key

    def _alias(self, event: Any, line: int, depth: int) -> tuple[Any, Any]:
        anchored = self._anchors.get(event.anchor)
        if anchored is None:
            self._stop(
                line,
                f"alias `*{_short(event.anchor)}` names no anchor that ends before it",
                f"mark the value it stands for with `&{_short(event.anchor)}`, or put it in quotes",
            )
        value, lines, size, height = anchored
        if depth + height > MAX_DEPTH:
            self._stop(line, f"nested deeper than {MAX_DEPTH} levels once aliases are written out")
        self._nodes += size
        if self._nodes > self._most_nodes:
            self._stop(line, f"more than {self._most_nodes} values once aliases are written out")
        return _copied(value), lines


def _copied(value: Any) -> Any:
    """A value nobody shares; as deep as MAX_DEPTH at most."""
    if isinstance(value, dict):
        return {key: _copied(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_copied(entry) for entry in value]
    return value


def _height(value: Any) -> int:
    if isinstance(value, dict | list):
        entries = value.values() if isinstance(value, dict) else value
        return 1 + max(map(_height, entries), default=0)
    return 0


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
