"""Read one word of a script: quotes, parameters, substitutions, arithmetic."""

from __future__ import annotations

import re

from tongs.core.annotations import NoReturn
from tongs.policy.shell.characters import ENDS_WORD, NAME, PLAIN, refuse_depth
from tongs.policy.shell.tree import (
    Arithmetic,
    Doubt,
    Parameter,
    Piece,
    Script,
    Substitution,
    Text,
    Word,
)

_SPECIAL = frozenset("@*#?$!-0123456789")
_PARAMETER = re.compile(r"([!#]?)([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!_-])")
_IN_DOUBLE = re.compile(r'[^"\\$`]+')
_IN_HEREDOC = re.compile(r"[^\\$`]+")
_IN_BRACES = re.compile(r"[^'\"\\$`{}]+")
_IN_ARITHMETIC = re.compile(r"[^'\"\\$`()]+")
_ESCAPES = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
_NUMBERED = re.compile(
    r"x([0-9A-Fa-f]{1,2})|([0-7]{1,3})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|c(.)", re.DOTALL
)
_IN_BACKTICKS = re.compile(r"(?:[^`\\]|\\.)*", re.DOTALL)


class WordReader:
    """A place in a script; `ScriptReader` adds the commands."""

    def __init__(self, text: str, depth: int = 0) -> None:
        refuse_depth(depth)
        self.text = text
        self.pos = 0
        self.depth = depth

    def peek(self, ahead: int = 0) -> str:
        at = self.pos + ahead
        return self.text[at] if at < len(self.text) else ""

    def starts(self, text: str) -> bool:
        return self.text.startswith(text, self.pos)

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        if match is None:
            return ""
        self.pos = match.end()
        return match[0]

    def doubt(self, message: str) -> NoReturn:
        line = self.text.count("\n", 0, self.pos) + 1
        raise Doubt(f"{message} (line {line})" if "\n" in self.text.strip() else message)

    def commands_until_parenthesis(self) -> Script:
        """Read the inside of a substitution."""
        raise NotImplementedError

    def another(self, text: str) -> Script:
        """Read a text by itself, one level deeper."""
        raise NotImplementedError

    def word(self) -> Word:
        """One word, from its first character; empty where none stands here."""
        start, pieces = self.pos, list[Piece]()
        while (char := self.peek()) and (char not in ENDS_WORD or self._process(char)):
            if plain := self.skip(PLAIN):
                pieces.append(Text(plain))
            else:
                pieces += self.piece()
        return Word(tuple(pieces), self.text[start : self.pos])

    def _process(self, char: str) -> bool:
        return char in "<>" and self.peek(1) == "("

    def piece(self) -> list[Piece]:
        """What starts with a special character outside of quotes."""
        char = self.peek()
        if char == "\\":
            return self._escaped()
        if char == "'":
            return [self._single()]
        if char == '"':
            return self._double()
        if char in "<>":
            self.pos += 2
            return [Substitution(self.commands_until_parenthesis(), direction=char)]
        return [self.expansion(quoted=False)]

    def _escaped(self) -> list[Piece]:
        following = self.peek(1)
        self.pos += 2
        if following == "":
            self.doubt("it ends with a backslash")
        return [] if following == "\n" else [Text(following, quoted=True)]

    def _single(self) -> Piece:
        end = self.text.find("'", self.pos + 1)
        if end < 0:
            self.doubt("a quote is never closed")
        text = self.text[self.pos + 1 : end]
        self.pos = end + 1
        return Text(text, quoted=True)

    def _double(self) -> list[Piece]:
        self.pos += 1
        pieces = [Text("", quoted=True), *self._quoted_pieces(_IN_DOUBLE, '"')]
        self.pos += 1
        return pieces

    def _quoted_pieces(self, plain: re.Pattern[str], end: str) -> list[Piece]:
        pieces: list[Piece] = []
        while (char := self.peek()) != end:
            if char == "":
                self.doubt("a quote is never closed")
            if text := self.skip(plain):
                pieces.append(Text(text, quoted=True))
            elif char == "\\":
                following = self.peek(1)
                self.pos += 2
                kept = following if following in ('$`"\\' if end else "$`\\") else char + following
                pieces.append(Text("" if following == "\n" else kept, quoted=True))
            else:
                pieces.append(self.expansion(quoted=True))
        return pieces

    def expansion(self, *, quoted: bool) -> Piece:
        """From a dollar sign or a backtick on."""
        if self.peek() == "`":
            return self._backticks(quoted=quoted)
        following = self.peek(1)
        if following == "\\" and self.peek(2) == "\n":
            self.doubt("a line break follows $")
        if following == "(":
            return self._parenthesis(quoted=quoted)
        if following == "{":
            return self._braces(quoted=quoted)
        if following == "'" and not quoted:
            return self._ansi()
        if following == '"' and not quoted:
            # A translation: the same text, where there is no catalogue of messages.
            self.pos += 1
            return _joined(self._double())
        self.pos += 1
        if name := self.skip(NAME):
            return Parameter(name, quoted=quoted)
        if following in _SPECIAL:
            self.pos += 1
            return Parameter(following, quoted=quoted)
        if following == "[":
            self.doubt("$[ … ] is arithmetic of an older time")
        return Text("$", quoted=True)

    def _parenthesis(self, *, quoted: bool) -> Piece:
        if self.peek(2) != "(":
            self.pos += 2
            return Substitution(self.commands_until_parenthesis(), quoted=quoted)
        self.pos += 3
        inside = self.arithmetic()
        return Arithmetic(inside)

    def arithmetic(self) -> tuple[Piece, ...]:
        """Up to and over `))`."""
        pieces: list[Piece] = []
        open_parentheses = 0
        while True:
            char = self.peek()
            if char == "":
                self.doubt("(( is never closed")
            if text := self.skip(_IN_ARITHMETIC):
                pieces.append(Text(text))
            elif char == "(":
                open_parentheses += 1
                self.pos += 1
            elif char == ")":
                self.pos += 1
                if open_parentheses == 0:
                    if self.peek() != ")":
                        self.doubt("(( is closed by a single parenthesis")
                    self.pos += 1
                    return tuple(pieces)
                open_parentheses -= 1
            else:
                pieces += self.piece()

    def _braces(self, *, quoted: bool) -> Piece:
        self.pos += 2
        match = _PARAMETER.match(self.text, self.pos)
        if match is None:
            self.doubt("this expansion is not understood")
        # `${#}` and `${!}` are parameters, not prefixes.
        prefix, name = match[1], match[2]
        self.pos = match.end()
        start = self.pos
        inside = self._in_braces(quoted=quoted)
        rest = self.text[start : self.pos - 1]
        return Parameter(name, rest, inside, prefix, quoted)

    def _in_braces(self, *, quoted: bool) -> tuple[Piece, ...]:
        pieces: list[Piece] = []
        while (char := self.peek()) != "}":
            if char == "":
                self.doubt("${ is never closed")
            if text := self.skip(_IN_BRACES):
                pieces.append(Text(text, quoted))
            elif char == "{":
                self.doubt("a brace stands inside ${ … }")
            elif char == "'" and quoted:
                self.pos += 1
                pieces.append(Text("'", quoted=True))
            else:
                pieces += self.piece()
        self.pos += 1
        return tuple(pieces)

    def _backticks(self, *, quoted: bool) -> Piece:
        match = _IN_BACKTICKS.match(self.text, self.pos + 1)
        assert match is not None, "it matches nothing, too"
        if self.text[match.end() : match.end() + 1] != "`":
            self.doubt("a backtick is never closed")
        self.pos = match.end() + 1
        unescaped = re.sub(r'\\([\\`$"])' if quoted else r"\\([\\`$])", r"\1", match[0])
        return Substitution(self.another(unescaped), quoted=quoted)

    def _ansi(self) -> Piece:
        """`$'…'`, with its escapes decoded."""
        self.pos += 2
        decoded: list[str] = []
        while (char := self.peek()) != "'":
            if char == "":
                self.doubt("a quote is never closed")
            self.pos += 1
            decoded.append(self._ansi_escape() if char == "\\" else char)
        self.pos += 1
        if any("\0" in part for part in decoded):
            self.doubt("a quoted text contains NUL")
        return Text("".join(decoded), quoted=True)

    def _ansi_escape(self) -> str:
        if match := _NUMBERED.match(self.text, self.pos):
            self.pos = match.end()
            hexadecimal, octal, short, long, control = match.groups()
            if control:
                return chr(ord(control.upper()) & 0x1F)
            # Bytes above 127 would have to be put together with their neighbours.
            number = int(octal, 8) & 0xFF if octal else int(hexadecimal or short or long, 16)
            if (number > 0x7F and (octal or hexadecimal)) or number > 0x10FFFF:
                self.doubt("a quoted text contains a byte above 127")
            return chr(number)
        char = self.peek()
        self.pos += 1
        return _ESCAPES.get(char, "\\" + char)

    def heredoc_pieces(self) -> tuple[Piece, ...]:
        """The body of `<<EOF`: everything up to the end of this text."""
        return tuple(self._quoted_pieces(_IN_HEREDOC, ""))


def _joined(pieces: list[Piece]) -> Piece:
    texts = [piece.text for piece in pieces if isinstance(piece, Text)]
    if len(texts) == len(pieces):
        return Text("".join(texts), quoted=True)
    raise Doubt('$"…" with an expansion in it')
