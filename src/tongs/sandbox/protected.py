"""What stays as it is inside a folder that may be written.

Whoever could change one of these would decide what runs later, outside of the call: a hook that
git starts, a tool that Tongs or another agent offers, a program of an editor.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress

from tongs.core.files import PROTECTED_NAMES as NAMES
from tongs.core.files import is_repository
from tongs.sandbox.roots import inside

_OF_EDITORS = ("/.vscode", "/.idea")
_IN_GIT = ("hooks", "config", "config.worktree", "info/attributes")
_MOST_MODULES = 64
_LARGEST_FILE = 4096


def protected_in(root: str, projects: Iterable[str]) -> tuple[str, ...]:
    """The paths to hold in a root that may be written: below itself, and below projects in it."""
    found: dict[str, None] = {}
    plain: dict[str, bool] = {root: True}
    for base in dict.fromkeys((root, *(path for path in projects if inside(path, root)))):
        bare = _of_git(base) if _is_bare(base) else ()
        for path in (*_named(base), *_of_git(os.path.join(base, ".git")), *bare):
            real = path if _is_plain(path, plain) else os.path.realpath(path)
            # A link is no place for a mount, but what it leads to may be.
            if inside(real, root):
                found[real] = None
    return tuple(found)


def _is_plain(path: str, known: dict[str, bool]) -> bool:
    """Whether no part of a path below a root is a link: a root has none in itself."""
    if path not in known:
        above = os.path.dirname(path)
        known[path] = above != path and _is_plain(above, known) and not os.path.islink(path)
    return known[path]


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


class Watch:
    """Notices when something of this changes though it should not.

    A mount on a file is gone when somebody outside replaces the file, and what does not exist yet
    cannot be mounted on. So a call that could write around these is looked at when it is over.
    """

    def __init__(self, held: Mapping[str, Iterable[str]]) -> None:
        """`held` are the roots that may be written, each with what `protected_in` says of it."""
        self._paths = [
            path
            for root, paths in held.items()
            for path in (*paths, *_of_new_git(os.path.join(root, ".git")))
            # Editors write to their folders all the time.
            if not path.endswith(_OF_EDITORS)
        ]
        self._before = [_state(path) for path in self._paths]
        self._plain = [root for root in held if not _is_bare(root)]

    def changed(self) -> list[str]:
        now = map(_state, self._paths)
        seen = zip(self._paths, self._before, now, strict=True)
        found = [path for path, before, after in seen if before != after]
        return [*found, *(os.path.join(root, "HEAD") for root in self._plain if _is_bare(root))]


def _state(path: str) -> tuple[object, ...]:
    """What tells one content of a file or a folder from another, cheaply."""
    try:
        facts = os.lstat(path)
    except OSError:
        return ()
    if not stat.S_ISDIR(facts.st_mode):
        return (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_size)
    inner: list[tuple[object, ...]] = []
    with suppress(OSError), os.scandir(path) as entries:
        first = sorted(entries, key=lambda entry: entry.name)[:_MOST_MODULES]
        inner += map(_entry_state, first)
    return (facts.st_ino, facts.st_mode, facts.st_mtime_ns, *inner)


def _entry_state(entry: os.DirEntry[str]) -> tuple[object, ...]:
    if entry.is_dir(follow_symlinks=False):
        return _state(entry.path)
    try:
        facts = entry.stat(follow_symlinks=False)
    except OSError:
        return ()
    return (facts.st_ino, facts.st_mode, facts.st_mtime_ns, facts.st_size)


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
    modules = _modules(folder)
    if modules == [os.path.join(folder, "modules")]:
        yield from modules
    for place in (folder, *modules, *_common(folder)):
        for name in _IN_GIT:
            yield os.path.join(place, name)


def _of_new_git(git: str) -> Iterator[str]:
    """What would make git run something, and is not there yet: a repository, or a part of it."""
    yield os.path.join(git, "commondir") if os.path.lexists(git) else git


def _is_bare(folder: str) -> bool:
    """Whether a folder is a repository itself, without a `.git`."""
    return is_repository(lambda name: os.path.lexists(os.path.join(folder, name)))


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
    """The repositories of submodules, whose names may hold slashes; the folder of all if many."""
    found: list[str] = []
    top = os.path.join(folder, "modules")
    for place, folders, files in os.walk(top):
        if "HEAD" in files or "config" in files:
            found.append(place)
            folders[:] = [name for name in folders if name == "modules"]
        if len(found) + len(folders) > _MOST_MODULES:
            return [top]
    return found


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
