"""The shapes a definition can have in a tool folder, and how they are told apart."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress

from tongs.core.annotations import Any

YAML, EXECUTABLE, MANIFEST, PYTHON = "yaml", "exec", "manifest", "python"
ENDINGS = (".yaml", ".yml")
MANIFESTS = ("tool.yml", "tool.yaml")
SOURCE = ".py"

# Which shapes the folders of a family hold.
OF_FAMILY = {
    "tongs": (YAML, EXECUTABLE, MANIFEST, PYTHON),
    "cycod": (YAML,),
    "kodelet": (EXECUTABLE,),
    "glee": (MANIFEST,),
}


_MOST_FILES = 1000


def listed(folder: str, shapes: Sequence[str]) -> Iterator[tuple[str, str, list[Any]]]:
    """Each definition of a folder: its name in there, its shape, and what changes with it."""
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            try:
                found = _shaped(entry, _facts(entry), shapes)
            except OSError:
                continue  # removed meanwhile
            if found is not None:
                yield found


def shape_at(path: str) -> str:
    """The shape of a file or folder that somebody named; YAML unless it looks like another."""
    if os.path.isdir(path):
        return MANIFEST
    if path.endswith(ENDINGS):
        return YAML
    with suppress(OSError):
        if os.stat(path).st_mode & 0o111:
            return EXECUTABLE
    return PYTHON if path.endswith(SOURCE) else YAML


def manifest_in(folder: str) -> str | None:
    """The path of the manifest in a directory."""
    paths = (os.path.join(folder, name) for name in MANIFESTS)
    return next((path for path in paths if os.path.isfile(path)), None)


def _shaped(
    entry: os.DirEntry[str], facts: os.stat_result, shapes: Sequence[str]
) -> tuple[str, str, list[Any]] | None:
    if stat.S_ISDIR(facts.st_mode):
        manifest = manifest_in(entry.path) if MANIFEST in shapes else None
        if manifest is None:
            return None
        name = os.path.join(entry.name, os.path.basename(manifest))
        return name, MANIFEST, _tree_stamp(entry.path)
    if entry.name.endswith(ENDINGS):
        return (entry.name, YAML, _stamp(facts)) if YAML in shapes else None
    if not stat.S_ISREG(facts.st_mode):
        return None
    if facts.st_mode & 0o111:
        return (entry.name, EXECUTABLE, _stamp(facts)) if EXECUTABLE in shapes else None
    if entry.name.endswith(SOURCE) and PYTHON in shapes:
        return entry.name, PYTHON, _stamp(facts)
    return None


def _facts(entry: os.DirEntry[str]) -> os.stat_result:
    try:
        return entry.stat()
    except OSError:
        # A link that leads nowhere is listed, so that somebody says what is wrong with it.
        return entry.stat(follow_symlinks=False)


def _stamp(facts: os.stat_result) -> list[int]:
    return [
        facts.st_size,
        facts.st_mtime_ns,
        facts.st_ctime_ns,
        facts.st_ino,
        facts.st_mode,
        facts.st_uid,
    ]


def _tree_stamp(folder: str) -> list[Any]:
    """What changes with any file of a directory, in a fixed order."""
    found: list[Any] = []
    pending = [folder]
    # One more than a tool may have: that it has too many is said when it is loaded.
    while pending and len(found) <= _MOST_FILES:
        top = pending.pop()
        with suppress(OSError), os.scandir(top) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                found.append([entry.path[len(folder) :], *_stamp(_facts(entry))])
    return sorted(found)
