"""What a script has set so far, and what it has been seen to start.

In a value `UNKNOWN` stands for any text (twice: for any number of words), `ANY`, `ONE` and `SET`
for an unquoted `*`, `?` and `[`: characters that no script can contain, since the reader refuses
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from tongs.core.record import dataclass, field, replace
from tongs.policy.shell.tree import Command, Doubt

UNKNOWN = "\0"
ANY, ONE, SET = "\x01", "\x02", "\x03"
PATTERN = {"*": ANY, "?": ONE, "[": SET}
SPELLED = {UNKNOWN: "…", ANY: "*", ONE: "?", SET: "["}
# Folders the script can be in; beyond that nobody knows.
_MOST_FOLDERS = 8
# Steps of one reading: loops are unrolled and functions entered.
_MOST_STEPS = 4000
# Characters of all words of one reading, and what a word costs beside its own.
_MOST_SIZE = 2 * 1024 * 1024
_COST_OF_WORD = 32


def spelled(text: str) -> str:
    """A value as a person reads it."""
    text = text.replace(UNKNOWN * 2, UNKNOWN)
    return "".join(SPELLED.get(char, char) for char in text)


@dataclass(frozen=True, slots=True)
class Invocation:
    """One program that the script starts, with its words as it will see them."""

    words: tuple[str, ...]
    # Where it can be started.
    folders: tuple[str, ...]
    # The programs it is started by: `sudo`, `bash -c` …
    through: tuple[str, ...] = ()
    # What it reads: None where nobody knows, empty where nothing is piped in.
    stdin: str | None = ""
    # Variables set for it alone, and those the script has changed before.
    environment: tuple[str, ...] = ()
    # Files that redirections read and write.
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()

    @property
    def program(self) -> str:
        return self.words[0].rpartition("/")[2]

    @property
    def shown(self) -> str:
        from shlex import join  # noqa: PLC0415 - only for a person

        return join([spelled(word) for word in self.words])


@dataclass(slots=True)
class State:
    home: str
    folders: tuple[str, ...]
    # None: set, and nobody knows to what.
    variables: dict[str, str | None] = field(default_factory=dict)
    arrays: dict[str, tuple[str, ...] | None] = field(default_factory=dict)
    functions: dict[str, tuple[Command, ...]] = field(default_factory=dict)
    # `$0`, `$1` …; None where nobody knows.
    positional: tuple[str, ...] | None = None
    stops_at_failure: bool = False
    # Names that it exports or takes away, whatever they are called; `*` for all.
    exported: frozenset[str] = frozenset()

    def copy(self) -> State:
        return replace(
            self,
            variables=dict(self.variables),
            arrays=dict(self.arrays),
            functions=dict(self.functions),
        )

    def become(self, others: Iterable[State]) -> None:
        """What is the same in all of them is known; the rest could be either."""
        first, *rest = others
        for other in rest:
            first = _either(first, other)
        self.folders, self.variables, self.arrays = first.folders, first.variables, first.arrays
        self.functions, self.positional = first.functions, first.positional
        self.stops_at_failure = first.stops_at_failure
        self.exported = first.exported

    @property
    def environment(self) -> tuple[str, ...]:
        """The variables it has changed that a program may see, or the shell goes by.

        A variable that came from outside is exported again whenever it is set. Nobody here knows
        which came, so only a new name in small letters is taken for the script's own.
        """
        names = {*self.variables, *self.arrays}
        seen = names if "*" in self.exported else {*filter(_from_outside, names)}
        return tuple(sorted(seen | self.exported - {"*"}))


_OWN = re.compile(r"(?!\w*_proxy\Z)[a-z_][a-z0-9_]*", re.ASCII)


def _from_outside(name: str) -> bool:
    return not _OWN.fullmatch(name)


def _either(one: State, other: State) -> State:
    names = {**one.variables, **other.variables}
    variables = {
        name: one.variables[name]
        if name in one.variables
        and name in other.variables
        and one.variables[name] == other.variables[name]
        else None
        for name in names
    }
    arrays = {
        name: one.arrays.get(name) if one.arrays.get(name) == other.arrays.get(name) else None
        for name in {**one.arrays, **other.arrays}
    }
    functions = {
        name: tuple(
            {
                id(b): b for b in (*one.functions.get(name, ()), *other.functions.get(name, ()))
            }.values()
        )
        for name in {**one.functions, **other.functions}
    }
    folders = tuple(dict.fromkeys((*one.folders, *other.folders)))
    return State(
        home=one.home,
        folders=folders if len(folders) <= _MOST_FOLDERS else (UNKNOWN,),
        variables=variables,
        arrays=arrays,
        functions=functions,
        positional=one.positional if one.positional == other.positional else None,
        stops_at_failure=one.stops_at_failure and other.stops_at_failure,
        exported=one.exported | other.exported,
    )


@dataclass(slots=True)
class Findings:
    """Everything a reading has come upon."""

    invocations: list[Invocation] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    # Functions that start themselves again beside themselves.
    bombs: list[str] = field(default_factory=list)
    # Files written by the script itself, by name.
    written: set[str] = field(default_factory=set)
    # What `<( … )` prints, by the name the program gets for it.
    pipes: dict[str, str | None] = field(default_factory=dict)
    # Variables of `declare -i`.
    integers: set[str] = field(default_factory=set)
    steps: int = 0
    size: int = 0

    def step(self) -> None:
        self.steps += 1
        if self.steps > _MOST_STEPS:
            raise Doubt("it takes too many steps to follow")

    def grow(self, words: Sequence[str]) -> None:
        """Count what words become: a few short ones can become more than there is room for."""
        self.size += sum(map(len, words)) + _COST_OF_WORD * len(words)
        if self.size > _MOST_SIZE:
            raise Doubt("its words become too many")

    def doubt(self, reason: str) -> None:
        if reason not in self.doubts:
            self.doubts.append(reason)
