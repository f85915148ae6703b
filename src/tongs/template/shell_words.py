"""Read the parts of a shell word: quotes, expansions, patterns, arrays.

The scanner follows bash's own order: a word is a run of quotes, expansions and plain characters.
It keeps no syntax tree. What it cannot place with certainty it refuses (`TemplateError`), because a
wrong guess about quoting is how a value becomes code. What stands between words is read by
`shell_commands`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from tongs.template.placeholder import Literal, Mode, Placeholder
from tongs.template.shell_cursor import (
    NAME,
    SPACE,
    UNQUOTED,
    Arithmetic,
    Command,
    Cursor,
    Mark,
    Quote,
    Word,
)

_NOTHING = re.compile("")
_PLAIN_IN_WORD = re.compile(r"""[^ \t\n|&;()<>'"`\\${\[]+""")
_PLAIN_IN_DOUBLE = re.compile(r'[^"`\\${]+')
_PLAIN_IN_BRACES = re.compile(r"""[^'"`\\${}]+""")
_PLAIN_IN_ARITHMETIC = re.compile(r"""[^'"`\\${}()\[\]]+""")
_PLAIN_IN_GROUP = re.compile(r"""[^'"`\\${()]+""")
_PLAIN_IN_ANSI = re.compile(r"[^'\\{]+")
_BACKTICK_BODY = re.compile(r"(?:[^`\\]+|\\.)*", re.DOTALL)
_ARRAY_TARGET = re.compile(r"[A-Za-z_]\w*(?:\[.*\])?\+?=", re.ASCII | re.DOTALL)
_PARAMETER = re.compile(r"[!#]?(?:[A-Za-z_]\w*|\d+|[@*#?$!-])", re.ASCII)
_SPECIAL_PARAMETERS = frozenset("@*#?$!-0123456789")
_AFTER_ARRAY = " \t\n;&|<>)`"
# `${!x}` and `${x@P}` read what is in `x` as a name, or expand it once more.
_SECOND_READING = re.compile(
    r"\$\{(?:![A-Za-z_]\w*(?!\w|[@*]\}|\[[@*]\])|[A-Za-z_]\w*@P\})", re.ASCII
)
_TRANSFORM = re.compile(r"@[A-Za-z]\}|[@*]\}")


class WordScanner(Cursor):
    """Scan words from `pos`. `read_commands` reads the inside of `$( … )` and of backticks."""

    def __init__(
        self,
        text: str,
        marks: Sequence[Mark],
        dialect: str,
        read_commands: Callable[[WordScanner, str], None],
        origin: int | None = None,
        depth: int = 0,
    ) -> None:
        super().__init__(text, marks, dialect, origin, depth)
        self.read_commands = read_commands

    # --- quotes -----------------------------------------------------------------------------

    def escape(self) -> None:
        """`\\x`: the next character loses its meaning, so no placeholder may start there."""
        if mark := self.mark_at(self.pos + 1):
            source = self.text[mark.start : mark.end]
            self.doubt(
                f"a backslash stands before {source}",
                hint=f"write \\\\{source} for a backslash and the value, "
                f"or {{{source}}} for the text {source}",
            )
        self.pos = min(self.pos + 2, self.end)

    def single(self) -> None:
        """`'…'`, from the opening quote."""
        close = self.text.find("'", self.pos + 1, self.end)
        if close < 0:
            self.doubt("a single quote is never closed")
        self.take_marks_before(close, Quote.SINGLE)
        self.pos = close + 1

    def double(self) -> None:
        """`"…"`, from the opening quote."""
        start = self.pos
        self.pos += 1
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_DOUBLE):
                continue
            if self.text[self.pos] == '"':
                self.pos += 1
                return
            self.expansion(Quote.DOUBLE)
        self.doubt("a double quote is never closed", start)

    def ansi(self) -> None:
        """`$'…'`, from the dollar."""
        start = self.pos
        if self.dialect == "sh":
            self.doubt("$'…' does not exist in sh", hint="use shell: bash, or '…'")
        self.pos += 2
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_ANSI) or self.take_mark(Quote.ANSI):
                continue
            char = self.text[self.pos]
            if char == "'":
                self.pos += 1
                return
            if char == "\\":
                self.escape()
            else:
                self.pos += 1
        self.doubt("$' is never closed", start)

    # --- expansions -------------------------------------------------------------------------

    def expansion(self, quote: Quote) -> None:
        """One of `\\x`, `$…`, a backtick or a brace: what is special even inside `"…"`."""
        char = self.text[self.pos]
        if char == "\\":
            self.escape()
        elif char == "$":
            self.dollar(quote)
        elif char == "`":
            self.backtick(quote)
        elif not self.take_mark(quote):
            self.pos += 1

    def piece(self, reading: Quote = Quote.BARE) -> None:
        """One quote or expansion outside `"…"`, or one plain character."""
        char = self.text[self.pos]
        if char == "'":
            self.single()
        elif char == '"':
            self.double()
        else:
            self.expansion(reading)

    def dollar(self, quote: Quote) -> None:
        follows = self.peek(1)
        if follows == "(":
            if self.peek(2) == "(":
                self.pos += 3
                self.arithmetic("))")
            else:
                self.pos += 2
                self.substitution()
        elif follows == "{":
            self.pos += 2
            self.parameter(quote)
        elif follows == "'" and quote in UNQUOTED:
            self.ansi()
        elif follows == "[":
            self.pos += 2
            self.arithmetic("]")
        elif follows == "\\" and self.peek(2) == "\n":
            self.doubt("a line break divides a $ from what follows it")
        elif name := NAME.match(self.text, self.pos + 1, self.end):
            self.pos = name.end()
            self._refuse_glued_text(name.group())
        else:
            # `$?`, `$1` …, or a lone dollar; the quote of `$"…"` is left for the next piece.
            self.pos += 2 if follows in _SPECIAL_PARAMETERS else 1

    def _refuse_glued_text(self, name: str) -> None:
        """Text inserted after `$x` would become part of the name; a reference would not."""
        mark = self.mark_at(self.pos)
        item = mark.item if mark else None
        if isinstance(item, Placeholder) and (item.mode is Mode.RAW or item.slot.mapped):
            source = self.text[item.start : item.end] if self.origin is None else item.slot.name
            self.doubt(f"{source} touches ${name}", hint=f"write ${{{name}}}{source}")

    def substitution(self) -> None:
        """`$( … )`, `<( … )`: commands of their own, after the opening parenthesis."""
        evaluated, self.evaluated = self.evaluated, False
        start, first = self.pos, len(self.commands)
        self.depth += 1
        self.read_commands(self, ")")
        self.depth -= 1
        self.evaluated = evaluated
        self.substituted(start, first)

    def substituted(self, start: int, first: int) -> None:
        """A command substitution from `start` ends here; its commands are those from `first` on."""
        self.substitutions.append((start, self.pos))
        if self.evaluated:
            self.evaluate_output(self.commands[first:])

    def evaluate_output(self, commands: Iterable[Command]) -> None:
        """What these commands print is evaluated as arithmetic."""
        for command in commands:
            command.evaluated = command.evaluated or command.depth == self.depth + 1

    def backtick(self, quote: Quote) -> None:
        """`` `…` ``: the shell removes one level of backslashes and reads the rest as commands."""
        start = self.pos
        body = _BACKTICK_BODY.match(self.text, start + 1, self.end)
        close = body.end() if body else self.end
        if close >= self.end:
            self.doubt("a backtick is never closed", start)
        if quote is Quote.HEREDOC and '\\"' in self.text[start:close]:
            self.doubt('\\" in backticks in a heredoc is not understood', hint="use $( … )")
        first = len(self.commands)
        self._backtick_commands(close, "\\`$" if quote in UNQUOTED else '\\`$"')
        self.pos = close + 1
        self.substituted(start, first)

    def _backtick_commands(self, close: int, escapable: str) -> None:
        inner: list[str] = []
        marks: list[Mark] = []
        at, length = self.pos + 1, 0
        while at < close:
            mark = self.pass_mark(at)
            if mark is not None:
                marks.append(Mark(length, length + mark.end - mark.start, mark.item))
                taken, at = self.text[mark.start : mark.end], mark.end
            elif self.text[at] == "\\" and self.text[at + 1] in escapable:
                taken, at = self.text[at + 1], at + 2
            else:
                taken, at = self.text[at], at + 1
            inner.append(taken)
            length += len(taken)
        origin = self.pos if self.origin is None else self.origin
        scanner = WordScanner(
            "".join(inner), marks, self.dialect, self.read_commands, origin, self.depth + 1
        )
        self.read_commands(scanner, "")
        self.sites += scanner.sites
        self.commands += scanner.commands
        self.arithmetics += scanner.arithmetics

    def parameter(self, quote: Quote) -> None:
        """`${…}`, after the opening brace."""
        start = self.pos - 2
        head = _PARAMETER.match(self.text, self.pos, self.end)
        if head is None:
            self.doubt("this ${…} is not understood", start)
        self.pos = head.end()
        if self.peek() == "[":
            self.pos += 1
            self.arithmetic("]", array=head.group().lstrip("!#"))
        if _SECOND_READING.match(self.text, start, self.end):
            self.arithmetics.append(Arithmetic(head.group()))
        operator = self.peek()
        if operator == "}":
            self.pos += 1
        elif operator == ":" and self.peek(1) not in ("-", "=", "+", "?"):
            self.pos += 1
            self.arithmetic("}")
        elif operator in (":", "-", "=", "+", "?"):
            self.braced_word(start, quote, pattern=False)
        elif operator in ("#", "%", "/", "^", ",", "~"):
            self.braced_word(start, quote, pattern=True)
        elif not self.skip(_TRANSFORM):
            self.doubt("this ${…} is not understood", start)

    def braced_word(self, start: int, quote: Quote, *, pattern: bool) -> None:
        """The word of `${x:-word}` up to `}`. A pattern keeps its own quotes even inside `"…"`."""
        reading = Quote.FIELD if pattern else quote
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_BRACES):
                continue
            char = self.text[self.pos]
            if char == "}":
                self.pos += 1
                return
            if (mark := self.mark_at(self.pos)) and isinstance(mark.item, Literal):
                self.doubt("an escaped placeholder inside ${…} would close it", hint="quote it")
            if quote in UNQUOTED:
                self.piece(reading)
            elif quote is Quote.HEREDOC and (pattern or char in "'\""):
                self.doubt("this ${…} in a heredoc is not understood", start)
            elif char == "'" or (char == "$" and self.peek(1) == "'"):
                self._quote_inside_quoted_braces()
            elif char == '"':
                self.double()
            else:
                self.expansion(reading)
        self.doubt("${ is never closed", start)

    def _quote_inside_quoted_braces(self) -> None:
        """`"${x:-'…'}"`: shells disagree whether these quote, so no value may stand there."""
        start, first = self.pos, len(self.sites)
        if self.dialect == "sh":
            self.doubt('a single quote inside "${…}" is read differently by different shells')
        if self.text[self.pos] == "'":
            self.single()
        else:
            self.ansi()
        if len(self.sites) > first:
            self.doubt(
                'a placeholder stands in single quotes inside "${…}"',
                start,
                hint="leave the single quotes out",
            )

    def arithmetic(self, closer: str, *, array: str = "") -> None:
        """`$((…))`, `((…))`, `[…]`, `${x:…}`: evaluated text, after its opening.

        `array` is the name before a subscript.
        """
        start, evaluated = self.pos, self.evaluated
        self.evaluated = True
        open_brackets: list[str] = []
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_ARITHMETIC):
                continue
            char = self.text[self.pos]
            if not open_brackets and self.text.startswith(closer, self.pos, self.end):
                text = self.text_without_substitutions(start, self.pos)
                self.arithmetics.append(Arithmetic(text, array))
                self.pos += len(closer)
                self.evaluated = evaluated
                return
            if char in "([":
                open_brackets.append(")" if char == "(" else "]")
                self.pos += 1
            elif char in ")]":
                if not open_brackets or open_brackets.pop() != char:
                    break
                self.pos += 1
            else:
                self.piece()
        self.doubt(
            "this arithmetic is not closed where it should be",
            start,
            hint="write `$( (` with a blank if a subshell was meant",
        )

    # --- words ------------------------------------------------------------------------------

    def word(
        self,
        reading: Quote = Quote.BARE,
        *,
        before_subscript: re.Pattern[str] | None = None,
        array: str = "",
    ) -> Word:
        """One word. After a match of `before_subscript`, `[` opens the subscript of an array.

        `array` names that array inside `array=( … )`, where the word does not.
        """
        start, first = self.pos, len(self.sites)
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_WORD):
                continue
            char = self.text[self.pos]
            if char in " \t\n|&;)":
                break
            if char in "<>(":
                negation = before_subscript is NAME and self.text[start : self.pos] == "!"
                if negation or not self._parenthesis(start):
                    break
            elif char == "[":
                self.pos += 1
                if before_subscript and before_subscript.fullmatch(self.text, start, self.pos - 1):
                    self.arithmetic("]", array=array or self.text[start : self.pos - 1])
                    if self.peek() not in ("=", "+"):
                        # A pattern: `[a-z]*` reads no variable `a`.
                        self.arithmetics.pop()
            else:
                self.piece(reading)
        sites = tuple(self.sites[first:])
        if len(sites) == 1 and self.taken == (start, self.pos):
            sites[0].alone = sites[0].quote is Quote.BARE
        return Word(self.text[start : self.pos], sites)

    def _parenthesis(self, start: int) -> bool:
        """`<(…)`, a pattern `@(…)` or an array `a=(…)`; False where the word ends instead."""
        if self.text[self.pos] in "<>":
            if self.peek(1) != "(":
                return False
            self.pos += 2
            self.substitution()
        elif self.pos > start and self.text[self.pos - 1] in "?*+@!":
            self.group()
        elif _ARRAY_TARGET.fullmatch(self.text, start, self.pos):
            name = NAME.match(self.text, start)
            self.array(name.group() if name else "")
        else:
            return False
        return True

    def group(self) -> None:
        """`( … )` inside a pattern or a regular expression, from its parenthesis."""
        start = self.pos
        self.pos += 1
        while self.pos < self.end:
            if self.skip(_PLAIN_IN_GROUP):
                continue
            char = self.text[self.pos]
            if char == "(":
                self.group()
            elif char == ")":
                self.pos += 1
                return
            else:
                self.piece()
        self.doubt("a parenthesis is never closed", start)

    def array(self, name: str) -> None:
        """`a=( … )`, from its parenthesis."""
        start = self.pos
        self.pos += 1
        while self.pos < self.end:
            self.space_and_comments()
            if self.peek() == ")":
                self.pos += 1
                if self.peek() not in _AFTER_ARRAY:
                    self.doubt("something touches the end of an array")
                return
            if not self.word(before_subscript=_NOTHING, array=name).text:
                break
        self.doubt("this array is not understood", start)

    def comment(self) -> None:
        """`# …` up to, not including, the end of the line."""
        line_end = self.text.find("\n", self.pos, self.end)
        self.take_marks_before(self.end if line_end < 0 else line_end, Quote.COMMENT)

    def space_and_comments(self) -> None:
        while self.skip(SPACE) or self.peek() == "#":
            if self.peek() == "#":
                self.comment()
