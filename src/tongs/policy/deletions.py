"""Deleting whole folders: which, and whether anybody may."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from tongs.core.annotations import TYPE_CHECKING, TypeAlias
from tongs.core.decision import Decision
from tongs.core.execution import CommandLine
from tongs.policy.targets import UNKNOWN, Ground, Target, each_target, operands, shown

if TYPE_CHECKING:
    from tongs.policy.shell.reading import Reading
    from tongs.policy.shell.state import Invocation

Judged: TypeAlias = Iterator[tuple[Decision, str]]


def forbidden_deletions(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    for invocation in reading.invocations:
        for word in (*_deleted(invocation), *_emptied(invocation)):
            for place in each_target(word, invocation, followed=False):
                if place is not None and (why := _forbidden(place, ground, line)):
                    yield Decision.DENY, f"`{invocation.shown}` deletes {why}"


def deletions(reading: Reading, line: CommandLine, ground: Ground) -> Judged:
    if not line.given:
        return
    for invocation in reading.invocations:
        if next(iter(_deleted(invocation)), None) is not None:
            yield Decision.ASK, f"`{invocation.shown}` deletes whole folders"
        elif invocation.program in _REMOVERS and _may_be_options(invocation.words[1:]):
            yield Decision.ASK, f"`{invocation.shown}` may delete whole folders"
        elif (behind := _behind(invocation)) is not None:
            yield Decision.ASK, f"`{invocation.shown}` may start {behind}"


_REMOVERS = frozenset({"rm", "grm", "srm"})
_FIND_TESTS = frozenset(
    "-name -iname -path -ipath -regex -iregex -mtime -mmin -newer -empty -size -user -perm".split()
)


# Words of these are no programs: texts, patterns, pages, or subcommands of their own.
_NO_WRAPPERS = frozenset(
    "echo printf grep egrep fgrep rg ag ack man info tldr help which type whereis command test ["
    " git hg svn docker podman nerdctl kubectl helm lxc npm pnpm yarn conda poetry uv pip aws"
    " gsutil gcloud gh fly heroku vagrant rclone s3cmd dvc busybox apropos alias set export"
    " declare".split()
)
_DESTROYERS = re.compile(r"(?:.*/)?(?:(g?rm|srm|shred)|(dd)|(mkfs(?:\..*)?|mke2fs|wipefs))")


def _behind(invocation: Invocation) -> str | None:
    """A program that destroys, with its options, among the words of one that nobody knows."""
    from tongs.policy.shell.programs import starts_others  # noqa: PLC0415 - loaded by now

    words = invocation.words
    if invocation.program in _NO_WRAPPERS or starts_others(invocation.program):
        return None
    for number, word in enumerate(words[1:], 1):
        found, following = _DESTROYERS.fullmatch(word), words[number + 1 :]
        if found and following:
            removes = found[1] and re.match(r"-[A-Za-z]|--\w", following[0])
            if removes or found[3] or (found[2] and any("of=" in each for each in following)):
                return word
    return None


def _emptied(invocation: Invocation) -> Iterator[str]:
    """The folders of which `find` hands every file to a program that deletes it."""
    from tongs.policy.shell.programs import find_roots  # noqa: PLC0415 - loaded by now

    words = invocation.words[1:]
    if invocation.program not in ("find", "gfind"):
        return
    handed = (b for a, b in pairwise(words) if a in ("-exec", "-execdir", "-ok", "-okdir"))
    if any(re.fullmatch(r"(?:.*/)?(?:g?rm|srm|shred|unlink)", program) for program in handed):
        below = "/\x01" if _FIND_TESTS & {*words} else ""
        yield from (root + below for root in find_roots(words))


def _deleted(invocation: Invocation) -> Iterator[str]:
    """The folders that a command deletes with all that is in them."""
    name, words = invocation.program, invocation.words[1:]
    if name in _REMOVERS:
        if _is_recursive(words):
            yield from operands(words)
    elif name == "rimraf":
        yield from operands(words)
    elif name in ("find", "gfind"):
        if "-delete" in words:
            from tongs.policy.shell.programs import find_roots  # noqa: PLC0415 - loaded by now

            # With a test only some of what lies below goes.
            below = "/\x01" if _FIND_TESTS & set(words) else ""
            yield from (root + below for root in find_roots(words))
    elif name == "rsync":
        if any(word.startswith("--del") for word in words):
            yield from operands(words)[-1:]
    elif name == "git" and "clean" in words and _has_letter(words, "f") and _has_letter(words, "d"):
        from tongs.policy.git_words import folder  # noqa: PLC0415 - only for git

        yield f"{folder(words)}/\x01"


def _may_be_options(words: Sequence[str]) -> bool:
    """Whether an unknown word can say `-r` and leave something to delete."""
    return any(
        word.startswith(UNKNOWN * 2) or (word == UNKNOWN and number + 1 < len(words))
        for number, word in enumerate(words)
    )


def _is_recursive(words: Sequence[str]) -> bool:
    for word in words:
        if word == "--":
            return False
        if word.startswith("--"):
            if len(word) > 2 and "--recursive".startswith(word):
                return True
        elif word.startswith("-") and ("r" in word or "R" in word):
            return True
    return False


def _has_letter(words: Sequence[str], letter: str) -> bool:
    return any(re.match(rf"-[A-Za-z]*{letter}", word) for word in words) or (
        letter == "f" and "--force" in words
    )


def _forbidden(place: Target, ground: Ground, line: CommandLine) -> str:
    """Why nobody may delete this; empty where a question is enough."""
    if place.unsure:
        # What comes before the unknown part tells where it is, unless the workspace is there, too.
        if ground.above(place.known) or ground.inside(place.known):
            return ""
        return f"{place.known}/…, outside of the workspace"
    if _is_git(place):
        return f"{shown(place)}, the history of a repository"
    if ground.above(place.known) and not place.rest:
        return f"{place.known}, which holds the workspace"
    if place.rest:
        return (
            ""
            if place.known == ground.root or ground.inside(place.known)
            else (f"{shown(place)}, outside of the workspace")
        )
    if ground.inside(place.known):
        return ""
    if not line.given and place.known.startswith(("/tmp/", "/var/tmp/")):
        # Scratch belongs to the call, and the author knows what is theirs.
        return ""
    return f"{place.known}, outside of the workspace"


def _is_git(place: Target) -> bool:
    if ".git" in place.path.split("/"):
        return True
    folder = place.path.rpartition("/")[0]
    return bool(place.rest) and place.can_be(f"{folder}/.git")
