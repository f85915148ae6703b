"""Sending the anchor of the audit chain to where the person wants it kept.

A call never waits for it: when an anchor is due, another process sends it, and what became of that
stands beside the chain, where `tongs audit head` reads it.
"""

from __future__ import annotations

import json
import os
import time

from tongs.audit.anchor import Anchor
from tongs.audit.sent import Sent, as_bytes, last_sent, path_of
from tongs.config.environment import host_environment
from tongs.config.settings import AuditSettings
from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.moments import utc
from tongs.sandbox.errand import Errand
from tongs.store.files import write_whole

if TYPE_CHECKING:
    from tongs.runtime import Runtime

# Where the config says how, but not how often.
EVERY = 100
# For whoever takes the anchor.
_PATIENCE = 30.0
_LAST_WORDS = 200
_MOST_OUTPUT = 65536


class Anchoring:
    """Looks after each call whether an anchor is due."""

    def __init__(self, settings: AuditSettings, folder: str) -> None:
        self._settings = settings
        self._folder = folder
        self._errand = Errand()
        self._seq = -1
        self._when = 0.0

    def look(self, seq: int) -> None:
        """Send the anchor on its way if it is time to."""
        if self._seq < 0:
            self._remember()
        if self._due(seq) and self._errand.start(("audit", "head", "--send"), host_environment()):
            self._seq, self._when = seq, time.time()

    def _due(self, seq: int) -> bool:
        if (seconds := self._settings.every_seconds) is not None:
            return seq > self._seq and time.time() - self._when >= seconds
        return seq - self._seq >= (self._settings.every or EVERY)

    def _remember(self) -> None:
        """Where another process left off."""
        sent = last_sent(self._folder)
        self._seq = 0 if sent.anchor is None else sent.anchor.seq
        try:
            self._when = os.stat(path_of(self._folder)).st_mtime
        except OSError:
            self._when = 0.0


def send(runtime: Runtime, anchor: Anchor) -> None:
    """Send it, and keep what became of that. Raises ToolError only where no place is named."""
    settings = runtime.settings.audit
    if not settings.sends:
        raise ToolError(
            ErrorCode.INVALID_ARGUMENTS,
            "the anchor was not sent: the config names no place for it",
            hint="audit: {anchor: {command: [...]}} in your config.yml",
        )
    now = utc()
    data = json.dumps({**anchor.to_wire(), "time": now}).encode() + b"\n"
    troubles = []
    if settings.command:
        troubles.append(_commanded(settings, data))
    if settings.url:
        troubles.append(_posted(settings, data, runtime.places.home))
    trouble = "; ".join(filter(None, troubles))
    folder = runtime.audit.chain.folder
    before = last_sent(folder)
    kept = Sent(before.anchor, before.when, trouble) if trouble else Sent(anchor, now)
    write_whole(path_of(folder), as_bytes(kept))
    if trouble:
        runtime.log.write("warning", f"the audit anchor could not be sent: {trouble}")


def _commanded(settings: AuditSettings, data: bytes) -> str:
    """Why it did not arrive, or nothing."""
    from tongs.sandbox.own_program import answered  # noqa: PLC0415 - on no path of a call

    program, environment = settings.command[0], host_environment()
    try:
        code, _, words = answered(
            settings.command,
            environment,
            data,
            seconds=_PATIENCE,
            most=_MOST_OUTPUT,
            settled=lambda: False,
        )
    except OSError as error:
        return f"{program} could not be started: {error.strerror}"
    if code == 0:
        return ""
    ended = f"took longer than {_PATIENCE:g} s" if code is None else f"ended with {code}"
    return f"{program} {ended}" + (f": {words.strip()[-_LAST_WORDS:]}" if words.strip() else "")


def _posted(settings: AuditSettings, data: bytes, home: str) -> str:
    """Why it did not arrive, or nothing."""
    from tongs.runtime.posting import post  # noqa: PLC0415 - on no path of a call
    from tongs.runtime.secrets import header_values  # noqa: PLC0415 - as above

    try:
        headers = header_values(settings.headers, host_environment(), home, "audit.anchor")
        status, _ = post(settings.url, headers, data, _PATIENCE, lambda: False)
    except (ToolError, ValueError) as error:
        return f"{settings.url}: {error}"
    return "" if 200 <= status < 300 else f"{settings.url} answered {status}"
