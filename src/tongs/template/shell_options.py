"""Divide the words of a command into options, their values, and operands."""

from __future__ import annotations

from collections.abc import Sequence

from tongs.template.placeholder import Placeholder
from tongs.template.shell_cursor import Quote, Site, Word
from tongs.template.shell_flow import plain
from tongs.template.shell_interpreters import Options

# An option whose name a value chooses: `-{A}`.
ANY_OPTION = "-?"

Given = tuple[str, list[Word]]


def divide(arguments: Sequence[Word], options: Options) -> tuple[list[Given], Sequence[Word]]:
    """Options with their values, and the operands."""
    given: list[Given] = []
    operands: list[Word] = []
    index = 0
    while index < len(arguments):
        word = arguments[index]
        text = plain(word)
        index += 1
        if text == "--":
            break
        if len(text) < 2 or text[0] not in "-+":
            operands.append(word)
            if len(operands) > options.permuted:
                break
        elif text.startswith("--"):
            option, equals, _ = text.partition("=")
            count = 0 if equals else options.long_valued.get(option, 0)
            if _value_starts(word, option, 2):
                option, count = ANY_OPTION, 0
            given.append((option, list(arguments[index : index + count]) if count else [word]))
            index += count
        else:
            index += _short_options(word, text, options, arguments[index:], given)
    return given, [*operands, *arguments[index:]]


def _short_options(
    word: Word, text: str, options: Options, following: Sequence[Word], given: list[Given]
) -> int:
    """Divide `-abc`; return how many of the following words it takes."""
    if count := options.long_valued.get(text, 0):
        given.append((text, list(following[:count])))
        return count
    given.append((text, list(following[:1])))
    for index, letter in enumerate(text[1:], 1):
        if _value_starts(word, text, index):
            given.append((ANY_OPTION, [word]))
            return 0
        if letter in options.valued:
            rest = text[index + 1 :]
            given.append(("-" + letter, [word] if rest else list(following[:1])))
            return 0 if rest else 1
        given.append(("-" + letter, []))
        if letter in options.glued:
            return 0
    return 0


def _value_starts(word: Word, text: str, index: int) -> bool:
    """Whether a placeholder stands at this place of the word's plain text."""
    return any(text.startswith(source(site), index) for site in word.sites)


def source(site: Site) -> str:
    """The placeholder as its author wrote it."""
    item = site.item
    if not isinstance(item, Placeholder):
        return item.text
    return "{" + (f"{item.mode.value}:" if item.mode.value else "") + item.slot.name + "}"


def starts_with_value(word: Word) -> bool:
    """The first character of the word comes from a value or an expansion that carries one."""
    return bool(word.sites) and plain(word).startswith(("{", "$", "`"))


def many_words(word: Word) -> list[Site]:
    """The placeholders that can become several words: bare arrays, and what xargs reads."""
    if not word.text:
        return list(word.sites)
    return [
        site
        for site in word.sites
        if site.quote is Quote.BARE
        and isinstance(site.item, Placeholder)
        and site.item.slot.type == "array"
    ]
