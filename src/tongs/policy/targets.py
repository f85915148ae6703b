"""Where the words of a command lead: which files and folders they can mean."""

from __future__ import annotations

import os.path
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.permissions import covered
from tongs.core.record import dataclass

if TYPE_CHECKING:
    from tongs.policy.shell.state import Invocation

UNKNOWN, ANY, ONE, SET = "\0", "\x01", "\x02", "\x03"
_MARKS = re.compile(r"[\0\x01\x02\x03]")
_PATTERN = re.compile(r"[\x01\x02\x03]")


@dataclass(frozen=True, slots=True)
class Target:
    """A path as far as it is known: `known` is followed through links, `rest` holds patterns.

    `unsure` says that a part of it can be any text.
    """

    known: str
    rest: str = ""
    unsure: bool = False

    @property
    def path(self) -> str:
        return f"{self.known.rstrip('/')}/{self.rest}" if self.rest else self.known

    def can_be(self, path: str) -> bool:
        """Whether a pattern in it matches this path; a dot is never matched by a pattern."""
        return re.fullmatch(_as_regex(self.path), path) is not None


def target(word: str, folder: str, *, followed: bool = True) -> Target | None:
    """Where a word leads from a folder; None where not even the folder is known.

    Without `followed` a link at its end is meant itself, as for `rm`.
    """
    if folder == UNKNOWN and not word.startswith("/"):
        return None
    joined = os.path.join(folder, word)
    mark = _MARKS.search(joined)
    if mark is None:
        return Target(_real(joined, followed or joined.endswith("/")))
    fixed = joined[: mark.start()].rpartition("/")[0] or "/"
    rest = joined[len(fixed) :].lstrip("/")
    unsure = UNKNOWN in rest
    if not unsure and ".." in rest.split("/"):
        # What a pattern matches before `..` does not matter, as long as it matches.
        parts: list[str] = []
        for part in rest.split("/"):
            if part == ".." and parts:
                parts.pop()
            elif part == "..":
                fixed = os.path.dirname(fixed)
            elif part not in ("", "."):
                parts.append(part)
        rest = "/".join(parts)
    return Target(_resolved(fixed), rest, unsure)


def _real(path: str, followed: bool) -> str:
    if followed or os.path.basename(path) in ("", ".", ".."):
        return _resolved(path)
    return os.path.join(_resolved(os.path.dirname(path)), os.path.basename(path))


def _resolved(path: str) -> str:
    """Where links lead. One that goes away while it is followed makes the library raise."""
    for _ in range(3):
        with suppress(OSError):
            return os.path.realpath(path)
    return os.path.abspath(path)


def _as_regex(path: str) -> str:
    parts: list[str] = []
    for component in path.split("/"):
        text = "(?!\\.)" if component[:1] in (ANY, ONE, SET) else ""
        index = 0
        while index < len(component):
            char = component[index]
            if char in (ANY, UNKNOWN):
                text += "[^/]*"
            elif char == ONE:
                text += "[^/]"
            elif char == SET and "]" in component[index + 2 :]:
                end = component.index("]", index + 2)
                text += _set_of(component[index + 1 : end])
                index = end
            else:
                text += re.escape("[" if char == SET else char)
            index += 1
        parts.append(text)
    return "/".join(parts)


def _set_of(inside: str) -> str:
    """The characters between brackets; any one where the set is none, as `[z-a]`."""
    escaped = re.sub(r"[\\\[&~|]", r"\\\g<0>", inside[1:] if inside[0] in "!^" else inside)
    found = f"[{'^' if inside[0] in '!^' else ''}{escaped}]"
    try:
        re.compile(found)
    except re.error:
        return "[^/]"
    return found


@dataclass(frozen=True, slots=True)
class Ground:
    """The workspace of a call, and the home of its person."""

    root: str
    home: str

    def inside(self, path: str) -> bool:
        return path != self.root and covered(path, (self.root,))

    def above(self, path: str) -> bool:
        """The workspace itself, or a folder that holds it."""
        return covered(self.root, (path,))


def candidates(word: str) -> Iterator[str]:
    """What in a word can be a path: itself, `key=path`, `@path`, `-opath`, `file://path`, `a:b`."""
    yield word
    _, equals, value = word.partition("=")
    if equals:
        yield value.lstrip("@")
    if word.startswith("@"):
        yield word[1:]
    if word.startswith("-") and not word.startswith("--") and len(word) > 2:
        yield word[2:].lstrip("@=")
    if "file://" in word:
        yield re.sub(r".*file://(?:localhost)?", "", word)
    if ":" in word and not equals:
        yield from (part for part in word.split(":") if part.startswith(("/", "~", "./", ".env")))


def each_target(
    word: str, invocation: Invocation, *, followed: bool = True
) -> Iterator[Target | None]:
    for folder in invocation.folders:
        yield target(word, folder, followed=followed)


def shown(place: Target) -> str:
    """A target as a person reads it."""
    from tongs.policy.shell.state import spelled  # noqa: PLC0415 - loaded by now

    return spelled(place.path)


def operands(words: Sequence[str]) -> list[str]:
    """The words that are no options."""
    if "--" in words:
        at = list(words).index("--")
        return [*(w for w in words[:at] if not w.startswith("-")), *words[at + 1 :]]
    return [word for word in words if not word.startswith("-")]
