"""Parsed definitions by the hash of their bytes, and what a folder's listing needs, by file stamps.

Both only save work: a missing, broken or outdated entry is made again. What runs is always read
from its own file, and found here only under the hash of those very bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from zlib import crc32

from tongs._version import __version__
from tongs.core.annotations import Any
from tongs.store.files import private_folder, read_whole, write_whole

_LARGEST = 64 * 1024 * 1024


class DefinitionCache:
    """`variant` names everything besides the bytes that a verdict depends on."""

    def __init__(self, state: str, variant: str, *, ignored: bool = False) -> None:
        """`ignored` makes everything anew, and keeps it: what somebody doubts is replaced."""
        self._folder = os.path.join(state, "cache", f"{__version__}-{variant}")
        self._ignored = ignored
        # What is on disk, as far as this process has read or written it.
        self._rows: dict[str, dict[str, Any]] = {}
        self._fresh: set[str] = set()

    def get(self, digest: str) -> dict[str, Any] | None:
        if self._ignored and digest not in self._fresh:
            return None
        found = _read(self._path("definitions", digest))
        return found if isinstance(found, dict) else None

    def put(self, digest: str, document: dict[str, Any]) -> None:
        self._fresh.add(digest)
        _write(self._path("definitions", digest), document)

    def rows(
        self,
        folder: str,
        listed: Callable[[], Iterator[tuple[str, str, list[Any]]]],
        make: Callable[[list[tuple[str, str]]], list[dict[str, Any]]],
    ) -> list[tuple[str, dict[str, Any]]]:
        """Path and row of each definition in `folder`; `make` makes the new and changed ones.

        `listed` gives names, shapes and stamps. A row names under `also` the files elsewhere that
        belong to it; one that says `again` is made anew each time.
        """
        before = self._rows.get(folder)
        if before is None:
            before = self._kept_rows(folder)
        inside = os.path.join(folder, "")  # joined once, not for each of thousands
        after: dict[str, Any] = {}
        new: list[tuple[str, str, list[Any]]] = []
        for name, shape, stamp in listed():
            row = before.get(name)
            if row is not None and _is_fresh(row, stamp):
                after[name] = row
            else:
                new.append((name, shape, stamp))
        rows = make([(inside + name, shape) for name, shape, _ in new]) if new else ()
        for (name, _, stamp), made in zip(new, rows, strict=True):
            after[name] = [stamp, made, _stamps(made.get("also", ()))]
        if after != before:
            _write(self._place(folder), {"folder": folder, "rows": after})
        self._rows[folder] = after
        return [(inside + name, after[name][1]) for name in sorted(after)]

    def forget(self, folder: str, name: str) -> None:
        """Make the row anew next time."""
        self._rows.setdefault(folder, self._kept_rows(folder)).pop(name, None)

    def _kept_rows(self, folder: str) -> dict[str, Any]:
        if self._ignored:
            return {}
        kept = _read(self._place(folder))
        if not isinstance(kept, dict) or kept.get("folder") != folder:
            return {}
        rows = kept.get("rows")
        return rows if isinstance(rows, dict) and all(map(_is_row, rows.values())) else {}

    def _place(self, folder: str) -> str:
        return self._path("folders", _key(folder))

    def _path(self, kind: str, key: str) -> str:
        return os.path.join(self._folder, kind, f"{key}.json")


def code_stamp() -> str:
    """Changes with the code that decides whether a definition is good.

    A version number alone would let a definition that an older checkout accepted pass a check that
    has become stricter since.
    """
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    newest = 0
    for part in ("formats", "library", "schema", "template"):
        with os.scandir(os.path.join(package, part)) as files:
            stamps = [file.stat().st_mtime_ns for file in files if file.name.endswith(".py")]
        newest = max(newest, *stamps)
    return f"{newest:x}"


def _stamps(paths: Iterable[str]) -> list[list[int]]:
    """What changes with these files; empty for one that is not there."""
    found: list[list[int]] = []
    for path in paths:
        try:
            facts = os.stat(path)
        except OSError:
            found.append([])
            continue
        found.append([facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino])
    return found


def _is_fresh(row: Any, stamp: list[Any]) -> bool:
    kept, made, also = row
    return kept == stamp and not made.get("again") and also == _stamps(made.get("also", ()))


def _is_row(row: Any) -> bool:
    match row:
        case [list(), {"name": str()}, list()]:
            return True
    return False


def _key(folder: str) -> str:
    # Cheaper at start-up than a real hash; a collision is found by the folder in the file.
    return f"{crc32(os.fsencode(folder)):08x}"


def _read(path: str) -> Any:
    try:
        data = read_whole(path, _LARGEST)
        return None if data is None else json.loads(data)
    except (OSError, ValueError):
        return None


def _write(path: str, data: Any) -> None:
    # A cache that cannot be written (full disk, read-only home) must not stop the call.
    with suppress(OSError, ValueError):
        private_folder(os.path.dirname(path))
        write_whole(path, json.dumps(data, separators=(",", ":")).encode(), sync=False)
