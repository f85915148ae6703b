"""What stays as it is inside a folder that may be written.

Whoever could change one of these would decide what runs later, outside of the call: a hook that
git starts, a tool that Tongs or another agent offers, a program of an editor.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator

from tongs.sandbox.roots import inside

NAMES = (
    *(".tongs", ".cycod", ".kodelet", "kodelet-tools", ".glee"),
    *(".mcp.json", ".vscode", ".idea"),
)
_IN_GIT = ("hooks", "config", "config.worktree", "info/attributes")
_MOST_MODULES = 64
_LARGEST_FILE = 4096


def protected_in(root: str, projects: Iterable[str]) -> tuple[str, ...]:
    """The paths to hold in a root that may be written: below itself, and below projects in it."""
    found: dict[str, None] = {}
    for base in dict.fromkeys((root, *(path for path in projects if inside(path, root)))):
        for path in (*_named(base), *_of_git(os.path.join(base, ".git"))):
            real = os.path.realpath(path)
            # A link is no place for a mount, but what it leads to may be.
            if inside(real, root):
                found[real] = None
    return tuple(found)


def pinned(root: str, paths: Iterable[str]) -> list[str]:
    """Every folder from the root down to these, so that none can be moved away with what it holds.

    Those above come first.
    """
    found: dict[str, None] = {}
    for path in paths:
        names = os.path.relpath(os.path.dirname(path), root).split("/")
        for count in range(1, len(names) + 1):
            if names != ["."]:
                found[os.path.join(root, *names[:count])] = None
    return sorted(found)


def _named(base: str) -> Iterator[str]:
    for name in NAMES:
        yield os.path.join(base, name)


def _of_git(git: str) -> Iterator[str]:
    """The parts of a repository that make git run something."""
    folder = _followed(git)
    if folder is None:
        return
    if folder != git:
        yield git
    for place in (folder, *_modules(folder), *_common(folder)):
        for name in _IN_GIT:
            yield os.path.join(place, name)


def _followed(git: str) -> str | None:
    """The folder of a repository, which a file may name instead."""
    try:
        kind = os.stat(git).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(kind):
        return git
    said = _first_line(git)
    if not said.startswith("gitdir:"):
        return None
    return os.path.normpath(os.path.join(os.path.dirname(git), said[7:].strip()))


def _common(folder: str) -> list[str]:
    """The repository that a worktree belongs to."""
    named = _first_line(os.path.join(folder, "commondir"))
    return [os.path.normpath(os.path.join(folder, named))] if named else []


def _modules(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(os.path.join(folder, "modules")))
    except OSError:
        return []
    return [os.path.join(folder, "modules", name) for name in names[:_MOST_MODULES]]


def _first_line(path: str) -> str:
    """Of a small file; empty for anything else that a stranger may have put there."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        text = os.read(descriptor, _LARGEST_FILE).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    return "" if "\0" in text else text.partition("\n")[0]
