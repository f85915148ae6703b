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
from tongs.core.moments import utc
from tongs.core.permissions import covered
from tongs.core.record import dataclass
from tongs.core.tool import Trust
from tongs.store.files import locked, private_folder, read_whole, real_path, write_whole

_LARGEST = 64 * 1024 * 1024
# Before the path of what is trusted for a while.
_DEV = "dev:"
# Before the path of what an agent has created.
_CREATED = "created:"


@dataclass(frozen=True, slots=True)
class Accepted:
    path: str
    digest: str
    when: str
    kind: str = "tool"
    # Of what its author works on: the moment from which it counts no more.
    until: str = ""


@dataclass(frozen=True, slots=True)
class Creation:
    """Who made the tool at a path, and when it was written last."""

    path: str
    creator: str
    when: str


class TrustStore:
    def __init__(self, state: str, project: str | None = None) -> None:
        """`project` is the one, without links, in which things are found now."""
        self._state = state
        self._project = project
        self._file = os.path.join(state, "trust.json")
        self._known: dict[str, Any] = {}
        self._stamp: tuple[int, ...] = ()
        # What somebody works on, and until when that counts.
        self._working: list[tuple[str, str]] = []
        self._any_created = False

    def state_of(self, path: str, digest: str) -> Trust:
        return self._judged(self._places(path), digest, self._entries())

    def states_in(self, folder: str) -> Callable[[str, str], Trust]:
        """`state_of` for many files of one folder, whose own links are resolved only once."""
        places = [os.path.join(place, "") for place in self._places(folder)]
        entries = self._entries()

        def state_of(path: str, digest: str) -> Trust:
            below = path[len(folder) :].strip("/")
            if os.path.islink(path) or ("/" in below and _is_behind_a_link(folder, below)):
                return self.state_of(path, digest)
            return self._judged(tuple([place + below for place in places]), digest, entries)

        return state_of

    def _places(self, path: str) -> tuple[str, ...]:
        """Where something lies, wherever links lead; before that where the person accepts it.

        What a link brings into the project from elsewhere is accepted where the link lies: somebody
        has read it for another project, in which the same text means something else.
        """
        real = real_path(path)
        if real == path or self._project is None or covered(real, (self._project,)):
            return (real,)
        here = os.path.abspath(path)
        return (here, real) if covered(here, (self._project,)) else (real,)

    def _judged(self, places: tuple[str, ...], digest: str, entries: dict[str, Any]) -> Trust:
        entry = entries.get(places[0])
        if self._any_created and any(_CREATED + place in entries for place in places):
            # Before anything else: whoever works in a folder has not read what an agent puts there.
            seen = entry is not None and entry["digest"] == digest
            return Trust.ACCEPTED if seen else Trust.REVIEW
        if self._working and all(map(self._is_worked_on, places)):
            return Trust.DEV
        if entry is None:
            return Trust.UNTRUSTED
        return Trust.ACCEPTED if entry["digest"] == digest else Trust.CHANGED

    def _is_worked_on(self, place: str) -> bool:
        return any(covered(place, (top,)) and until > utc() for top, until in self._working)

    def develop(self, path: str, seconds: float) -> str:
        """Trust what lies at or below a path for a while, whatever becomes of it; until when."""
        place = self._places(path)[0]
        until = utc(time.time() + seconds)
        with self._changing() as entries:
            when = utc()
            entries[_DEV + place] = {"digest": "", "when": when, "kind": "dev", "until": until}
        return until

    def created(self, path: str, creator: str) -> None:
        """An agent writes a tool here: from now on a person has to have read it as it is."""
        with self._changing() as entries:
            when = utc()
            mark = {"digest": "", "when": when, "kind": "created", "by": creator}
            entries[_CREATED + os.path.realpath(path)] = mark

    def creation(self, path: str, *, anew: bool = True) -> Creation | None:
        """By whom the tool at a path was created, if it was an agent.

        Without `anew`, as far as is known since somebody asked for a state.
        """
        entries = self._entries() if anew else self._known
        if not self._any_created:
            return None  # nearly always, and then no link has to be resolved
        real = os.path.realpath(path)
        entry = entries.get(_CREATED + real)
        return None if entry is None else Creation(real, str(entry.get("by", "")), entry["when"])

    def disown(self, path: str) -> None:
        """What lies here is a person's from now on, or gone."""
        real = os.path.realpath(path)
        if _CREATED + real in self._entries():
            with self._changing() as entries:
                entries.pop(_CREATED + real, None)

    def accept(self, path: str, digest: str, text: bytes, *, kind: str = "tool") -> None:
        """Accept exactly these bytes at this place; they are kept to show a later difference."""
        folder = private_folder(os.path.join(self._state, "trust"))
        write_whole(os.path.join(folder, digest), text)
        with self._changing() as entries:
            entries[self._places(path)[0]] = {"digest": digest, "when": utc(), "kind": kind}

    def revoke(self, path: str) -> bool:
        """Forget an acceptance; whether there was one."""
        with self._changing() as entries:
            # As it stands in the list, or else whatever that path means here.
            for place in (os.path.abspath(path), self._places(path)[0]):
                found = [entries.pop(key, None) for key in (place, _DEV + place)]
                if any(entry is not None for entry in found):
                    return True
        return False

    def accepted_text(self, path: str) -> bytes | None:
        """What was accepted at this path last time."""
        entry = self._entries().get(self._places(path)[0])
        if entry is None:
            return None
        return read_whole(os.path.join(self._state, "trust", entry["digest"]), _LARGEST)

    def accepted(self) -> list[Accepted]:
        return [
            Accepted(
                path.removeprefix(_DEV),
                entry["digest"],
                entry["when"],
                entry["kind"],
                entry.get("until", ""),
            )
            for path, entry in sorted(self._entries().items())
            if not _is_over(entry) and not path.startswith(_CREATED)
        ]

    def _entries(self) -> dict[str, Any]:
        """What is accepted now: a process that runs for days must notice a revocation."""
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._known, self._stamp = self._read(), stamp
            self._working = [
                (path.removeprefix(_DEV), str(entry.get("until", "")))
                for path, entry in self._known.items()
                if path.startswith(_DEV)
            ]
            self._any_created = any(path.startswith(_CREATED) for path in self._known)
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
        with locked(self._file + ".lock"):
            entries = self._read()
            yield entries
            write_whole(self._file, json.dumps(entries, indent=1, sort_keys=True).encode())


def _is_behind_a_link(folder: str, below: str) -> bool:
    parts = below.split("/")
    above = (os.path.join(folder, *parts[:n]) for n in range(1, len(parts)))
    return any(map(os.path.islink, above))


def _is_over(entry: dict[str, Any]) -> bool:
    return entry["kind"] == "dev" and str(entry.get("until", "")) <= utc()


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
