"""What the person decided once and for all: a readable file in the state folder.

Written whole under a lock, by Tongs; read again when it has changed. A person may edit it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from tongs.core.annotations import Any
from tongs.core.approval import Span
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.moments import utc
from tongs.core.record import dataclass
from tongs.policy.when import problem_of
from tongs.store.files import locked, read_whole, write_whole

FILE = "approvals.yml"
ALWAYS, NEVER = "always", "never"

_LARGEST = 4 * 1024 * 1024
_HEAD = """\
# What you decided once. `tongs approvals list` shows it, `tongs approvals revoke ID` takes it back.
# `always` answers the question of one rule, for the definition and permissions it was given for.
"""
_TEXTS = (
    *("id", "decision", "span", "project", "until", "answers", "caller", "definition"),
    *("by", "at", "reason"),
)


@dataclass(frozen=True, slots=True)
class Remembered:
    """One decision: it holds for the calls that `when` names, where `span` says, `until` then.

    An `always` answers only what the rule `answers` asks of the same caller, and only for the same
    definition and permissions; a `never` is a rule of its own, whoever calls.
    """

    id: str
    decision: str
    when: Mapping[str, Any]
    span: Span
    # Its real path; empty where the decision holds in every project.
    project: str = ""
    until: str = ""
    answers: str = ""
    # Kind and name of who called, as `agent claude`.
    caller: str = ""
    definition: str = ""
    permissions: Mapping[str, Any] | None = None
    by: str = ""
    at: str = ""
    reason: str = ""

    def is_over(self, now: str) -> bool:
        return bool(self.until) and self.until <= now

    def to_wire(self) -> dict[str, Any]:
        found: dict[str, Any] = {name: getattr(self, name) for name in self.__match_args__}
        return {**found, "when": dict(self.when), "span": str(self.span)}


# The data of a YAML file.
Parse = Callable[[bytes, str], Any]


class RememberedStore:
    def __init__(self, state: str, parse: Parse) -> None:
        self._parse = parse
        self.path = os.path.join(state, FILE)
        self._known: tuple[Remembered, ...] = ()
        self._stamp: tuple[int, ...] = ()

    def entries(self) -> Sequence[Remembered]:
        """What holds now. Raises ToolError for a file that cannot be understood."""
        stamp = _stamp(self.path)
        if stamp != self._stamp:
            self._known, self._stamp = tuple(self._read()), stamp
        if not self._known:
            return ()
        now = utc()
        return [entry for entry in self._known if not entry.is_over(now)]

    def add(self, *made: Remembered) -> None:
        """All of them, or none."""
        with self._changing() as entries:
            entries.extend(made)

    def revoke(self, wanted: str) -> Remembered | None:
        """Forget a decision; what it was."""
        found = None
        with self._changing() as entries:
            for entry in entries:
                if entry.id == wanted:
                    found = entry
            entries[:] = [entry for entry in entries if entry.id != wanted]
        return found

    def _read(self) -> Iterator[Remembered]:
        try:
            data = read_whole(self.path, _LARGEST)
        except OSError as error:
            raise self._unusable(f"it cannot be read: {error.strerror}") from None
        if data:
            yield from self._understood(data)

    def _understood(self, data: bytes) -> Iterator[Remembered]:
        parsed = self._parse(data, self.path)
        listed = parsed.get("decisions") if isinstance(parsed, Mapping) else None
        if not isinstance(listed, list):
            raise self._unusable("it has no list of `decisions`")
        for number, item in enumerate(listed, 1):
            problem = _problem_of(item)
            if problem:
                raise self._unusable(f"decision {number}: {problem}")
            yield Remembered(**{**item, "span": Span(item["span"])})

    def _unusable(self, why: str) -> ToolError:
        # A `never` may stand in what cannot be read, so nothing runs past it.
        return ToolError(
            ErrorCode.DENIED,
            f"{self.path} cannot be used: {why}",
            details={"rule": FILE},
            blocked_by=BlockedBy.RULE,
            hint="mend it, or remove it to forget what you decided",
        )

    @contextmanager
    def _changing(self) -> Iterator[list[Remembered]]:
        with locked(self.path + ".lock"):
            now = utc()
            entries = [entry for entry in self._read() if not entry.is_over(now)]
            yield entries
            data = _text(entries).encode()
            if list(self._understood(data)) != entries:
                # What comes back otherwise would be another decision.
                raise UnicodeError("a text in it cannot be written down")
            write_whole(self.path, data)


def _text(entries: Sequence[Remembered]) -> str:
    """YAML whose values are JSON: one line for each thing there is to know."""
    if not entries:
        return f"{_HEAD}decisions: []\n"
    lines = [f"{_HEAD}decisions:"]
    for entry in entries:
        wire = {k: v for k, v in entry.to_wire().items() if v not in ("", None)}
        for number, (name, value) in enumerate(wire.items()):
            lines.append(f"  {'-' if number == 0 else ' '} {name}: {_flow(value)}")
    return "\n".join(lines) + "\n"


def _flow(value: Any) -> str:
    """JSON that YAML reads the same: what lies beyond the first plane is written as itself."""
    text = json.dumps(value, ensure_ascii=False)
    if text.isascii():
        return text.replace("\x7f", "\\u007f")
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _problem_of(item: Any) -> str:
    if not isinstance(item, Mapping):
        return "it is no mapping"
    if unknown := sorted(map(str, item.keys() - set(Remembered.__match_args__))):
        return f"there is no key `{unknown[0]}`"
    if wrong := [name for name in _TEXTS if not isinstance(item.get(name, ""), str)]:
        return f"`{wrong[0]}` must be text"
    if not item.get("id"):
        return "it has no `id`"
    if not _are_permissions(item.get("permissions")):
        return "`permissions` must be as Tongs wrote them"
    if item.get("decision") not in (ALWAYS, NEVER):
        return f"`decision` must be {ALWAYS} or {NEVER}"
    if item.get("span") not in (Span.PROJECT, Span.USER):
        return f"`span` must be {Span.PROJECT} or {Span.USER}"
    return problem_of(item.get("when"))


def _are_permissions(written: Any) -> bool:
    if written is None:
        return True
    if not isinstance(written, Mapping) or not isinstance(written.get("fs"), Mapping):
        return False
    lists = [written.get("secrets"), *written["fs"].values()]
    network = written.get("network")
    return all(isinstance(item, list) for item in lists) and isinstance(network, bool | list)


def _stamp(path: str) -> tuple[int, ...]:
    """What changes when the file is replaced; empty while there is none."""
    try:
        facts = os.stat(path)
    except OSError:
        return ()
    return (facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_size)
