"""What each MCP server's tools were when they were accepted, and what the server says by now.

Lives in the state folder: no project brings its own acceptance along. The first connection of a
server pins what it tells; from then on, what it tells differently is held back until a person has
accepted it. One readable file, written whole under a lock.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.moments import utc
from tongs.core.record import dataclass, field
from tongs.core.servers import ServerSpec, definition_digest, definition_of
from tongs.store.files import locked, read_whole, write_whole

_LARGEST = 64 * 1024 * 1024
FIRST_USE, PERSON = "first use", "person"


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool: as it was accepted, and as the server tells it now where that is not the same."""

    name: str
    # None: nobody has accepted any definition of it.
    accepted: Mapping[str, Any] | None = None
    digest: str = ""
    by: str = ""
    when: str = ""
    # What is held back.
    told: Mapping[str, Any] | None = None
    # The server did not name it when it was last asked.
    gone: bool = False

    @property
    def changed(self) -> bool:
        return self.told is not None


@dataclass(frozen=True, slots=True)
class Pinned:
    """Everything that is known of one server."""

    server: str
    # The real path of the project whose server it is; empty for the person's own.
    project: str = ""
    # When it was first and when it was last connected.
    since: str = ""
    seen: str = ""
    title: str = ""
    version: str = ""
    tools: Mapping[str, Pin] = field(default_factory=dict)

    @property
    def held(self) -> list[Pin]:
        """What waits for a person."""
        return [pin for pin in self.tools.values() if pin.changed]


class PinStore:
    def __init__(self, state: str) -> None:
        self._file = os.path.join(state, "mcp", "pins.json")
        self._known: dict[str, Pinned] | None = {}
        self._stamp: tuple[int, ...] = ()

    def of(self, spec: ServerSpec) -> Pinned | None:
        """What is pinned of a server; None if it was never connected.

        Nothing is accepted where nobody can tell what was: else a spoiled file would make every
        server a new one, and whatever it tells be pinned.
        """
        entries = self._entries()
        return Pinned(spec.name, _project(spec)) if entries is None else entries.get(key_of(spec))

    def all(self) -> list[Pinned]:
        return list((self._entries() or {}).values())

    def seen(
        self, spec: ServerSpec, told: Iterable[Mapping[str, Any]], *, title: str, version: str
    ) -> Pinned:
        """The server was asked: pin what it tells if this is the first time, else hold back."""
        now = utc()
        found = {str(each["name"]): definition_of(each) for each in told}
        before = self.of(spec)
        if before is not None and _same(before, found, title, version):
            return before
        with self._changing() as entries:
            before = entries.get(key_of(spec))
            if before is None:
                tools = {name: _accepted(name, each, FIRST_USE) for name, each in found.items()}
            else:
                names = dict.fromkeys((*before.tools, *found))
                pins = (_compared(name, before.tools.get(name), found.get(name)) for name in names)
                tools = {pin.name: pin for pin in pins if pin is not None}
            since = now if before is None else before.since
            pinned = Pinned(spec.name, _project(spec), since, now, title, version, tools)
            entries[key_of(spec)] = pinned
        return pinned

    def accept(self, spec: ServerSpec, definitions: Iterable[Mapping[str, Any]]) -> Pinned:
        """Accept these very definitions, and no others; what the server lacks is forgotten."""
        with self._changing() as entries:
            before = entries.get(key_of(spec)) or Pinned(spec.name, _project(spec), utc())
            tools = {name: pin for name, pin in before.tools.items() if not pin.gone}
            for each in definitions:
                name = str(each["name"])
                pin = _accepted(name, definition_of(each), PERSON)
                known = tools.get(name)
                if known is None or known.changed or known.digest != pin.digest:
                    tools[name] = pin
            pinned = Pinned(
                *(before.server, before.project, before.since, utc()),
                *(before.title, before.version, tools),
            )
            entries[key_of(spec)] = pinned
        return pinned

    def forget(self, spec: ServerSpec) -> bool:
        """Forget a server; whether anything was known of it."""
        if key_of(spec) not in (self._entries() or {}):
            return False
        with self._changing() as entries:
            return entries.pop(key_of(spec), None) is not None

    def restore(self, spec: ServerSpec, before: Pinned | None) -> None:
        """As it was before somebody tried something."""
        with self._changing() as entries:
            if before is None:
                entries.pop(key_of(spec), None)
            else:
                entries[key_of(spec)] = before

    def _entries(self) -> dict[str, Pinned] | None:
        """As they are now: a process that runs for days must notice what a person accepts.

        None where the file cannot be understood.
        """
        stamp = _stamp(self._file)
        if stamp != self._stamp:
            self._known, self._stamp = self._read(), stamp
        return self._known

    def _read(self) -> dict[str, Pinned] | None:
        """The entries; of one that cannot be understood nothing is accepted."""
        try:
            data = read_whole(self._file, _LARGEST)
            written = {} if data is None else json.loads(data)
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(written, dict):
            return None
        return {key: _server_from(data) or Pinned(key) for key, data in written.items()}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Pinned]]:
        with locked(self._file + ".lock"):
            entries = self._read()
            if entries is None:
                raise _spoiled(self._file)
            yield entries
            data = {key: _server_data(entries[key]) for key in sorted(entries)}
            text = json.dumps(data, indent=1, ensure_ascii=False).encode()
            if len(text) > _LARGEST:
                raise _too_much(self._file)
            write_whole(self._file, text)


def _spoiled(path: str) -> ToolError:
    return ToolError(
        ErrorCode.UNTRUSTED,
        f"{path} cannot be read, so that nobody can tell what was accepted of MCP servers",
        blocked_by=BlockedBy.TRUST,
        hint="restore it, or remove it: then what each server tells next is accepted",
    )


def _too_much(path: str) -> ToolError:
    return ToolError(
        ErrorCode.EXECUTION_ERROR,
        f"what this server tells was not pinned: {path} would be larger than {_LARGEST >> 20} MiB",
        hint="remove servers that are not needed: tongs mcp remove NAME",
    )


def key_of(spec: ServerSpec) -> str:
    """A project's server of a name is another one than the person's own."""
    project = _project(spec)
    return f"{spec.name} of {project}" if project else spec.name


def _project(spec: ServerSpec) -> str:
    return os.path.realpath(spec.project) if spec.project else ""


def _accepted(name: str, definition: Mapping[str, Any], by: str) -> Pin:
    return Pin(name, definition, definition_digest(definition), by, utc())


def _compared(name: str, pin: Pin | None, told: Mapping[str, Any] | None) -> Pin | None:
    """The pin of a tool after its server was asked again; None where nothing is left of it."""
    if pin is None:
        return Pin(name, told=told)
    held = told if told is not None and definition_digest(told) != pin.digest else None
    if pin.accepted is None and held is None:
        return None
    return Pin(name, pin.accepted, pin.digest, pin.by, pin.when, held, gone=told is None)


def _same(before: Pinned, found: Mapping[str, Any], title: str, version: str) -> bool:
    """Whether nothing of it has changed, as nearly always: then nothing is written."""
    if (before.title, before.version) != (title, version):
        return False
    known = {n: p.digest for n, p in before.tools.items() if not p.changed and not p.gone}
    return len(known) == len(before.tools) and known == {
        name: definition_digest(each) for name, each in found.items()
    }


def _server_data(pinned: Pinned) -> dict[str, Any]:
    return {
        **{name: getattr(pinned, name) for name in Pinned.__slots__ if name != "tools"},
        "tools": {
            name: {key: value for key in Pin.__slots__ if (value := getattr(pin, key))}
            for name, pin in sorted(pinned.tools.items())
        },
    }


def _server_from(data: Any) -> Pinned | None:
    if not isinstance(data, dict) or not isinstance(data.get("tools"), dict):
        return None
    texts: dict[str, Any] = {n: data.get(n) for n in Pinned.__slots__ if n != "tools"}
    if not all(isinstance(text, str) for text in texts.values()):
        return None
    pins = {name: _pin_from(name, each) for name, each in data["tools"].items()}
    return Pinned(**texts, tools={name: pin for name, pin in pins.items() if pin is not None})


def _pin_from(name: str, data: Any) -> Pin | None:
    if not isinstance(data, dict):
        return None
    accepted, told = data.get("accepted"), data.get("told")
    if not all(each is None or isinstance(each, dict) for each in (accepted, told)):
        return None
    # What is written there is the acceptance; its hash only follows from it.
    digest = "" if accepted is None else definition_digest(accepted)
    by, when = str(data.get("by", "")), str(data.get("when", ""))
    return Pin(name, accepted, digest, by, when, told, gone=bool(data.get("gone")))


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when the file is replaced; empty while there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)
