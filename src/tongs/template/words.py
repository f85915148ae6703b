"""Values in `run:`, a command that no shell ever sees.

The author's text is split into words once, at load time; values are put into words afterwards, so
a blank or a quote in a value never makes another word. `~`, `$X` and `*` are plain characters.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass, field
from tongs.template.leading import Reading, guarded, reading, refuse_option
from tongs.template.placeholder import Literal, Mode, Placeholder, find, names, raw_names, written
from tongs.template.values import (
    ABSENT,
    NO_UNICODE,
    Slots,
    TemplateError,
    Value,
    ValueRefused,
    Values,
    is_unicode,
    plain_text,
)

_Piece: TypeAlias = str | Placeholder

# What would mean something to a shell, if there were one around.
_SPECIAL = re.compile(r"""[\\'"$`]""")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of the author's text. `bare` is false where any part of it stood in quotes."""

    pieces: tuple[_Piece, ...]
    bare: bool

    @property
    def sole(self) -> Placeholder | None:
        """The placeholder that is this whole word, outside quotes."""
        piece = self.pieces[0] if self.bare and len(self.pieces) == 1 else None
        return piece if isinstance(piece, Placeholder) else None


@dataclass(frozen=True, slots=True)
class WordsTemplate:
    """A command line ready for values."""

    words: tuple[Word, ...]
    names: frozenset[str]
    raw_names: frozenset[str]
    windows: bool

    def render(self, values: Values) -> list[str]:
        """The words of the command. Raises `ValueRefused` for what no argument can carry."""
        self.refuse_options(values)
        return [text for word in self.words for text in self._rendered(word, values)]

    def refuse_options(self, values: Values) -> None:
        """Raise `ValueRefused` for a value that would pass for an option which can run code."""
        for item, program in guarded([_reading(word) for word in self.words]):
            refuse_option(item, values, program)

    def _rendered(self, word: Word, values: Values) -> list[str]:
        if (sole := word.sole) is not None:
            return self._own_words(sole, values)
        return ["".join(p if isinstance(p, str) else _text(p, values) for p in word.pieces)]

    def _own_words(self, sole: Placeholder, values: Values) -> list[str]:
        value = written(values.get(sole.slot.name, ABSENT), sole)
        if value is ABSENT or value is None:
            return []
        if isinstance(value, list):
            return [_passable(sole.slot.name, plain_text(element)) for element in value]
        if (code := _code(sole, value)) is None:
            return [_passable(sole.slot.name, plain_text(value))]
        try:
            return [_passable(sole.slot.name, text) for text in split(code, windows=self.windows)]
        except TemplateError as error:
            raise ValueRefused(sole.slot.name, f"is no list of words: {error.message}") from error


def compile(  # noqa: A001 - one name in all languages
    text: str, slots: Slots, *, windows: bool = False
) -> WordsTemplate:
    """Split the author's text as a POSIX shell splits words; nothing else of a shell applies.

    With `windows` a backslash is a plain character everywhere, as paths there need it.
    Raises `TemplateError` where a quote does not end.
    """
    words = tuple(_Splitter(text, slots, windows=windows).words())
    pieces = [piece for word in words for piece in word.pieces]
    for slot in {piece.slot for piece in pieces if isinstance(piece, Placeholder)}:
        for code in (slot.true_value, slot.false_value) if slot.mapped else ():
            split(code or "", windows=windows)
    return WordsTemplate(words, names(pieces), raw_names(pieces), windows)


def _reading(word: Word) -> Reading:
    """A word as `guarded` looks at it."""
    fixed = ""
    for piece in word.pieces:
        if isinstance(piece, Placeholder):
            return reading(fixed, piece)
        fixed += piece
    return fixed, None


def check_programs(
    template: WordsTemplate, stdin: Iterable[Placeholder] = ()
) -> list[TemplateError]:
    """Every placeholder that stands where a program would run its value: `bash -c "ls {A}"`.

    `stdin` are those in the text that the program reads: `bash` alone runs it.
    """
    # A tool that was checked before does not pay for these.
    from tongs.template.shell_cursor import Quote, Site  # noqa: PLC0415
    from tongs.template.shell_cursor import Word as ShellWord  # noqa: PLC0415
    from tongs.template.shell_options import source  # noqa: PLC0415
    from tongs.template.shell_programs import words_errors  # noqa: PLC0415

    read = []
    for word in template.words:
        text, sites = "", []
        for piece in word.pieces:
            if isinstance(piece, Placeholder):
                quote = Quote.BARE if word.sole is piece else Quote.DOUBLE
                sites.append(Site(piece, quote))
                text += source(sites[-1])
            else:
                text += _SPECIAL.sub(r"\\\g<0>", piece)
        read.append(ShellWord(text or "''", tuple(sites)))
    return words_errors(read, [Site(item, Quote.DOUBLE) for item in stdin])


def split(text: str, *, windows: bool = False) -> list[str]:
    """The words of a text without placeholders."""
    words = _Splitter(text, {}, windows=windows).words()
    return ["".join(piece for piece in word.pieces if isinstance(piece, str)) for word in words]


def arguments_words(arguments: Mapping[str, Value] | Iterable[Value]) -> list[str]:
    """`arguments:` as words for a command line.

    A mapping gives `--key value` (a key that starts with `-` as it is), `--key` alone for true,
    nothing for false, null or absent, and `--key a --key b` for a list. A list is positional.
    """
    if not isinstance(arguments, Mapping):
        return [word for value in arguments for word in _value_words("arguments", value)]
    words: list[str] = []
    for key, value in arguments.items():
        flag = key if key.startswith("-") else f"--{key}"
        if value is True:
            words.append(flag)
        elif value is not False:
            for word in _value_words(key, value):
                words += [flag, word]
    return words


def _value_words(name: str, value: Value) -> list[str]:
    if value is ABSENT or value is None:
        return []
    elements = value if isinstance(value, list) else [value]
    return [_passable(name, plain_text(element)) for element in elements]


def _code(sole: Placeholder, value: Value) -> str | None:
    """Text that is split like the author's own, because the author wrote it or asked for it."""
    if sole.mode is Mode.RAW:
        return plain_text(value, sole.slot)
    if isinstance(value, bool) and sole.slot.mapped:
        return sole.slot.authors_text(value) or ""
    return None


def _text(placeholder: Placeholder, values: Values) -> str:
    value = written(values.get(placeholder.slot.name, ABSENT), placeholder)
    return _passable(placeholder.slot.name, plain_text(value, placeholder.slot))


def _passable(name: str, text: str) -> str:
    if "\0" in text:
        raise ValueRefused(name, "may not contain a NUL character in an argument")
    if not is_unicode(text):
        raise ValueRefused(name, NO_UNICODE)
    return text


@dataclass(slots=True)
class _Growing:
    pieces: list[_Piece] = field(default_factory=list)
    bare: bool = True

    def add(self, piece: _Piece) -> None:
        last = self.pieces[-1] if self.pieces else None
        if isinstance(piece, str) and isinstance(last, str):
            self.pieces[-1] = last + piece
        else:
            self.pieces.append(piece)


class _Splitter:
    def __init__(self, text: str, slots: Slots, *, windows: bool) -> None:
        self.text = text
        self.items = {item.start: item for item in find(text, slots)}
        self.escapes = not windows
        self.word: _Growing | None = None

    def words(self) -> Iterator[Word]:
        pos = 0
        while pos < len(self.text):
            if self.text[pos] in " \t\r\n":
                yield from self._finished()
                pos += 1
            else:
                pos = self._next(pos)
        yield from self._finished()

    def _finished(self) -> Iterator[Word]:
        if self.word is not None:
            yield Word(tuple(self.word.pieces), self.word.bare)
        self.word = None

    def _next(self, pos: int) -> int:
        """Take one item, quoted stretch, escape or character into the word."""
        word = self.word = self.word or _Growing()
        char = self.text[pos]
        if pos in self.items:
            return self._item(pos, word)
        if char in "'\"":
            return self._quoted(pos, word)
        if char == "\\" and self.escapes:
            if pos + 1 in self.items:
                raise TemplateError(
                    "a backslash stands before a placeholder",
                    offset=pos,
                    hint="write `\\\\` for a backslash, or double the braces for braces",
                )
            if pos + 1 == len(self.text):
                raise TemplateError("a backslash ends the text", offset=pos)
            word.bare = False
            pos += 1
        word.add(self.text[pos])
        return pos + 1

    def _item(self, pos: int, word: _Growing) -> int:
        item = self.items[pos]
        word.add(item.text if isinstance(item, Literal) else item)
        return item.end

    def _quoted(self, start: int, word: _Growing) -> int:
        quote = self.text[start]
        word.bare = False
        word.add("")  # so that a pair of quotes around nothing is a word
        pos = start + 1
        while pos < len(self.text):
            if pos in self.items:
                pos = self._item(pos, word)
                continue
            if self.text[pos] == quote:
                return pos + 1
            if quote == '"' and self.escapes and self.text[pos : pos + 2] in ('\\"', "\\\\"):
                pos += 1
            word.add(self.text[pos])
            pos += 1
        raise TemplateError(f"this {quote} has no partner", offset=start)


__all__ = ["WordsTemplate", "arguments_words", "check_programs", "compile", "split"]
