"""Divide the words of a command into options, their values, and operands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tongs.core.record import dataclass, field
from tongs.template.shell_interpreters import Options


@dataclass(slots=True)
class Given:
    """The words of a command, divided."""

    options: list[tuple[str, list[str]]] = field(default_factory=list)
    operands: list[str] = field(default_factory=list)

    def value(self, *names: str) -> str | None:
        """The value of the last of these options."""
        for option, values in reversed(self.options):
            if given_in(option, names):
                return values[0] if values else None
        return None

    def has(self, *names: str) -> bool:
        return any(given_in(option, names) for option, _ in self.options)


def given_in(option: str, names: Iterable[str]) -> bool:
    """Whether an option is one of these; GNU programs take a long one that is cut short."""
    cut = option.startswith("--") and len(option) > 3
    return any(option == name or (cut and name.startswith(option)) for name in names)


def divide(words: Sequence[str], options: Options) -> Given:
    """Options with their values, and the operands, as `getopt` would."""
    given = Given()
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            break
        if len(word) < 2 or word[0] not in "-+":
            given.operands.append(word)
            if len(given.operands) > options.permuted:
                break
        elif word.startswith("--") or word in options.long_valued:
            name, equals, value = word.partition("=")
            count = 0 if equals else _values_of(name, options)
            values = [value] if equals else list(words[index : index + count])
            given.options.append((name, values))
            index += count
        else:
            index += _short(word, words[index : index + 1], options, given)
    given.operands += words[index:]
    return given


def _values_of(name: str, options: Options) -> int:
    if name in options.long_valued:
        return options.long_valued[name]
    # A long option may be cut short.
    full = [each for each in options.long_valued if len(name) > 3 and each.startswith(name)]
    return options.long_valued[full[0]] if full else 0


def _short(word: str, following: Sequence[str], options: Options, given: Given) -> int:
    for at, letter in enumerate(word[1:], 1):
        if letter in options.valued:
            rest = word[at + 1 :]
            given.options.append((f"-{letter}", [rest] if rest else list(following)))
            return 0 if rest else len(following)
        if letter in options.glued:
            given.options.append((f"-{letter}", [word[at + 1 :]]))
            return 0
        given.options.append((f"-{letter}", []))
    return 0
