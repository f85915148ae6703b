"""Which records somebody wants to see."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.schema.units import duration

STATUSES = ("success", "error", "denied", "unfinished")


@dataclass(frozen=True, slots=True)
class Query:
    """Empty means any. Moments are as in the records: UTC, to be compared as text."""

    tool: str = ""
    caller: str = ""
    event: str = ""
    since: str = ""
    until: str = ""
    status: str = ""
    call: str = ""
    # A call, and those that were part of it.
    family: str = ""
    seq: int | None = None
    limit: int | None = None

    def conditions(self) -> list[tuple[str, list[Any]]]:
        """For SQL: each with its values; `STATUS` stands for the status of the record's call."""
        found: list[tuple[str, list[Any]]] = [
            (f"r.{name} = ?", [value])
            for name in ("tool", "caller", "event", "call")
            if (value := getattr(self, name))
        ]
        if self.since:
            found.append(("r.time >= ?", [self.since]))
        if self.until:
            found.append(("r.time < ?", [self.until]))
        if self.status:
            found.append(("STATUS = ?", [self.status]))
        if self.family:
            inner = f"{self.family}."
            found.append(
                ("(r.call = ? OR substr(r.call, 1, ?) = ?)", [self.family, len(inner), inner])
            )
        if self.seq is not None:
            found.append(("r.seq = ?", [self.seq]))
        return found

    def matches(self, data: Mapping[str, Any]) -> bool:
        """The same for a record that has just come."""
        same = all(
            data.get(name) == value
            for name in ("tool", "caller", "event", "call", "status")
            if (value := getattr(self, name))
        )
        moment = str(data.get("time", ""))
        return same and moment >= self.since and (not self.until or moment < self.until)


def moment(text: str) -> str:
    """A point in time as records write it, from one (UTC) or from how long ago it was: `2h`.

    Raises ValueError.
    """
    from datetime import UTC, datetime  # noqa: PLC0415 - only for such options

    try:
        when = datetime.fromtimestamp(time.time() - duration(text), UTC)
    except ValueError:
        when = datetime.fromisoformat(text)
        when = when.replace(tzinfo=UTC) if when.tzinfo is None else when.astimezone(UTC)
    return when.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
