"""What a word becomes when the shell expands it, as far as that is known beforehand."""

from __future__ import annotations

import itertools
import os.path
import re
from collections.abc import Callable, Iterator, Sequence

from tongs.core.annotations import TypeAlias
from tongs.policy.shell.state import PATTERN, SET, UNKNOWN, State
from tongs.policy.shell.tree import (
    Arithmetic,
    Doubt,
    Parameter,
    Piece,
    Substitution,
    Text,
    Word,
)

# One character with whether it is quoted, or something that expands.
Token: TypeAlias = "tuple[str, bool] | Parameter | Substitution | Arithmetic"
# What a substitution prints, if that is known; whoever answers also looks at what it starts.
Output: TypeAlias = Callable[[Substitution], "str | None"]

_MOST_WORDS = 2048
_MOST_BRACES = 128
# The longest value, in characters.
_LONGEST = 256 * 1024
_RANGE = re.compile(r"(-?[0-9]{1,6})\.\.(-?[0-9]{1,6})(?:\.\.-?[0-9]{1,6})?|(.)\.\.(.)")
_DEFAULT = re.compile(r":?[-=]")
_ITEMS = re.compile(r"\[[@*]\]\Z")
# A subscript, or an offset and a length: bash takes them for arithmetic.
_COUNTED = re.compile(r"\[(?![@*]\](?!:[^-=+?]))|(?:\[[@*]\])?:[^-=+?]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Expander:
    def __init__(self, state: State, output: Output, evaluated: Callable[[str], None]) -> None:
        self.state = state
        self._output = output
        # Told of every text that the shell evaluates on the way.
        self._evaluated = evaluated

    def fields(self, word: Word) -> list[str]:
        """The words that one word becomes."""
        found: list[str] = []
        for tokens in _braces(list(_tokens(word.pieces))):
            found += self._fields(tokens)
            if len(found) > _MOST_WORDS:
                raise Doubt("a word becomes too many")
        return found

    def text(self, word: Word, *, assigned: bool = False) -> str:
        """The one text that a word becomes where it is not split: a value, a target."""
        tokens = list(_tokens(word.pieces))
        found = self._tilde(tokens)
        for token in tokens:
            if isinstance(token, tuple):
                found += token[0]
            else:
                found += " ".join(self._expanded(token))
            bounded(found)
        if assigned and ":" in found and "~" in word.raw:
            found = re.sub(r"(?<=:)~(?=/|:|\Z)", lambda _: self.state.home, found)
        return found

    def _fields(self, tokens: list[Token]) -> list[str]:
        fields: list[str] = [self._tilde(tokens)]
        # An expansion alone that comes to nothing is no word.
        solid = [bool(fields[0])]
        size = 0
        for token in tokens:
            if isinstance(token, tuple):
                fields[-1] += token[0] if token[1] else PATTERN.get(token[0], token[0])
                solid[-1] = True
                continue
            values = self._expanded(token)
            size += sum(map(len, values))
            if size > _LONGEST:
                raise Doubt("a value becomes too long")
            if getattr(token, "quoted", False) or isinstance(token, Arithmetic):
                _extend(fields, solid, values, keep=True)
            else:
                _split_into(fields, solid, values)
        return [
            _plain_bracket(field)
            for field, kept in zip(fields, solid, strict=True)
            if kept or field
        ]

    def _tilde(self, tokens: list[Token]) -> str:
        """Take a leading `~` or `~name`; what it stands for."""
        if not tokens or tokens[0] != ("~", False):
            return ""
        name: list[str] = []
        for token in tokens[1:]:
            if not isinstance(token, tuple) or token[1]:
                return ""
            if token[0] == "/":
                break
            name.append(token[0])
        del tokens[: 1 + len(name)]
        text = "".join(name)
        if text == "":
            home = self.state.variables.get("HOME", self.state.home)
            return UNKNOWN if home is None else home
        if text == "+":
            return self.state.folders[0] if len(self.state.folders) == 1 else UNKNOWN
        return "/root" if text == "root" else os.path.join(os.path.dirname(self.state.home), text)

    def _expanded(self, token: Parameter | Substitution | Arithmetic) -> list[str]:
        """The values of an expansion; UNKNOWN where nobody knows."""
        if isinstance(token, Arithmetic):
            self.evaluate(token.inside)
            return [UNKNOWN]
        if isinstance(token, Substitution):
            output = self._output(token)
            return [UNKNOWN if output is None or _CONTROL.search(output) else output.rstrip("\n")]
        # What stands inside may start programs, whether it is used or not.
        inside = self.text(Word(token.inside)) if token.inside else ""
        if _COUNTED.match(token.rest):
            self.evaluate(token.inside, inside)
        if token.prefix == "#":
            return [UNKNOWN]
        if token.prefix == "!" or token.rest.startswith("@"):
            return [self._indirect(token)]
        return self._parameter(token, inside)

    def evaluate(self, pieces: Sequence[Piece], text: str | None = None) -> None:
        """Arithmetic: what it says, and the variables in it, whose values are evaluated in turn."""
        known = self.text(Word(tuple(pieces))) if text is None else text
        names = [piece.name for piece in pieces if isinstance(piece, Parameter)]
        self._evaluated(" ".join((known, *names)))

    def _indirect(self, token: Parameter) -> str:
        """`${!x}` evaluates the name in `x`, and `${x@P}` the text."""
        value = self.state.variables.get(token.name)
        if value is None:
            raise Doubt(f"${{{token.prefix}{token.name}{token.rest}}} is evaluated")
        self._evaluated(value)
        return UNKNOWN

    def _parameter(self, token: Parameter, inside: str) -> list[str]:
        values = self._values(token.name, whole=token.name in "@*" or _ITEMS.match(token.rest))
        rest = _ITEMS.sub("", token.rest)
        if rest == "":
            return [UNKNOWN] if values is None else values
        if match := _DEFAULT.match(rest):
            if match[0].endswith("=") and not token.name.islower():
                self.state.exported |= {token.name}
            # With a colon also where it is empty.
            unset = token.name not in self.state.variables and not token.name.isdigit()
            if values is not None and values != [""]:
                return values
            if unset or values == [""]:
                # It may come from outside; what the script says is what it will most likely be.
                default = inside[len(match[0]) :]
                return [default] if token.name not in _OUTSIDE else [UNKNOWN]
        return [UNKNOWN]

    def _values(self, name: str, *, whole: object) -> list[str] | None:
        state = self.state
        if whole and name in state.arrays:
            items = state.arrays[name]
            return None if items is None else list(items)
        if whole and name in ("@", "*"):
            return None if state.positional is None else list(state.positional[1:])
        if name in state.arrays:
            items = state.arrays[name]
            return None if items is None else list(items[:1])
        if name in state.variables:
            value = state.variables[name]
            return None if value is None else [value]
        if name.isdigit() and len(name) > 6:
            return None
        if name.isdigit() and state.positional is not None:
            number = int(name)
            return [state.positional[number]] if number < len(state.positional) else [""]
        known = self._standing(name)
        return None if known is None else [known]

    def _standing(self, name: str) -> str | None:
        """What every shell has set."""
        if name == "HOME":
            return self.state.home
        if name == "PWD" and len(self.state.folders) == 1:
            return self.state.folders[0]
        return {"IFS": " \t\n"}.get(name)


# Set by whoever starts the shell, so the script's own default says nothing.
_OUTSIDE = frozenset({"HOME", "PATH", "USER", "PWD", "TMPDIR", "SHELL", "LANG", "@", "*"})


def bounded(value: str) -> str:
    """A value as it is, unless doubling it made it larger than anybody would write it."""
    if len(value) > _LONGEST:
        raise Doubt("a value becomes too long")
    return value


def _tokens(pieces: Sequence[Piece]) -> Iterator[Token]:
    for piece in pieces:
        if not isinstance(piece, Text):
            yield piece
        elif piece.text == "":
            # `""` is a word, though an empty one.
            yield ("", True)
        else:
            for char in piece.text:
                yield (UNKNOWN if _CONTROL.match(char) else char, piece.quoted)


def _plain_bracket(field: str) -> str:
    """A bracket that is never closed is no pattern."""
    return field.replace(SET, "[") if SET in field and "]" not in field else field


def _extend(fields: list[str], solid: list[bool], values: list[str], *, keep: bool) -> None:
    """`"a$@b"`: the first value ends the field before, the last begins the next one."""
    for number, value in enumerate(values):
        if number:
            fields.append("")
            solid.append(False)
        fields[-1] += value
        solid[-1] = solid[-1] or keep


def _split_into(fields: list[str], solid: list[bool], values: list[str]) -> None:
    for number, value in enumerate(values):
        parts = re.split(r"[ \t\n]+", value)
        for position, part in enumerate(parts):
            if number or position:
                fields.append("")
                solid.append(False)
            many = UNKNOWN * 2 if part == UNKNOWN else part
            fields[-1] += "".join(PATTERN.get(char, char) for char in many)


def _braces(tokens: list[Token]) -> Iterator[list[Token]]:
    """`a{b,c}` is two words; only what stands outside of quotes counts."""
    if sum(token == ("{", False) for token in tokens) > _MOST_BRACES:
        raise Doubt("a word has too many braces")
    budget = itertools.count()
    todo = [tokens]
    while todo:
        if next(budget) > _MOST_WORDS:
            raise Doubt("a word becomes too many")
        word = todo.pop(0)
        alternatives = _first_braces(word)
        if alternatives is None:
            yield word
        else:
            todo = [*alternatives, *todo]


def _first_braces(tokens: list[Token]) -> list[list[Token]] | None:
    for start, token in enumerate(tokens):
        if token != ("{", False):
            continue
        depth, commas = 0, [start]
        for end in range(start, len(tokens)):
            here = tokens[end]
            if here == ("{", False):
                depth += 1
            elif here == (",", False) and depth == 1:
                commas.append(end)
            elif here == ("}", False):
                depth -= 1
                if depth == 0:
                    found = _alternatives(tokens, [*commas, end])
                    if found is not None:
                        return found
                    break
    return None


def _alternatives(tokens: list[Token], marks: list[int]) -> list[list[Token]] | None:
    before, after = tokens[: marks[0]], tokens[marks[-1] + 1 :]
    inside = tokens[marks[0] + 1 : marks[-1]]
    if len(marks) > 2:
        parts = [tokens[a + 1 : b] for a, b in itertools.pairwise(marks)]
        return [[*before, *part, *after] for part in parts]
    text = "".join(
        token[0] if isinstance(token, tuple) and not token[1] else "\0" for token in inside
    )
    match = _RANGE.fullmatch(text)
    if match is None:
        return None
    if match[1]:
        first, last = int(match[1]), int(match[2])
        step = 1 if last >= first else -1
        if abs(last - first) > _MOST_WORDS:
            raise Doubt("a word becomes too many")
        items = [str(number) for number in range(first, last + step, step)]
    else:
        low, high = sorted((ord(match[3]), ord(match[4])))
        items = [chr(code) for code in range(low, high + 1)]
    return [[*before, *((char, False) for char in item), *after] for item in items]
