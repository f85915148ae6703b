"""Where the shell scanner stands in a text, and what it has found there."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from enum import Enum

from tongs.core.annotations import NoReturn
from tongs.core.record import dataclass, field
from tongs.template.placeholder import Literal, Placeholder
from tongs.template.values import TemplateError

SYNTAX_RULE = "shell-syntax"

# Between words; a backslash at the end of a line joins it with the next.
BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
SPACE = re.compile(r"(?:[ \t\n]|\\\n)+")
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Quote(Enum):
    """How the shell reads the characters at one place."""

    BARE = "bare"
    # Bare, where the grammar wants exactly one word: after `>`, in `[[ ]]`, as a pattern.
    FIELD = "one word"
    DOUBLE = '"…"'
    # The body of `<<EOF`.
    HEREDOC = "heredoc"
    SINGLE = "'…'"
    ANSI = "$'…'"
    ARITHMETIC = "arithmetic"
    COMMENT = "comment"
    # The body of `<<'EOF'`.
    VERBATIM = "quoted heredoc"


UNQUOTED = frozenset({Quote.BARE, Quote.FIELD})


@dataclass(slots=True)
class Site:
    """One placeholder and the way its place is read."""

    item: Placeholder | Literal
    quote: Quote
    # The shell evaluates what stands here as arithmetic, and so runs `a[$(…)]`.
    evaluated: bool = False
    # How many command substitutions enclose it.
    depth: int = 0
    # The placeholder is the whole word, so that an absent value can be no word at all.
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Word:
    """The author's spelling of one word, and the placeholders in it at any depth."""

    text: str
    sites: tuple[Site, ...]


@dataclass(slots=True)
class Command:
    """A simple command: assignments and words, and where its input and output go.

    A compound command (`{ … }`, `if`, a loop …) has no words, and `inner` commands.
    """

    words: list[Word]
    # Placeholders in its heredocs and herestrings, and the text of those that the shell expands.
    stdin: list[Site]
    stdin_text: str = ""
    # How many command substitutions enclose it.
    depth: int = 0
    # The variable of a `for` whose list the words are.
    variable: str = ""
    # Before it in a pipe; inside `< <( … )`.
    sources: list[Command] = field(default_factory=list)
    # Its output goes to the next command of a pipe.
    piped: bool = False
    inner: list[Command] = field(default_factory=list)
    # The compound command that it is a part of.
    outer: Command | None = None
    # Its output is evaluated as arithmetic.
    evaluated: bool = False


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """Text that the shell evaluates, without the command substitutions in it.

    `array` is the name before a subscript: that of an associative array is a plain text.
    """

    text: str
    array: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """`text[start:end]` of the text being scanned is `item`."""

    start: int
    end: int
    item: Placeholder | Literal


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace `text[start:end]` of the author's text, whatever the values are."""

    start: int
    end: int
    text: str


class Cursor:
    """A place in `text`, and the sites, commands and edits found before it.

    Every placeholder met becomes a `Site`, in the order of the text.
    """

    def __init__(
        self,
        text: str,
        marks: Sequence[Mark],
        dialect: str,
        origin: int | None = None,
        depth: int = 0,
    ) -> None:
        self.text = text
        self.pos = 0
        self.end = len(text)
        self.dialect = dialect
        # Where the enclosing backtick stands in the author's text: there `pos` counts another text.
        self.origin = origin
        # How many command substitutions enclose `pos`.
        self.depth = depth
        # What stands at `pos` is evaluated as arithmetic.
        self.evaluated = False
        self.sites: list[Site] = []
        self.commands: list[Command] = []
        self.edits: list[Edit] = []
        self.arithmetics: list[Arithmetic] = []
        # Where the command substitutions stand.
        self.substitutions: list[tuple[int, int]] = []
        self._marks = marks
        self._next_mark = 0
        # Where the placeholder taken last stands.
        self.taken = (-1, -1)

    def doubt(self, message: str, at: int | None = None, hint: str = "") -> NoReturn:
        offset = self.origin if self.origin is not None else self.pos if at is None else at
        raise TemplateError(message, offset=offset, hint=hint, rule=SYNTAX_RULE)

    def mark_at(self, pos: int) -> Mark | None:
        """The placeholder that starts at `pos`, if it is the next one."""
        if self._next_mark < len(self._marks):
            mark = self._marks[self._next_mark]
            if mark.start == pos:
                return mark
        return None

    def pass_mark(self, pos: int) -> Mark | None:
        """Like `mark_at`, and leave the placeholder to another cursor."""
        mark = self.mark_at(pos)
        self._next_mark += mark is not None
        return mark

    def has_mark_before(self, end: int) -> bool:
        return self._next_mark < len(self._marks) and self._marks[self._next_mark].start < end

    def take_mark(self, quote: Quote) -> bool:
        """Record the placeholder at `pos` and step over it; False if there is none."""
        mark = self.mark_at(self.pos)
        if mark is None:
            return False
        if self.evaluated and quote in UNQUOTED:
            quote = Quote.ARITHMETIC
        self.sites.append(Site(mark.item, quote, self.evaluated, self.depth))
        self._next_mark += 1
        self.taken = (mark.start, mark.end)
        self.pos = mark.end
        return True

    def take_marks_before(self, end: int, quote: Quote) -> None:
        """Record every placeholder up to `end`, where nothing but placeholders has a meaning."""
        while self.has_mark_before(end):
            self.pos = self._marks[self._next_mark].start
            self.take_mark(quote)
        self.pos = end

    def text_without_substitutions(self, start: int, end: int) -> str:
        # In the order of their ends: those inside stand last.
        inside = itertools.takewhile(lambda span: span[1] > start, reversed(self.substitutions))
        kept: list[str] = []
        at = start
        for opened, closed in sorted(inside):
            if at <= opened:
                kept.append(self.text[at:opened])
                at = closed
        return "".join([*kept, self.text[at:end]])

    def skip(self, plain: re.Pattern[str]) -> bool:
        match = plain.match(self.text, self.pos, self.end)
        if match is None:
            return False
        self.pos = match.end()
        return True

    def peek(self, ahead: int = 0) -> str:
        at = self.pos + ahead
        return self.text[at] if at < self.end else ""
