"""The audit log of seed 004: one line per event, appended and never rewritten.

    [2025-01-09T15:00:10] TOOL_EXECUTED name=weather params={location:"NYC"} status=success

The log in the state folder is the record; the copy in the project is for reading.
"""

from __future__ import annotations

import errno
import json
import os
import re
import stat
import time
from _thread import allocate_lock  # what threading.Lock is, without loading that module
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from tongs.core.annotations import Any
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import ToolCall
from tongs.core.decision import Verdict
from tongs.core.parts import Allowance
from tongs.core.permissions import Permissions
from tongs.core.result import ToolResult
from tongs.core.tool import Tool

_PLAIN_WORD = re.compile(r"[\w.:/@+-]+\Z", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)

# One for all: `json.dumps` with an option makes an encoder for each value.
_encode = json.JSONEncoder(default=str).encode
_quoted = json.encoder.encode_basestring_ascii

# In this order: asking the abstract class is slow.
_OBJECT = (dict, Mapping)

# One value of an argument may be a whole file; the log keeps enough to recognise it.
_LONGEST_TEXT = 512
# A refused argument may be nested without end, or contain itself.
_DEEPEST = 32


class AuditLog:
    """Appends to every given file; a file that cannot be written is said once, never raised."""

    def __init__(
        self, paths: Sequence[str], warn: Callable[[str], None] = lambda message: None
    ) -> None:
        self._paths = list(paths)
        self._files: dict[str, int] = {}
        self._opening = allocate_lock()
        self._warn = warn
        self._last = (0, "")

    def created(self, name: str, creator: str, permissions: Permissions | None) -> None:
        wire = None if permissions is None else permissions.to_wire()
        self._append("TOOL_CREATED", name=name, creator=creator, permissions=wire)

    def removed(self, name: str, remover: str) -> None:
        self._append("TOOL_REMOVED", name=name, remover=remover)

    def trusted(self, name: str, approver: str, digest: str) -> None:
        self._append("TOOL_TRUSTED", name=name, approver=approver, digest=digest)

    def asked(self, call: ToolCall, tool: Tool, request: ApprovalRequest) -> None:
        self._append(
            "APPROVAL_REQUESTED",
            name=tool.name,
            caller=call.caller.name,
            rule=request.rule,
            call=call.id,
        )

    def answered(self, call: ToolCall, tool: Tool, response: ApprovalResponse) -> None:
        """A denial is recorded where the call ends."""
        if not response.approved:
            return
        edited = dict(response.modified_args) if response.modified_args is not None else None
        self._append(
            "TOOL_APPROVED",
            name=tool.name,
            approver=response.approver or "user",
            call=call.id,
            modified=edited,
        )

    def began(
        self,
        call: ToolCall,
        tool: Tool,
        verdict: Verdict,
        allowance: Allowance,
        response: ApprovalResponse | None,
    ) -> None:
        """The readable log tells of a call when it has ended."""

    def ended(
        self, call: ToolCall, tool: Tool | None, result: ToolResult, *, started: bool
    ) -> list[str]:
        """What could not be recorded: each file is named once, by the first call that missed it."""
        error = result.error
        return self._append(
            "TOOL_EXECUTED" if started else "TOOL_DENIED",
            name=call.name if tool is None else tool.name,
            params=call.arguments,
            status="success" if error is None else "error" if started else "denied",
            code=None if error is None else str(error.code),
            rule=None if error is None else error.details.get("rule"),
            caller=call.caller.name,
            call=call.id,
            digest=None if tool is None else tool.origin.digest[:16] or None,
            enforcement=result.metadata.get("enforcement"),
            not_enforced=result.metadata.get("notEnforced") or None,
        )

    def close(self) -> None:
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()

    def _append(self, event: str, **fields: Any) -> list[str]:
        trouble = []
        words = [f"{key}={_value(value)}" for key, value in fields.items() if value is not None]
        line = f"[{self._moment()}] {event} {' '.join(words)}\n"
        written = line.encode("utf-8", "backslashreplace")
        for path in list(self._paths):
            try:
                # One write of one line to an O_APPEND file: lines of several processes never mix.
                os.write(self._files.get(path) or self._open(path), written)
            except OSError as error:
                with suppress(ValueError):  # another thread was faster
                    self._paths.remove(path)
                trouble.append(f"the audit log {path} cannot be written: {error.strerror}")
                self._warn(trouble[-1])
        return trouble

    def _moment(self) -> str:
        second, text = self._last
        now = int(time.time())
        if now != second:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
            self._last = (now, text)
        return text

    def _open(self, path: str) -> int:
        with self._opening:
            if path not in self._files:
                _make_folder(os.path.dirname(path))
                # A link in a project must not lead the log into another file.
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                # Nor may a pipe in its place make every call wait for a reader.
                opened = os.open(path, flags | os.O_NONBLOCK, 0o600)
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    os.close(opened)
                    raise OSError(errno.EINVAL, "it is not a plain file")
                self._files[path] = opened
            return self._files[path]


def keep_out_of_history(folder: str) -> None:
    """A `.gitignore` for what Tongs puts into a project's folder, unless there is one."""
    path = os.path.join(folder, ".gitignore")
    with suppress(FileExistsError), open(path, "x", encoding="utf-8") as file:
        file.write("audit/\ntrash/\n")


def _make_folder(folder: str) -> None:
    if os.path.isdir(folder):
        return
    os.makedirs(folder, mode=0o700, exist_ok=True)
    if os.path.basename(os.path.dirname(folder)) == ".tongs":
        keep_out_of_history(os.path.dirname(folder))


def _value(value: Any) -> str:
    """The seed's compact notation: `{location:"NYC"}`; one line whatever the value holds."""
    if isinstance(value, str) and _PLAIN_WORD.match(value):
        return value
    return _nested(value)


def _nested(value: Any, depth: int = 0) -> str:
    if depth > _DEEPEST:
        return '"\\u2026"'
    if type(value) is int:
        return int.__repr__(value)
    if isinstance(value, str):
        if len(value) > _LONGEST_TEXT:
            value = f"{value[:_LONGEST_TEXT]}… ({len(value)} characters)"
        return _quoted(value)
    if isinstance(value, _OBJECT):
        pairs = [f"{_key(str(key))}:{_nested(item, depth + 1)}" for key, item in value.items()]
        return "{" + ",".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join([_nested(item, depth + 1) for item in value]) + "]"
    return _encode(value)


def _key(key: str) -> str:
    plain = (key.isascii() and key.isidentifier()) or _PLAIN_KEY.match(key)
    return key if plain else json.dumps(key)
