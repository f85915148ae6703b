"""Tells when tools were added, changed or removed.

Every lookup reads the folders anyway, so a running process never offers what is gone. This is for
whoever wants to be told: a list that is kept up to date, a server with clients that hold one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from tongs.core.annotations import Any, Protocol
from tongs.core.record import dataclass
from tongs.core.scope import Scope
from tongs.registry import Entry
from tongs.runtime import Runtime

# Milliseconds: how long changes are collected, and after which time somebody looks in any case. A
# folder that did not exist cannot be watched, nor an entrypoint outside of one.
_COLLECTED, _AT_LEAST = 50, 500


class Stop(Protocol):
    """As threading.Event."""

    def is_set(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class Changes:
    """What is different from before, by qualified name."""

    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()


def watch(
    runtime: Runtime, scope: Scope = Scope.ANY, stop: Stop | None = None
) -> Iterator[tuple[Changes, list[Entry]]]:
    """Yield at every change what it was and all there is now; ends when `stop` is set."""
    import watchfiles  # noqa: PLC0415 - loads a shared library and anyio

    entries = runtime.entries(scope)
    before = snapshot(entries)
    while True:
        watched = [folder for folder in folders(runtime, scope) if os.path.isdir(folder)]
        # With nothing to watch, the working directory stands in: it is the time that counts.
        events = watchfiles.watch(
            *(watched or [runtime.places.cwd]),
            watch_filter=None,
            debounce=_COLLECTED,
            step=_COLLECTED,
            rust_timeout=_AT_LEAST,
            yield_on_timeout=True,
            recursive=bool(watched),
            stop_event=stop,
        )
        for _ in events:
            entries = runtime.entries(scope)
            now = snapshot(entries)
            if now != before:
                found = _difference(before, now)
                before = now
                yield found, entries
            present = [folder for folder in folders(runtime, scope) if os.path.isdir(folder)]
            if present != watched:
                break  # watch the new ones, too
        else:
            return


def folders(runtime: Runtime, scope: Scope = Scope.ANY) -> list[str]:
    """Where tools lie, whether or not there is such a folder."""
    custom = runtime.settings.custom_tools
    return [
        folder
        for folder, _ in runtime.places.tool_folders(
            scope, global_dir=custom.global_dir, local_dir=custom.local_dir
        )
    ]


def snapshot(entries: list[Entry]) -> dict[str, Any]:
    """What tells one state of the list from another."""
    return {
        f"{entry.qualified_name} {entry.path}": (entry.digest, entry.trust, entry.problems)
        for entry in entries
    }


def _difference(before: dict[str, Any], now: dict[str, Any]) -> Changes:
    def names(keys: list[str]) -> tuple[str, ...]:
        return tuple(sorted(key.partition(" ")[0] for key in keys))

    return Changes(
        added=names([key for key in now if key not in before]),
        changed=names([key for key in now if key in before and now[key] != before[key]]),
        removed=names([key for key in before if key not in now]),
    )
