"""Read `[[ … ]]`, where some operators evaluate their operands as arithmetic."""

from __future__ import annotations

import re

from tongs.core.record import dataclass
from tongs.template.shell_cursor import Arithmetic, Command, Quote, Word
from tongs.template.shell_words import WordScanner

_ARITHMETIC = frozenset({"-eq", "-ne", "-lt", "-le", "-gt", "-ge"})
_BINARY = _ARITHMETIC | {"=", "==", "!=", "=~", "<", ">", "-ef", "-nt", "-ot"}
# `[[ -v 'a[$(…)]' ]]` runs the command, too.
_NAMES = frozenset({"-v", "-R"})
_UNARY = re.compile(r"-[a-zA-Z]")
_JOINTS = frozenset({"&&", "||", "(", ")", "!", "]]"})
_OPERATOR = re.compile(r"&&|\|\||[()<>]")
_PLAIN_IN_REGEX = re.compile(r"""[^ \t\n'"`\\${()]+""")


@dataclass(frozen=True, slots=True)
class _Operand:
    """A word, its text without the command substitutions in it, and their commands."""

    word: Word
    text: str
    commands: list[Command]


def read_condition(scanner: WordScanner) -> None:
    """The rest of `[[ … ]]`, after its opening word."""
    start, opened = scanner.pos - 2, 0
    primary: list[_Operand] = []
    while True:
        scanner.space_and_comments()
        at, first = scanner.pos, len(scanner.commands)
        word = _read_word(scanner, after_match=bool(primary) and primary[-1].word.text == "=~")
        if not word.text:
            scanner.doubt("this [[ is not understood", start)
        if word.text not in _JOINTS:
            text = scanner.text_without_substitutions(at, scanner.pos)
            primary.append(_Operand(word, text, scanner.commands[first:]))
            continue
        _read_primary(scanner, primary, start)
        primary = []
        opened += (word.text == "(") - (word.text == ")")
        if word.text == "]]":
            break
    if opened:
        scanner.doubt("the parentheses of [[ do not match", start)


def _read_word(scanner: WordScanner, *, after_match: bool) -> Word:
    if after_match:
        return _read_regex(scanner)
    operator = _OPERATOR.match(scanner.text, scanner.pos, scanner.end)
    if operator is not None and scanner.peek(1) != "(":
        scanner.pos = operator.end()
        return Word(operator.group(), ())
    return scanner.word(Quote.FIELD)


def _read_primary(scanner: WordScanner, operands: list[_Operand], start: int) -> None:
    """`word`, `-f word` or `word == word`."""
    evaluated: tuple[_Operand, ...] = ()
    match operands:
        case [] | [_]:
            return
        case [operator, operand] if _UNARY.fullmatch(operator.word.text):
            evaluated = (operand,) if operator.word.text in _NAMES else ()
        case [left, operator, right] if operator.word.text in _BINARY:
            evaluated = (left, right) if operator.word.text in _ARITHMETIC else ()
        case _:
            scanner.doubt("this [[ is not understood", start)
    for operand in evaluated:
        for site in operand.word.sites:
            site.evaluated = site.evaluated or site.depth == scanner.depth
        scanner.arithmetics.append(Arithmetic(operand.text))
        scanner.evaluate_output(operand.commands)


def _read_regex(scanner: WordScanner) -> Word:
    """The right side of `=~`, where parentheses may hold blanks."""
    start, first = scanner.pos, len(scanner.sites)
    while scanner.pos < scanner.end and scanner.peek() not in " \t\n)":
        if scanner.skip(_PLAIN_IN_REGEX):
            continue
        if scanner.peek() == "(":
            scanner.group()
        else:
            scanner.piece(Quote.FIELD)
    return Word(scanner.text[start : scanner.pos], tuple(scanner.sites[first:]))
