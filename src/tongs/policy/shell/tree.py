"""The parts of a script, as read and not yet expanded."""

from __future__ import annotations

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass, field


class Doubt(Exception):
    """The text is not understood from here on; the message says why."""


@dataclass(frozen=True, slots=True)
class Text:
    """Characters that stand for themselves; unquoted ones can still be a pattern."""

    text: str
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Parameter:
    """`$name`, or `${name…}` with what follows the name."""

    name: str
    # What follows the name inside the braces, and that in pieces.
    rest: str = ""
    inside: tuple[Piece, ...] = ()
    # `!` or `#` before the name.
    prefix: str = ""
    quoted: bool = False


@dataclass(frozen=True, slots=True)
class Substitution:
    """`$( … )` or backticks; with a direction `<( … )` or `>( … )`."""

    body: Script
    quoted: bool = False
    direction: str = ""


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """`$(( … ))`: a number, and an evaluation that can run commands."""

    inside: tuple[Piece, ...]


Piece: TypeAlias = "Text | Parameter | Substitution | Arithmetic"


@dataclass(frozen=True, slots=True)
class Word:
    pieces: tuple[Piece, ...]
    # As it is spelled.
    raw: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    name: str
    value: Word
    # The words of `name=( … )`.
    items: tuple[Word, ...] | None = None
    subscript: tuple[Piece, ...] = ()
    appends: bool = False


@dataclass(slots=True)
class Redirection:
    operator: str
    target: Word
    # The text that `<<` and `<<<` give; that of `<<` follows on the next line.
    body: Word | None = None


@dataclass(frozen=True, slots=True)
class Simple:
    assignments: tuple[Assignment, ...]
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()
    # Array assignments among the words of `declare` and its like.
    declared: tuple[Assignment, ...] = ()


@dataclass(frozen=True, slots=True)
class Pipeline:
    parts: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Compound:
    """`{ }`, `( )`, `if`, `while`, `until`, `case`: the scripts inside, in their order.

    `first` of them always run (a condition); of the others one or none does.
    """

    kind: str
    scripts: tuple[Script, ...]
    words: tuple[Word, ...] = ()
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Loop:
    """`for name in words`; without words the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    redirections: tuple[Redirection, ...] = ()


@dataclass(frozen=True, slots=True)
class Function:
    name: str
    body: Command


@dataclass(frozen=True, slots=True)
class Evaluation:
    """`(( … ))` and `[[ … ]]`: words that the shell evaluates."""

    kind: str
    words: tuple[Word, ...]
    redirections: tuple[Redirection, ...] = ()


Command: TypeAlias = "Simple | Pipeline | Compound | Loop | Function | Evaluation"


@dataclass(frozen=True, slots=True)
class Item:
    """One command of a list; `after` is the operator before it: `;`, `&&` or `||`."""

    after: str
    command: Command
    background: bool = False


@dataclass(slots=True)
class Script:
    items: list[Item] = field(default_factory=list)
    # Why the rest was not understood.
    doubt: str = ""
