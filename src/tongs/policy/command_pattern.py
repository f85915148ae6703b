"""Patterns of commands: `rm -rf` sees `rm -r -f x`, `/bin/rm --recursive --force` and `rm x -fr`.

A pattern is the program, then words in their order, and options in any order and spelling.
`re:` makes it a regular expression over the words joined by blanks.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from enum import IntEnum
from fnmatch import fnmatchcase

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.record import dataclass

if TYPE_CHECKING:
    from tongs.policy.shell.state import Invocation

_UNKNOWN = "\0"


class Match(IntEnum):
    """Whether a condition holds; MAYBE where the call does not tell."""

    NO = 0
    MAYBE = 1
    YES = 2


# Spellings of one option, by program.
_SAME: dict[str, tuple[frozenset[str], ...]] = {
    "rm": (
        frozenset({"-r", "-R", "--recursive"}),
        frozenset({"-f", "--force"}),
        frozenset({"-d", "--dir"}),
    ),
    "cp": (frozenset({"-r", "-R", "--recursive"}), frozenset({"-f", "--force"})),
    "mv": (frozenset({"-f", "--force"}),),
    "ln": (frozenset({"-s", "--symbolic"}), frozenset({"-f", "--force"})),
    **dict.fromkeys(("chmod", "chown", "chgrp"), (frozenset({"-R", "--recursive"}),)),
    "git": (
        frozenset({"-f", "--force"}),
        frozenset({"-d", "--delete"}),
        frozenset({"-a", "--all"}),
        frozenset({"-n", "--no-verify"}),
    ),
    "grep": (frozenset({"-r", "-R", "--recursive"}),),
    "curl": (
        frozenset({"-k", "--insecure"}),
        frozenset({"-o", "--output"}),
        frozenset({"-T", "--upload-file"}),
        frozenset({"-d", "--data"}),
        frozenset({"-X", "--request"}),
    ),
    "docker": (frozenset({"-f", "--force"}), frozenset({"-v", "--volume"})),
    "kubectl": (frozenset({"-f", "--filename"}),),
    "npm": (frozenset({"-g", "--global"}), frozenset({"-f", "--force"})),
    "pip": (frozenset({"-U", "--upgrade"}), frozenset({"-y", "--yes"})),
    "kill": (frozenset({"-9", "-KILL", "-SIGKILL"}),),
}


@dataclass(frozen=True, slots=True)
class CommandPattern:
    text: str
    program: str = ""
    operands: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = None

    @property
    def key(self) -> str:
        """The one program it can match; empty if that could be any."""
        return "" if self.regex or re.search(r"[*?\[]", self.program) else _name(self.program)

    def match(self, invocation: Invocation) -> Match:
        """For rules that tighten: however the command is spelled, and whoever starts it."""
        words = invocation.words
        if self.regex is not None:
            return self._by_regex(words)
        if not self._is_program(words[0]):
            return Match.MAYBE if _UNKNOWN in words[0] else Match.NO
        rest = words[1:]
        options = _options(rest)
        missing = [option for option in self.options if not self._has(option, rest, options)]
        if not missing and self._has_operands(rest):
            return Match.YES
        # A word that nobody knows can be what is missing.
        return Match.MAYBE if any(word.startswith(_UNKNOWN) for word in rest) else Match.NO

    def covers(self, invocation: Invocation) -> bool:
        """For rules that allow: exactly these words first, and nothing around them."""
        words = invocation.words
        mine = tuple(shlex.split(self.text)) if self.regex is None else ()
        plain = not (invocation.through or invocation.environment)
        quiet = all(path == "/dev/null" for path in invocation.writes)
        if not (plain and quiet) or any(_UNKNOWN in word for word in words):
            return False
        if self.regex is not None:
            if self.regex.fullmatch(" ".join(words)) is None:
                return False
        elif words[: len(mine)] != mine:
            return False
        if invocation.program == "git":
            from tongs.policy.git_words import is_plain  # noqa: PLC0415 - only for git

            # An expression names no word for sure, so none of them counts as named.
            return is_plain(words[1:], max(len(mine) - 1, 0))
        return True

    def _by_regex(self, words: Sequence[str]) -> Match:
        assert self.regex is not None
        if self.regex.search(" ".join(words)):
            return Match.YES
        # The name without its folder, too: what matters is which program it is.
        if self.regex.search(" ".join((_name(words[0]), *words[1:]))):
            return Match.YES
        return Match.MAYBE if any(_UNKNOWN in word for word in words) else Match.NO

    def _is_program(self, word: str) -> bool:
        if "/" in self.program:
            return fnmatchcase(word, self.program)
        return fnmatchcase(_name(word), self.program)

    def _has(self, option: str, words: Sequence[str], given: frozenset[str]) -> bool:
        if option in words:
            return True
        if option.startswith("--"):
            return any(_same(spelling, given) for spelling in self._spellings(option))
        return all(
            any(_same(spelling, given) for spelling in self._spellings(f"-{letter}"))
            for letter in option[1:]
        )

    def _spellings(self, option: str) -> Iterable[str]:
        for same in _SAME.get(_name(self.program), ()):
            if option in same:
                return same
        return (option,)

    def _has_operands(self, words: Sequence[str]) -> bool:
        """The pattern's words lead; before each only options can stand, and their values."""
        wanted = list(self.operands)
        after_option = False
        for word in words:
            if not wanted:
                break
            if fnmatchcase(word, wanted[0]):
                wanted.pop(0)
                after_option = False
            elif word.startswith("-"):
                after_option = True
            elif after_option:
                after_option = False
            else:
                return False
        return not wanted


def compile_pattern(text: str) -> CommandPattern:
    """Raises ValueError with a text for the author."""
    if text.startswith("re:"):
        try:
            return CommandPattern(text, regex=re.compile(text[3:]))
        except re.error as error:
            raise ValueError(f"`{text}` is no regular expression: {error}") from None
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError(f"`{text}` has a quote that is never closed") from None
    if not words:
        raise ValueError("a command needs at least one word")
    program, *rest = words
    options = tuple(word for word in rest if len(word) > 1 and word.startswith("-"))
    operands = tuple(word for word in rest if word not in options)
    return CommandPattern(text, program, operands, options)


def _name(word: str) -> str:
    return word.rpartition("/")[2]


def _options(words: Sequence[str]) -> frozenset[str]:
    """Every option, short ones by their letter, up to `--`."""
    found: set[str] = set()
    for word in words:
        if word == "--":
            break
        if word.startswith("--"):
            found.add(word.partition("=")[0])
        elif len(word) > 1 and word.startswith("-"):
            found.add(word)
            found.update(f"-{letter}" for letter in word[1:] if letter.isalnum())
    return frozenset(found)


def _same(spelling: str, given: frozenset[str]) -> bool:
    """GNU programs take a long option that is cut short."""
    if spelling in given:
        return True
    return spelling.startswith("--") and any(
        len(option) > 2 and option.startswith("--") and spelling.startswith(option)
        for option in given
    )
