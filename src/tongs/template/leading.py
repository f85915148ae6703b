"""Places where a value must not pass for an option, since an option of that program runs code.

`ssh {HOST}` with the host `-oProxyCommand=…` runs that command; so do `tar --to-command=…`,
`git clone --upload-pack=…` and their like. Quoting cannot help, and to refuse such tools would
refuse half of all useful ones, so the value is refused: it may not begin with a dash there. `--`
before it lifts that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tongs.template.placeholder import Mode, Placeholder, written
from tongs.template.values import ABSENT, ValueRefused, Values, plain_text

# The short options of each program that take the next word, so that a value there is no option.
RUN_OPTIONS = {
    "bash": "oO", "curl": "AbcCdDeEFhHKmoPQrRtTuUwxXyYz", "dash": "o", "fish": "dDCf", "find": "D",
    "git": "bcCFmnSu", "ksh": "o", "less": "bDhjkooOpPtTxyz", "lua": "l", "make": "CfIjloW",
    "man": "CLmMPrS", "node": "r", "nodejs": "r", "perl": "I", "php": "cdtS", "python": "WX",
    "rsync": "eTfBM", "ruby": "ICrE", "scp": "cDFiJloPSX", "sed": "efl", "sftp": "bBcDFiJloPRSsX",
    "sh": "o", "sort": "kotST", "ssh": "BbcDEeFIiJLlmOopQRSWw", "tar": "fCTXIFgKbHVLN",
    "wget": "oaeiBtOTwQPUlADIX", "zip": "bntx", "zsh": "o",
}  # fmt: skip
# These look for no options behind their first operand; `find` for no others.
STOP_AT_OPERANDS = frozenset(
    "bash dash find fish ksh lua node nodejs perl php python ruby sh ssh zsh".split()
)
# Of these a long option takes the next word more often than not (`git commit --message {M}`), and
# what stands behind an action of `find` is its value.
_LONG_VALUED = frozenset({"git", "curl", "find"})
# They start another program that stands among their words.
WRAPPERS = frozenset(
    "command doas env exec nice nohup setsid stdbuf sudo time timeout xargs".split()
)
# `python3.11` is python.
_VERSION = re.compile(r"(?<=[a-z])[\d.]+\Z")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")

# The fixed text of a word ("" where it has none), and the placeholder it begins with.
Reading = tuple[str, Placeholder | None]


def reading(fixed: str, item: Placeholder | None) -> Reading:
    """A word whose fixed beginning is continued by a value."""
    if not fixed:
        return "", item
    # An option that carries its value in the same word takes no further one.
    return (fixed + "=" if fixed.startswith("-") else fixed), None


def guarded(words: Sequence[Reading]) -> Iterator[tuple[Placeholder, str]]:
    """Placeholders that begin a word in which such a program looks for options, and the program."""
    program, arguments = _started(words)
    takes_next = False
    for text, leading in arguments:
        if text == "--":
            return
        if leading is not None:
            if not takes_next and leading.mode is not Mode.RAW and not leading.slot.harmless:
                yield leading, program
        elif not takes_next and not _is_option(text) and _is_last(program):
            return
        takes_next = _is_option(text) and _takes_next(program, text)


def _started(words: Sequence[Reading]) -> tuple[str, Sequence[Reading]]:
    """The program of RUN_OPTIONS that this command starts, and its words; none if there is none."""
    names = [_program(text) for text, _ in words]
    index = next((i for i, (text, _) in enumerate(words) if not _ASSIGNMENT.match(text)), 0)
    if index < len(names) and names[index] in WRAPPERS:
        index = next((i for i, name in enumerate(names) if name in RUN_OPTIONS), 0)
    if index >= len(names) or names[index] not in RUN_OPTIONS:
        return "", ()
    arguments = list(words[index + 1 :])
    if names[index] == "tar" and arguments and arguments[0][0]:
        # `tar xf` is `tar -xf`.
        arguments[0] = ("-" + arguments[0][0].removeprefix("-"), None)
    return names[index], arguments


def refuse_option(item: Placeholder, values: Values, program: str) -> None:
    """Raise ValueRefused for a value that the program would take for an option."""
    value = written(values.get(item.slot.name, ABSENT), item)
    texts = [plain_text(e) for e in value] if isinstance(value, list) else [plain_text(value)]
    if any(text.startswith("-") for text in texts):
        raise ValueRefused(
            item.slot.name,
            f"may not begin with `-` here: {program} would take it for an option, and can run code",
        )


def _is_last(program: str) -> bool:
    """Whether a first operand ends the options; the actions of `find` stand behind its folders."""
    return program in STOP_AT_OPERANDS and program != "find"


def _takes_next(program: str, option: str) -> bool:
    if option.startswith("--") or program == "find":
        return program in _LONG_VALUED and "=" not in option
    return option[-1] in RUN_OPTIONS[program]


def _program(text: str) -> str:
    name = text.rpartition("/")[2]
    return name if name in RUN_OPTIONS or name in WRAPPERS else _VERSION.sub("", name)


def _is_option(text: str) -> bool:
    return len(text) > 1 and text.startswith("-")
