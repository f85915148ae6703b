"""Which project files the person has accepted, each pinned to the hash of its bytes.

Lives in the state folder: a project cannot bring its own acceptance along.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.core.tool import Trust
from tongs.store.files import private_folder, read_whole, write_whole

_LARGEST = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Accepted:
    path: str
    digest: str
    when: str
    kind: str = "tool"


class TrustStore:
    def __init__(self, state: str) -> None:
        self._state = state
        self._file = os.path.join(state, "trust.json")
        self._known: dict[str, Any] = {}
        self._stamp: tuple[int, ...] = ()

    def state_of(self, path: str, digest: str) -> Trust:
        return _state(self._entries(), os.path.realpath(path), digest)

    def states_in(self, folder: str) -> Callable[[str, str], Trust]:
        """`state_of` for many files of one folder, whose own links are resolved only once."""
        real = os.path.realpath(folder)
        entries = self._entries()

        def state_of(path: str, digest: str) -> Trust:
            if os.path.islink(path):
                return self.state_of(path, digest)
            return _state(entries, os.path.join(real, os.path.basename(path)), digest)

        return state_of

    def accept(self, path: str, digest: str, text: bytes, *, kind: str = "tool") -> None:
        """Accept exactly these bytes at this place; they are kept to show a later difference."""
        real = os.path.realpath(path)
        folder = private_folder(os.path.join(self._state, "trust"))
        write_whole(os.path.join(folder, digest), text)
        with self._changing() as entries:
            when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
            entries[real] = {"digest": digest, "when": when, "kind": kind}

    def revoke(self, path: str) -> bool:
        """Forget an acceptance; whether there was one."""
        with self._changing() as entries:
            return entries.pop(os.path.realpath(path), None) is not None

    def accepted_text(self, path: str) -> bytes | None:
        """What was accepted at this path last time."""
        entry = self._entries().get(os.path.realpath(path))
        if entry is None:
            return None
        return read_whole(os.path.join(self._state, "trust", entry["digest"]), _LARGEST)

    def accepted(self) -> list[Accepted]:
        return [
            Accepted(path, entry["digest"], entry["when"], entry["kind"])
            for path, entry in sorted(self._entries().items())
        ]

    def _entries(self) -> dict[str, Any]:
        """What is accepted now: a process that runs for days must notice a revocation."""
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._known, self._stamp = self._read(), stamp
        return self._known

    def _read(self) -> dict[str, Any]:
        """The entries that can be understood. Whatever else stands there accepts nothing."""
        try:
            known = json.loads(read_whole(self._file, _LARGEST) or b"{}")
        except (OSError, ValueError):
            return {}
        if not isinstance(known, dict):
            return {}
        return {path: entry for path, entry in known.items() if _is_entry(entry)}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Any]]:
        """The entries under a lock, so that two processes never lose each other's acceptance."""
        import fcntl  # noqa: PLC0415 - only writers need it

        private_folder(self._state)
        lock = os.open(self._file + ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            entries = self._read()
            yield entries
            write_whole(self._file, json.dumps(entries, indent=1, sort_keys=True).encode())
        finally:
            os.close(lock)


def _state(entries: dict[str, Any], real: str, digest: str) -> Trust:
    entry = entries.get(real)
    if entry is None:
        return Trust.UNTRUSTED
    return Trust.ACCEPTED if entry["digest"] == digest else Trust.CHANGED


def _is_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and all(
        isinstance(entry.get(key), str) for key in ("digest", "when", "kind")
    )


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when the file is replaced; empty while there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)
