"""The commands in `bash:`, `sh` and `run:` texts, as words with the values in them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tongs.authoring.lint.view import SHELLS, Passage
from tongs.core.record import dataclass
from tongs.template import words
from tongs.template.placeholder import Placeholder, find
from tongs.template.shell_commands import scan
from tongs.template.shell_cursor import Mark, Quote, Word
from tongs.template.values import TemplateError

_QUOTES = re.compile(r"""\\(.)|['"]""", re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*(?:\[.*?\])?\+?=", re.ASCII | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Argument:
    """One word. `text` is without quotes, with the placeholders as the author wrote them."""

    text: str
    # The value the word starts with.
    leading: Placeholder | None = None
    # The value that is the whole word, outside quotes.
    sole: Placeholder | None = None


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A command without its assignments; `program` is empty where a value chooses it."""

    words: tuple[Argument, ...]

    @property
    def program(self) -> str:
        first = self.words[0]
        return "" if first.leading else first.text.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Scanned:
    """A shell text: its commands, and the placeholders outside comments."""

    commands: tuple[CommandLine, ...]
    effective: tuple[Placeholder, ...]


def command_lines(passage: Passage) -> tuple[CommandLine, ...]:
    """The commands of a passage that has placeholders; none where it cannot be read."""
    if passage.language == "run":
        return tuple(_run_line(passage))
    scanned = read_by_shell(passage)
    return () if scanned is None else scanned.commands


def read_by_shell(passage: Passage) -> Scanned | None:
    """What the shell makes of a passage; None if it is no shell text or cannot be read."""
    if passage.language not in SHELLS:
        return None
    marks = [Mark(item.start, item.end, item) for item in find(passage.text, passage.slots)]
    try:
        found = scan(passage.text, marks, passage.language)
    except TemplateError:
        return None
    effective = (
        site.item
        for site in found.sites
        if site.quote is not Quote.COMMENT and isinstance(site.item, Placeholder)
    )
    lines = (_line(command.words, passage) for command in found.commands)
    return Scanned(tuple(line for line in lines if line.words), tuple(effective))


def _line(shell_words: list[Word], passage: Passage) -> CommandLine:
    first = 0
    while first < len(shell_words) and _ASSIGNMENT.match(shell_words[first].text):
        first += 1
    return CommandLine(tuple(_argument(word, passage) for word in shell_words[first:]))


def _argument(word: Word, passage: Passage) -> Argument:
    text = _QUOTES.sub(r"\1", word.text)
    if not word.sites or not isinstance(item := word.sites[0].item, Placeholder):
        return Argument(text)
    source = passage.text[item.start : item.end]
    if not text.startswith(source):
        return Argument(text)
    return Argument(text, leading=item, sole=item if word.text == source else None)


def _run_line(passage: Passage) -> Iterator[CommandLine]:
    try:
        template = words.compile(passage.text, passage.slots)
    except TemplateError:
        return
    arguments = []
    for word in template.words:
        pieces = word.pieces
        text = "".join(
            piece if isinstance(piece, str) else passage.text[piece.start : piece.end]
            for piece in pieces
        )
        # Quotes around a value leave an empty piece before it.
        filled = [piece for piece in pieces if piece != ""]
        leading = filled[0] if filled and isinstance(filled[0], Placeholder) else None
        arguments.append(Argument(text, leading, word.sole))
    if arguments:
        yield CommandLine(tuple(arguments))
