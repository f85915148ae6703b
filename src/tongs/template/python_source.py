"""Find out where in a Python source each placeholder stands.

A scanner of its own, because `tokenize` sees f-strings differently before and after Python 3.12 and
the tool may run under another Python than Tongs does. It follows the rules of 3.12: a source that
an older Python accepts has the same literals under both, and one that it refuses never runs.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import Enum, auto

from tongs.core.record import dataclass, field
from tongs.template.placeholder import Literal, Mode, Placeholder
from tongs.template.values import TemplateError


class Place(Enum):
    """What the author's text around a placeholder is."""

    CODE = auto()
    TEXT = auto()
    FIELD = auto()  # code inside an f-string: `f"{ here }"`
    FORMAT_SPEC = auto()  # `f"{x:here}"`
    COMMENT = auto()


@dataclass(slots=True)
class StringLiteral:
    """One string literal of the source; `start` is where its prefix begins."""

    start: int
    prefix: str
    quote: str
    depth: int
    # Where a backslash, or the quote that it guards, stands in the text of a raw literal.
    guarded: list[int] = field(default_factory=list)
    modes: set[Mode] = field(default_factory=set)
    # A raw literal with something in it that a plain one cannot say in the same place.
    stays_raw: bool = False

    @property
    def raw(self) -> bool:
        return "r" in self.prefix.lower()

    @property
    def binary(self) -> bool:
        return "b" in self.prefix.lower()

    @property
    def formatted(self) -> bool:
        return bool({"f", "t"} & set(self.prefix.lower()))


@dataclass(frozen=True, slots=True)
class Spot:
    """One placeholder or escape, and the place it stands in."""

    item: Placeholder | Literal
    place: Place
    literal: StringLiteral | None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The author's `text[start:end]` must read `text` for the values around it to be exact."""

    start: int
    end: int
    text: str


_PREFIXES = frozenset("r u b f t br rb fr rf tr rt".split())
_CODE_STOP = re.compile(r"[#'\"{}()\[\]:]")
_TEXT_STOP = re.compile(r"['\"\\\r\n{}]")
_LINE_END = re.compile(r"[\r\n]|\Z")
_ESCAPE = re.compile(
    r"\\(?:(?P<octal>[0-7]{1,3})"
    r"|(?P<hex>x[0-9a-fA-F]{0,2}|u[0-9a-fA-F]{0,4}|U[0-9a-fA-F]{0,8})"
    r"|(?P<name>N)(?:\{[^{}'\"\r\n]*\})?"
    r"|\r\n|[^{}])"
)
_COMPLETE = {"x": 3, "u": 5, "U": 9}
# CPython itself stops at 150; nobody writes even five, and the scanner must not exhaust the stack.
_DEEPEST = 20


@dataclass(frozen=True, slots=True)
class Scanned:
    """The place of every item, and what must change in the author's text around them.

    `parentheses` are those in code, opening and closing place.
    """

    spots: list[Spot]
    rewrites: list[Rewrite]
    parentheses: list[tuple[int, int]]


def scan(text: str, items: Iterable[Placeholder | Literal]) -> Scanned:
    """Read the whole source."""
    scanner = _Scanner(text, items)
    scanner.code(0, None)
    return Scanned(scanner.spots, scanner.rewrites, scanner.parentheses)


class _Scanner:
    def __init__(self, text: str, items: Iterable[Placeholder | Literal]) -> None:
        self.text = text
        self.items = {item.start: item for item in items}
        self.spots: list[Spot] = []
        self.rewrites: list[Rewrite] = []
        self.parentheses: list[tuple[int, int]] = []

    def code(self, pos: int, outer: StringLiteral | None) -> int:
        """Scan code up to the end of the source, or of the field of `outer`.

        Returns the position of the `}` or `:` that ends the field.
        """
        brackets: list[int] = []
        while stop := _CODE_STOP.search(self.text, pos):
            pos = stop.start()
            char = stop[0]
            if pos in self.items:
                pos = self._item(pos, Place.FIELD if outer else Place.CODE, outer)
            elif char == "#":
                pos = self._comment(pos)
            elif char in "'\"":
                pos = self._string(pos, outer)
            elif outer and not brackets and char in "}:":
                return pos
            else:
                self._bracket(pos, brackets)
                pos += 1
        if outer:
            raise self._unterminated(outer)
        return len(self.text)

    def _bracket(self, pos: int, opened: list[int]) -> None:
        char = self.text[pos]
        if char in "([{":
            opened.append(pos)
        elif char in ")]}" and opened and self.text[start := opened.pop()] == "(":
            self.parentheses.append((start, pos))

    def _item(self, pos: int, place: Place, literal: StringLiteral | None) -> int:
        item = self.items[pos]
        if isinstance(item, Placeholder) and literal and place is Place.TEXT:
            literal.modes.add(item.mode)
        self.spots.append(Spot(item, place, literal))
        return item.end

    def _comment(self, pos: int) -> int:
        end = _LINE_END.search(self.text, pos)
        assert end is not None, "the pattern matches at the end of the text at the latest"
        for start in self.items:
            if pos < start < end.start():
                self._item(start, Place.COMMENT, None)
        return end.start()

    def _string(self, pos: int, outer: StringLiteral | None) -> int:
        literal = self._opened(pos, outer)
        pos += len(literal.quote)
        while stop := _TEXT_STOP.search(self.text, pos):
            pos = stop.start()
            char = stop[0]
            if pos in self.items:
                pos = self._item(pos, Place.TEXT, literal)
            elif self.text.startswith(literal.quote, pos):
                pos += len(literal.quote)
                self._closed(literal, pos)
                return pos
            elif char == "\\":
                pos = self._backslash(pos, literal)
            elif char in "\r\n" and len(literal.quote) == 1:
                break
            elif char == "{" and literal.formatted:
                pos = self._brace(pos, literal)
            else:
                if char in literal.quote:
                    self._lone_quote(pos, literal)
                pos += 1
        raise self._unterminated(literal)

    def _lone_quote(self, pos: int, literal: StringLiteral) -> None:
        """Escape a quote before a value: with an empty one it could join those that follow."""
        if literal.raw:
            literal.guarded.append(pos)
        elif self._takes_value(pos + 1):
            self.rewrites.append(Rewrite(pos, pos + 1, "\\" + self.text[pos]))

    def _opened(self, pos: int, outer: StringLiteral | None) -> StringLiteral:
        start = pos
        # A word longer than every prefix is a name or keyword: `if"x"`, `1or"x"`.
        while start and pos - start < 3 and _is_word(self.text[start - 1]):
            start -= 1
        prefix = self.text[start:pos]
        if prefix.lower() not in _PREFIXES:
            start, prefix = pos, ""
        triple = self.text[pos] * 3
        quote = triple if self.text.startswith(triple, pos) else self.text[pos]
        depth = outer.depth + 1 if outer else 0
        if depth > _DEEPEST:
            raise TemplateError("string literals are nested too deeply", offset=start)
        return StringLiteral(start, prefix, quote, depth)

    def _backslash(self, pos: int, literal: StringLiteral) -> int:
        if pos + 1 in self.items:
            # `\{` is no escape, so the author means a backslash followed by the value; as it
            # stands, the backslash would swallow the first character written for the value.
            if literal.raw:
                literal.guarded.append(pos)
            elif self._takes_value(pos + 1):
                self.rewrites.append(Rewrite(pos, pos + 1, "\\\\"))
            return pos + 1
        return self._raw_backslash(pos, literal) if literal.raw else self._escape(pos)

    def _raw_backslash(self, pos: int, literal: StringLiteral) -> int:
        literal.guarded.append(pos)
        following = self.text[pos + 1 : pos + 2]
        if following in ("'", '"', "\\"):
            literal.guarded.append(pos + 1)
            return pos + 2
        if following in ("\r", "\n") and len(literal.quote) == 1:
            literal.stays_raw = True
            return pos + (3 if self.text.startswith("\r\n", pos + 1) else 2)
        return pos + 1

    def _escape(self, pos: int) -> int:
        escape = _ESCAPE.match(self.text, pos)
        if escape is None:  # a brace follows, which is never escaped; or the source ends here
            return pos + 1
        if escape["name"] and pos + 2 in self.items:
            raise self._ambiguous(pos, "`\\N{…}` may be a character name or a placeholder")
        end = escape.end()
        if self._takes_value(end):
            if escape["hex"] and len(escape["hex"]) < _COMPLETE[escape["hex"][0]]:
                raise self._ambiguous(pos, "the value would complete the escape before it")
            if escape["octal"]:
                # Padded, so that a digit at the start of the value stays a digit of its own.
                self.rewrites.append(Rewrite(pos + 1, end, escape["octal"].rjust(3, "0")))
        return end

    def _takes_value(self, pos: int) -> bool:
        item = self.items.get(pos)
        return isinstance(item, Placeholder) and item.mode is not Mode.RAW

    def _brace(self, pos: int, literal: StringLiteral) -> int:
        if not self.text.startswith("{{", pos):
            return self._field(pos + 1, literal)
        if pos + 1 in self.items:
            raise self._ambiguous(pos, "these braces may be read in two ways in an f-string")
        return pos + 2

    def _field(self, pos: int, literal: StringLiteral) -> int:
        pos = self.code(pos, literal)
        if self.text[pos] == "}":
            return pos + 1
        pos += 1
        while stop := _TEXT_STOP.search(self.text, pos):
            pos = stop.start()
            char = stop[0]
            if pos in self.items:
                pos = self._item(pos, Place.FORMAT_SPEC, literal)
            elif char == "}":
                return pos + 1
            elif char == "{":
                pos = self._field(pos + 1, literal)
            elif char == "\\":
                literal.stays_raw = True
                pos += 2
            elif self.text.startswith(literal.quote, pos):
                break
            elif char in literal.quote and pos + 1 in self.items:
                raise self._ambiguous(pos, "an empty value would join the quotes around it")
            else:
                pos += 1
        raise self._unterminated(literal)

    def _closed(self, literal: StringLiteral, end: int) -> None:
        if not literal.modes - {Mode.RAW}:
            return
        if literal.raw:
            self._make_plain(literal)
        if self.text.startswith(literal.quote[0], end):
            # With an empty value the quotes of `'{A}''b'` would open a triple-quoted literal.
            self.rewrites.append(Rewrite(end, end, " "))

    def _make_plain(self, literal: StringLiteral) -> None:
        """Turn a raw literal that takes values into a plain one: a raw one cannot hold every text.

        One literal stays one literal, so nothing changes in how the code around it binds.
        """
        if Mode.RAW in literal.modes or literal.stays_raw:
            raise self._ambiguous(literal.start, "this raw literal cannot be made plain")
        plain = re.sub("[rR]", "", literal.prefix)
        if not plain and self.text[: literal.start].endswith(("'", '"')):
            plain = " "  # the `r` is all that keeps the quotes of two literals apart
        end = literal.start + len(literal.prefix)
        self.rewrites.append(Rewrite(literal.start, end, plain))
        self.rewrites += [Rewrite(pos, pos + 1, "\\" + self.text[pos]) for pos in literal.guarded]

    def _unterminated(self, literal: StringLiteral) -> TemplateError:
        return TemplateError("this string literal does not end", offset=literal.start)

    def _ambiguous(self, pos: int, message: str) -> TemplateError:
        hint = "assign the value to a name first: `value = {NAME}`"
        return TemplateError(message, offset=pos, hint=hint)


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"
