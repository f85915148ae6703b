"""Where the record of calls is kept, and who is told of its end."""

from __future__ import annotations

import os
from _thread import allocate_lock  # what threading.Lock is, without loading that module
from collections.abc import Callable

from tongs.config.places import Places
from tongs.config.settings import Settings
from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.store.log import Log

if TYPE_CHECKING:
    from tongs.audit.log import AuditLog


class Deferred:
    """An AuditLog that is made when something is to be recorded: a listing records nothing."""

    def __init__(self, make: Callable[[], AuditLog]) -> None:
        self._make = make
        self._made: AuditLog | None = None
        self._making = allocate_lock()

    def __getattr__(self, name: str) -> Any:
        with self._making:
            if self._made is None:
                self._made = self._make()
        # From now on it is found at once.
        self.__dict__[name] = value = getattr(self._made, name)
        return value

    def close(self) -> None:
        if self._made is not None:
            self._made.close()


def audit_log(places: Places, settings: Settings, log: Log) -> AuditLog:
    """The record of a place; what could go wrong with it shows when it is first written to."""
    deferred: Any = Deferred(lambda: _made(places, settings, log))
    audit: AuditLog = deferred
    return audit


def _made(places: Places, settings: Settings, log: Log) -> AuditLog:
    """The chain, and the readable copy where the project has a folder for it."""
    from tongs.audit.chain import Chain  # noqa: PLC0415 - only what is recorded needs them
    from tongs.audit.log import AuditLog  # noqa: PLC0415 - as above
    from tongs.audit.readable import ReadableLog  # noqa: PLC0415 - as above

    def warn(message: str) -> None:
        log.write("warning", message)

    folder = os.path.join(places.state, "audit")
    chain = Chain(folder, largest=settings.audit.rotate, warn=warn)
    copy = None
    if places.project is not None:
        own = os.path.join(places.project, ".tongs")
        beside = os.path.join(own, "audit")
        # A link that came with the project would lead our lines into somebody else's folder.
        if os.path.isdir(own) and os.path.realpath(beside) == beside:
            copy = ReadableLog(os.path.join(beside, "tools.log"), warn)
    if not settings.audit.sends:
        return AuditLog(chain, copy, places.root)
    from tongs.runtime.anchoring import Anchoring  # noqa: PLC0415 - where a person asked for it

    return AuditLog(chain, copy, places.root, Anchoring(settings.audit, folder).look)
