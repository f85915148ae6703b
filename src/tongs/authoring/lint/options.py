"""Words of a command that a program may misread: values like options, booleans like words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tongs.authoring.lint.commands import Argument, CommandLine, command_lines
from tongs.authoring.lint.view import Definition
from tongs.core.errors import Problem
from tongs.template.leading import RUN_OPTIONS, STOP_AT_OPERANDS, WRAPPERS
from tongs.template.placeholder import Mode, Placeholder

# Well-known programs that know `--`, and their short options that take the next word. Of any other
# program nothing is known, so a word after an option counts as that option's value.
_VALUED = {
    "basename": "s", "cat": "", "chmod": "", "chown": "", "cmp": "in", "comm": "", "cp": "tS",
    "cut": "bcdf", "df": "tx", "diff": "CIUWx", "dirname": "", "du": "dtBX", "egrep": "efmABCdD",
    "fgrep": "efmABCdD", "file": "fmFPe", "grep": "efmABCdD", "gunzip": "S", "gzip": "S",
    "head": "nc", "ln": "tS", "ls": "ITw", "md5sum": "", "mkdir": "m", "mv": "tS",
    "nl": "bdfhilnsvw", "paste": "d", "readlink": "", "realpath": "", "rg": "efgtTmABCjEMr",
    "rm": "", "rmdir": "", "sha1sum": "", "sha256sum": "", "shred": "ns", "sort": "kotST",
    "stat": "cft", "tac": "s", "tail": "ncs", "tee": "", "touch": "drt", "tree": "LPIHTo",
    "uniq": "fsw", "wc": "", "zcat": "",
    **RUN_OPTIONS,
}  # fmt: skip
# Words that take anything as it is or know no `--`; `in` is how the list of a loop reads; and
# interpreters, which stop looking for options at their program's text.
_TAKES_ANYTHING = frozenset(
    ". : [ alias awk bc break builtin cd continue dd declare dirs echo eval exit export expr false"
    " gawk getopts hash in jq kill let local logger mapfile mawk parallel popd printf pushd pwsh"
    " read readarray readonly return seq set shift sleep source su test trap true typeset ulimit"
    " unset wait watch which yq".split()
)
_SED_PROGRAM = re.compile(r"-[a-zA-Z]*[ef]|--expression|--file")
# `python3.11` is python.
_VERSION = re.compile(r"(?<=[a-z])[\d.]+\Z")

# Programs to which `true` and `false` are words like any other.
_TAKES_TRUTH = frozenset("[ : echo exit export in jq printf return test yq".split())

_LIKE_OPTIONS = ("-", "-a", "-A", "-1", "--", "--a", "-rf", "--help", "--a=b", "-o=x", "-a b")


def bare_booleans(definition: Definition) -> Iterator[Problem]:
    """`grep {WHOLE_WORD}` runs `grep false`, which searches for the text."""
    for passage in definition.passages:
        for line in command_lines(passage):
            if line.program in _TAKES_TRUTH:
                continue
            # A boolean in front is the command `true` or `false`: `if {VERBOSE}; then`.
            for word in line.words[1:]:
                slot = word.sole.slot if word.sole else None
                if word.sole is None or slot is None or slot.type != "boolean" or slot.mapped:
                    continue
                option = "--" + slot.name.lower().replace("_", "-")
                yield definition.finding(
                    "bare-boolean",
                    passage.path,
                    f"the boolean {slot.name} has neither `true-value` nor `false-value`",
                    fix=f"under parameters.{slot.name} write the option itself, for example"
                    f" `true-value: {option}` (then nothing is inserted for false),"
                    " or `false-value:`, or both",
                    offset=word.sole.start,
                )


def missing_end_of_options(definition: Definition) -> Iterator[Problem]:
    """One finding for each command, at its first value that could pass for an option."""
    for passage in definition.passages:
        for line in command_lines(passage):
            program, words = _program(line)
            exposed = [] if program is None else list(_exposed(program, words, definition))
            if not exposed:
                continue
            names = ", ".join(dict.fromkeys(item.slot.name for item in exposed))
            first = passage.text[exposed[0].start : exposed[0].end]
            yield definition.finding(
                "missing-end-of-options",
                passage.path,
                f"{program} gets {names} with no `--` before"
                + ("; a value that begins with `-` is refused" if program in RUN_OPTIONS else ""),
                fix=_fix(program, first),
                offset=exposed[0].start,
            )


def _fix(program: str | None, first: str) -> str:
    if program == "find":
        return f"find knows no `--`: write `./{first}`, or give the parameter a pattern or an enum"
    return f"write `-- {first}`, with every option before the `--`"


def _program(line: CommandLine) -> tuple[str | None, Sequence[Argument]]:
    """The program that reads the words, and those words; None where nothing is known of it."""
    name = _without_version(line.program)
    if name in WRAPPERS:
        for index, word in enumerate(line.words[1:], 1):
            wrapped = _without_version(word.text)
            if word.leading is None and wrapped in _VALUED:
                return wrapped, line.words[index + 1 :]
        return None, ()
    if not name or name in _TAKES_ANYTHING or not _is_plain(name):
        return None, ()
    return name, _arguments(name, line.words[1:])


def _arguments(program: str, words: Sequence[Argument]) -> Sequence[Argument]:
    """Without the program that `sed` reads first; `tar xf` is `tar -xf`."""
    if program == "tar" and words and not words[0].leading:
        return [Argument("-" + words[0].text.removeprefix("-")), *words[1:]]
    if program == "sed" and not any(_SED_PROGRAM.match(word.text) for word in words):
        first = next((i for i, word in enumerate(words) if not word.text.startswith("-")), 0)
        return [*words[:first], *words[first + 1 :]]
    return words


def _without_version(name: str) -> str:
    short = _VERSION.sub("", name)
    return short if short in RUN_OPTIONS else name


def _is_plain(name: str) -> bool:
    """A program's name, and not a variable, a function's brace or an expansion."""
    return re.fullmatch(r"[\w.+-]+", name) is not None


def _exposed(
    program: str, words: Sequence[Argument], definition: Definition
) -> Iterator[Placeholder]:
    before = ""
    for word in words:
        if word.text == "--":
            return
        item = word.leading
        if item is None and _reads_no_more_options(program, before, word):
            return
        if (
            item is not None
            and item.mode is not Mode.RAW
            and not _takes_value(program, before)
            and _may_start_with_dash(item, definition)
        ):
            yield item
        before = word.text


def _reads_no_more_options(program: str, before: str, word: Argument) -> bool:
    """Options, then operands; `find` reads paths, then tests."""
    if program not in STOP_AT_OPERANDS or _takes_value(program, before):
        return False
    return word.text.startswith("-") == (program == "find")


def _takes_value(program: str, option: str) -> bool:
    """Whether the word after `option` is its value."""
    if len(option) < 2 or not option.startswith("-"):
        return False
    if option.startswith("--") or program not in _VALUED:
        return "=" not in option
    # `-C3` has its value already; `-rC` takes the next word.
    letters = [letter in _VALUED[program] for letter in option[1:]]
    return letters[-1] and not any(letters[:-1])


def _may_start_with_dash(item: Placeholder, definition: Definition) -> bool:
    if item.slot.harmless:
        return False
    return not refuses(definition.declared(item.slot.name).get("pattern"), _LIKE_OPTIONS)


def refuses(pattern: str | None, samples: Sequence[str]) -> bool:
    """Whether a parameter's pattern lets none of these values through."""
    if pattern is None:
        return False
    try:
        compiled = re.compile(pattern)
    except re.error:
        return False
    return not any(compiled.search(sample) for sample in samples)
