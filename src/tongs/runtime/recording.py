"""Where the record of calls is kept, and who is told of its end."""

from __future__ import annotations

import os

from tongs.audit.chain import Chain
from tongs.audit.log import AuditLog
from tongs.audit.readable import ReadableLog
from tongs.config.places import Places
from tongs.config.settings import Settings
from tongs.store.log import Log


def audit_log(places: Places, settings: Settings, log: Log) -> AuditLog:
    """The chain, and the readable copy where the project has a folder for it."""

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
