"""Find out where in a PowerShell script each placeholder stands.

PowerShell counts typographic quotes as quotes: U+2018 to U+201B as single, U+201C to U+201E as
double. What this scanner is not sure of, it refuses.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto

from tongs.core.record import dataclass
from tongs.template.placeholder import Literal, Mode, Placeholder
from tongs.template.values import TemplateError

_SINGLE = "'\u2018\u2019\u201a\u201b"
_DOUBLE = '"\u201c\u201d\u201e'


class Place(Enum):
    """What the author's text around a placeholder is."""

    CODE = auto()
    TEXT = auto()
    COMMENT = auto()


@dataclass(frozen=True, slots=True)
class Spot:
    """One placeholder or escape; `start` is where the outermost string around it begins."""

    item: Placeholder | Literal
    place: Place
    start: int


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The author's `text[start:end]` must read `text` for references around it to work."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Scan:
    """The place of every item, what must change around them, and where the comments are."""

    spots: list[Spot]
    rewrites: list[Rewrite]
    comments: list[tuple[int, int]]


_CODE_STOP = re.compile(rf"[{_SINGLE}{_DOUBLE}`#<$@(){{]|(?<!\S)--%(?!\S)")
_LINE_END = re.compile(r"[\r\n]|\Z")
_HERE = re.compile(rf"@([{_SINGLE}{_DOUBLE}])[ \t]*(?:\r\n?|\n)")
_DEEPEST = 20


def scan(text: str, items: Iterable[Placeholder | Literal]) -> Scan:
    """Where every item stands; raises `TemplateError` on doubt."""
    scanner = _Scanner(text, items)
    scanner.code(0)
    return scanner.result


class _Scanner:
    def __init__(self, text: str, items: Iterable[Placeholder | Literal]) -> None:
        self.text = text
        self.items = {item.start: item for item in items}
        self.result = Scan([], [], [])
        # Where the strings begin that the scanner is inside of, outermost first.
        self.open: list[int] = []

    def code(self, pos: int) -> int:
        """Scan code to the end, or past the `)` that closes a `$(` inside a string."""
        parentheses = 0
        while stop := _CODE_STOP.search(self.text, pos):
            pos, char = stop.start(), stop[0]
            if char == ")" and self.open and not parentheses:
                return pos + 1
            parentheses += (char == "(") - (char == ")")
            pos = self._token(pos, char)
        if self.open:
            raise self._unterminated()
        return len(self.text)

    def _token(self, pos: int, char: str) -> int:
        if pos in self.items:
            return self._item(pos, Place.CODE)
        if char == "`":
            return self._escape(pos)
        if char == "--%":
            return self._verbatim(pos, "after `--%` PowerShell replaces no variables")
        if char == "#" or self.text.startswith("<#", pos):
            return self._comment(pos)
        if char == "$":
            return self._dollar(pos)
        if char in _SINGLE + _DOUBLE or _HERE.match(self.text, pos):
            return self._string(pos)
        return pos + 1

    def _item(self, pos: int, place: Place) -> int:
        item = self.items[pos]
        self.result.spots.append(Spot(item, place, self.open[0] if self.open else pos))
        return item.end

    def _escape(self, pos: int) -> int:
        if pos + 1 in self.items:
            raise TemplateError(
                "a backtick stands before a placeholder",
                offset=pos,
                hint="double the backtick for a backtick, or the braces for braces",
            )
        return pos + 2

    def _dollar(self, pos: int) -> int:
        """Past `$`, or past a whole `${name}`, in which quotes mean nothing."""
        if not self.text.startswith("${", pos):
            return pos + 1
        end = self.text.find("}", pos)
        if end < 0:
            raise TemplateError("this `${` does not end", offset=pos)
        return end + 1

    def _comment(self, pos: int) -> int:
        if self.text[pos] == "<":
            end = self.text.find("#>", pos + 2)
            if end < 0:
                raise TemplateError("this comment does not end", offset=pos)
            return self._commented(pos, end + 2)
        before = self.text[pos - 1] if pos else " "
        if not before.isspace() and before not in ";(){}|&,":
            return self._verbatim(pos, "this `#` may begin a comment or belong to a word")
        return self._commented(pos, self._line_end(pos))

    def _commented(self, pos: int, end: int) -> int:
        self.result.comments.append((pos, end))
        for start in self.items:
            if pos < start < end:
                self._item(start, Place.COMMENT)
        return end

    def _verbatim(self, pos: int, doubt: str) -> int:
        """Skip the rest of a line whose meaning is not known, if no placeholder depends on it."""
        end = self._line_end(pos)
        if self.open or re.search(rf"[{_SINGLE}{_DOUBLE}]|<#", self.text[pos:end]):
            raise TemplateError(doubt, offset=pos)
        if any(pos < start < end for start in self.items):
            raise TemplateError(doubt, offset=pos)
        return end

    def _line_end(self, pos: int) -> int:
        end = _LINE_END.search(self.text, pos)
        return end.start() if end else len(self.text)

    def _string(self, pos: int) -> int:
        if len(self.open) == _DEEPEST:
            raise TemplateError("strings are nested too deeply", offset=pos)
        self.open.append(pos)
        here = _HERE.match(self.text, pos)
        if here:
            end = self._here_string(here)
        elif self.text[pos] in _DOUBLE:
            end = self._expandable(pos + 1, len(self.text))
        else:
            end = self._literal(pos)
        self.open.pop()
        return end

    def _expandable(self, pos: int, end: int) -> int:
        """The text of a double-quoted string up to its end; `end` bounds a here-string."""
        here = end < len(self.text)
        while pos < end:
            char = self.text[pos]
            if pos in self.items:
                pos = self._item(pos, Place.TEXT)
            elif char == "`":
                pos = self._escape(pos)
            elif self.text.startswith("$(", pos):
                pos = self.code(pos + 2)
            elif char == "$":
                pos = self._dollar(pos)
            elif char in _DOUBLE and not here:
                if self.text[pos + 1 : pos + 2] not in tuple(_DOUBLE):
                    return pos + 1
                pos += 2
            else:
                pos += 1
        if pos == end and here:
            return pos
        raise self._unterminated()

    def _literal(self, pos: int) -> int:
        """The text of a single-quoted string, in which two quotes stand for one."""
        start = pos
        pairs: list[int] = []
        pos += 1
        first = len(self.result.spots)
        while pos < len(self.text):
            if pos in self.items:
                pos = self._item(pos, Place.TEXT)
            elif self.text[pos] not in _SINGLE:
                pos += 1
            elif self.text[pos + 1 : pos + 2] in tuple(_SINGLE):
                pairs.append(pos + 1)
                pos += 2
            else:
                if self._takes_values(first):
                    self.result.rewrites.extend(Rewrite(at, at + 1, "") for at in pairs)
                    self._make_expandable(start, pos, first)
                return pos + 1
        raise self._unterminated()

    def _here_string(self, here: re.Match[str]) -> int:
        quotes = _SINGLE if here[1] in _SINGLE else _DOUBLE
        footer = re.compile(rf"(?:\r\n?|\n)([{quotes}])@").search(self.text, here.end() - 1)
        if footer is None:
            raise self._unterminated()
        if quotes is _DOUBLE:
            self._expandable(here.end(), footer.start(1))
        else:
            first = len(self.result.spots)
            for start in self.items:
                if here.end() <= start < footer.start():
                    self._item(start, Place.TEXT)
            if self._takes_values(first):
                self._make_expandable(here.start(1), footer.start(1), first)
        return footer.end()

    def _takes_values(self, first: int) -> bool:
        modes = {s.item.mode for s in self.result.spots[first:] if isinstance(s.item, Placeholder)}
        if Mode.RAW in modes and len(modes) > 1:
            raise TemplateError(
                "a string in single quotes cannot hold RAW: and other placeholders",
                offset=self.open[-1],
            )
        return bool(modes - {Mode.RAW})

    def _make_expandable(self, opening: int, closing: int, first: int) -> None:
        """Write a single-quoted string as a double-quoted one that means the same."""
        rewrites = self.result.rewrites
        rewrites += [Rewrite(at, at + 1, '"') for at in (opening, closing)]
        taken = {at for s in self.result.spots[first:] for at in range(s.item.start, s.item.end)}
        for at in range(opening + 1, closing):
            if at not in taken and self.text[at] in "`$" + _DOUBLE:
                rewrites.append(Rewrite(at, at + 1, "`" + self.text[at]))

    def _unterminated(self) -> TemplateError:
        return TemplateError("this string does not end", offset=self.open[-1])
