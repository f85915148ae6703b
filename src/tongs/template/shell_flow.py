"""Follow values through a shell script: from pipes to programs, and from variables to their uses.

`x={A}; echo $((x))` runs what the value says just as `echo $(( {A} ))` does. This is no analysis
of all paths: it sees what a script says plainly, and what it does not see it takes for harmless.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from tongs.core.record import dataclass, replace
from tongs.template.shell_cursor import NAME, Arithmetic, Command, Site, Word
from tongs.template.shell_interpreters import DECLARATIONS, ECHOES, FILTERS, PATH_PARTS

_QUOTES = re.compile(r"""\\(.)|['"]""", re.DOTALL)
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(?:\[.*?\])?\+?=", re.ASCII | re.DOTALL)
# Counting instead of printing.
_COUNTS = re.compile(r"-[A-Za-z]*c|--count\Z", re.ASCII)
# What stands in single quotes is not expanded; inside double quotes they are plain characters.
_UNEXPANDED = re.compile(r"""\\.|'[^']*'|("(?:[^"\\]|\\.)*")""", re.DOTALL)
# `${x//[^0-9]/}` takes out what is not wanted, and `${#x}` is a number.
_REFERENCE = re.compile(r"\$(?:\{!?([A-Za-z_]\w*)(?![\w/])|([A-Za-z_]\w*))", re.ASCII)
_WORD_IN_ARITHMETIC = re.compile(r"(?<![\w#])[A-Za-z_]\w*", re.ASCII)
# Not `$((`, which cleans nothing.
_SUBSTITUTION = re.compile(r"\$\((?!\()|`")


def plain(word: Word) -> str:
    """The word without quotes, as the program will see its fixed part."""
    return _QUOTES.sub(r"\1", word.text)


def program(command: Command) -> tuple[str, Sequence[Word]]:
    """The name of the program behind assignments and `command`, and its words."""
    words = command.words
    while words and (ASSIGNMENT.match(words[0].text) or plain(words[0]) in ("command", "builtin")):
        words = words[1:]
    return (plain(words[0]).rpartition("/")[2], words[1:]) if words else ("", ())


def stdin_sites(command: Command) -> list[Site]:
    """The placeholders whose values arrive on standard input."""
    sites = [*command.stdin]
    for source in command.sources:
        sites += output_sites(source)
    return sites if sites or command.outer is None else stdin_sites(command.outer)


def output_sites(command: Command) -> list[Site]:
    """The placeholders whose values the command prints, as far as its kind is known."""
    if command.inner:
        return [site for part in command.inner if not part.piped for site in output_sites(part)]
    name, words = program(command)
    if name in ECHOES or name in PATH_PARTS:
        return [site for word in words for site in word.sites]
    if name in FILTERS and not any(_COUNTS.match(word.text) for word in words):
        return stdin_sites(command)
    return []


def evaluated_sites(command: Command) -> list[Site]:
    """The placeholders whose values leave the command and are evaluated as arithmetic."""
    return output_sites(command) if command.evaluated and not _caught(command) else []


def _caught(command: Command) -> bool:
    """Another command reads the output."""
    return command.piped or (command.outer is not None and _caught(command.outer))


@dataclass(frozen=True, slots=True)
class Flow:
    """What variables carry: all of it, and what of it is evaluated as arithmetic."""

    carried: Mapping[str, Sequence[Site]]
    evaluated: Mapping[str, Sequence[Site]]


def follow(commands: Sequence[Command], arithmetics: Sequence[Arithmetic]) -> Flow:
    """See through `x={A}`, `read x <<< {A}` and `for x in {A}`.

    The values become sites of the words and heredocs that mention the variable.
    """
    carried: dict[str, list[Site]] = {}
    for command in commands:
        for name, sites in _assigned(command, carried):
            known = carried.setdefault(name, [])
            known += [site for site in sites if site not in known]
    _forget_cleaned(commands, carried)
    if not carried:
        return Flow({}, {})
    for command in commands:
        command.words[:] = [_with_carried(word, carried) for word in command.words]
        command.stdin += _referenced(command.stdin_text, carried)
    associative = _associative(commands)
    used = {
        name
        for arithmetic in arithmetics
        if arithmetic.array not in associative
        for name in _WORD_IN_ARITHMETIC.findall(arithmetic.text)
    }
    return Flow(carried, {name: sites for name, sites in carried.items() if name in used})


def _assigned(
    command: Command, carried: Mapping[str, Sequence[Site]]
) -> Iterator[tuple[str, list[Site]]]:
    """Every variable that the command sets, and the values that it so carries on."""
    name, words = program(command)
    before = command.words[: len(command.words) - len(words)]
    for word in command.words if name in DECLARATIONS else before:
        if assignment := ASSIGNMENT.match(plain(word)):
            yield assignment[1], _direct(word, command, carried)
    if command.variable:
        sites = [site for word in command.words for site in _direct(word, command, carried)]
        yield command.variable, sites
    if name == "printf" and len(words) > 2 and words[0].text == "-v" and "s" in words[2].text:
        yield words[1].text, [site for word in words[2:] for site in word.sites]
    if name in ("read", "mapfile", "readarray"):
        sites = stdin_sites(command) + _referenced(command.stdin_text, carried)
        for word in words:
            if NAME.fullmatch(word.text):
                yield word.text, sites


def _direct(word: Word, command: Command, carried: Mapping[str, Sequence[Site]]) -> list[Site]:
    """The values in a word, but not what commands inside it make of them."""
    sites = [site for site in word.sites if site.depth == command.depth]
    return sites if _SUBSTITUTION.search(word.text) else sites + _referenced(word.text, carried)


def _forget_cleaned(commands: Sequence[Command], carried: dict[str, list[Site]]) -> None:
    """`x=${x//[^0-9]/}` and `x=$(clean "$x")`: the author has looked after `x`."""
    for command in commands:
        for word in command.words:
            assignment = ASSIGNMENT.match(word.text)
            if assignment is None or assignment[1] not in carried:
                continue
            name, value = assignment[1], word.text[assignment.end() :]
            itself = re.search(rf"\$\{{?{name}\b(/)?", value)
            if itself and (itself[1] or _SUBSTITUTION.search(value)):
                del carried[name]


def _with_carried(word: Word, carried: Mapping[str, Sequence[Site]]) -> Word:
    sites = _referenced(word.text, carried)
    return replace(word, sites=(*word.sites, *sites)) if sites else word


def _referenced(text: str, carried: Mapping[str, Sequence[Site]]) -> list[Site]:
    """The values of the variables that the shell expands in this text."""
    if not carried or "$" not in text:
        return []
    expanded = _UNEXPANDED.sub(lambda match: match[1] or "", text)
    names = dict.fromkeys(a or b for a, b in _REFERENCE.findall(expanded))
    return [site for name in names for site in carried.get(name, ())]


def _associative(commands: Iterable[Command]) -> frozenset[str]:
    """The arrays whose subscripts are texts: those of `declare -A`."""
    names: set[str] = set()
    for command in commands:
        name, words = program(command)
        if name in DECLARATIONS and any(re.match(r"-\w*A", word.text) for word in words):
            names.update(word.text.partition("=")[0] for word in words)
    return frozenset(names)
