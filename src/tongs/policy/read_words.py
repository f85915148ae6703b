"""Which words of a command name files whose contents it reads."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence

from tongs.core.annotations import TYPE_CHECKING

if TYPE_CHECKING:
    from tongs.policy.shell.state import Invocation

# They name files and read none of what is in them.
_NOT_READERS = frozenset(
    "echo printf touch rm mkdir rmdir ls dir stat test [ cd pushd chmod chown chgrp file basename"
    " dirname realpath readlink which type command export unset alias true false : kill ps env"
    " ssh-keygen ssh-add ssh fd exit return".split()
)
_GIT_READERS = frozenset(
    "show diff grep cat-file hash-object archive blame log apply config".split()
)
# The last operand is written, not read, unless an option names the target.
_COPIERS = frozenset({"cp", "mv", "install", "ln", "rsync"})
_TARGET = re.compile(r"-[A-Za-z]*t|--t")
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"})
# Their first operand is what is looked for, unless an option says it.
_WITH_PATTERN = _SEARCHERS | {"sed", "awk", "gawk", "jq", "yq"}
_PATTERN_GIVEN = re.compile(r"-[A-Za-z]*[ef]|--(?:reg|file|exp)")
_NAMES_GIVEN = frozenset("-e --regexp --exclude --include --exclude-dir -g --glob --iglob".split())
_FIND_NAMES = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-not"})
_ARCHIVERS = frozenset({"tar", "bsdtar", "gtar"})
_CREATES = re.compile(r"-?[A-Za-z]*[cru]|--(?:cr|ap|up|concat)")
_WHOLE = frozenset({"rg", "ag", "ack", "7z"})
_RECURSIVE = re.compile(r"-[A-Za-z]*[rRa]|--(?:rec|arc|deref)")


def is_recursive(invocation: Invocation) -> bool:
    """Whether it reads all that lies in a folder it is given."""
    name, words = invocation.program, invocation.words[1:]
    if name in _ARCHIVERS:
        return any(map(_CREATES.match, (*words[:1], *(w for w in words if w.startswith("-")))))
    return name in _WHOLE or (
        name in ("cp", "grep", "egrep", "fgrep", "zip", "rsync", "scp", "diff")
        and any(map(_RECURSIVE.match, words))
    )


def read_words(invocation: Invocation) -> Iterator[str]:
    name, words = invocation.program, list(invocation.words[1:])
    if name in _NOT_READERS:
        return
    if name == "git":
        from tongs.policy.git_words import divided, folder  # noqa: PLC0415 - only for git

        start, words = folder(words), divided(words).operands
        if words and words[0] in _GIT_READERS:
            yield from (word if start == "." else os.path.join(start, word) for word in words[1:])
    elif name in _COPIERS:
        yield from _copied(name, words)
    elif name in _WITH_PATTERN:
        yield from _searched(name, words, recursive=is_recursive(invocation))
    elif name in _ARCHIVERS:
        yield from _archived(words)
    elif name in ("find", "gfind"):
        yield from _without_values(words, _FIND_NAMES)
    else:
        yield from (word for word in words if not word.startswith(("--exclude", "--include")))


def _copied(name: str, words: list[str]) -> Iterator[str]:
    if name == "rsync" or not any(map(_TARGET.match, words)):
        last = max((n for n, word in enumerate(words) if not word.startswith("-")), default=None)
        if last is not None:
            del words[last]
    yield from (word for word in words if not word.startswith(("--exclude", "--include")))


def _searched(name: str, words: list[str], *, recursive: bool) -> Iterator[str]:
    first = next((n for n, word in enumerate(words) if not word.startswith("-")), None)
    if first is not None and not any(map(_PATTERN_GIVEN.match, words)):
        del words[first]
    found = [*_without_values(words, _NAMES_GIVEN if name in _SEARCHERS else frozenset())]
    yield from found
    if recursive and all(word.startswith("-") for word in found):
        yield "."


def _without_values(words: Sequence[str], options: frozenset[str]) -> Iterator[str]:
    before = ""
    for word in words:
        if before not in options and word.partition("=")[0] not in options:
            yield word
        before = word


def _archived(words: Sequence[str]) -> Iterator[str]:
    """`-C FOLDER` holds for what follows it."""
    folder = before = ""
    for word in words:
        if before in ("-C", "--directory"):
            folder = os.path.join(folder, word)
        elif word.startswith("--directory="):
            folder = os.path.join(folder, word.partition("=")[2])
        elif re.match(r"-C.", word):
            folder = os.path.join(folder, word[2:])
        elif not word.startswith(("--exclude", "--include")):
            yield os.path.join(folder, word)
        before = word
