"""The readable copy of seed 004: one line per event, in the project it happened in.

    [2025-01-09T15:00:10] TOOL_EXECUTED name=weather params={location:"NYC"} status=success

It is for reading: whoever can write in the project can write here. The truth is the chain.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from _thread import allocate_lock  # what threading.Lock is, without loading that module
from collections.abc import Callable, Mapping
from contextlib import suppress

from tongs.audit.fields import DEEPEST, LONGEST_TEXT, quoted, shortened, text_of
from tongs.core.annotations import Any

# Python refuses to print an integer that is too long.
_WIDE = 1 << 64

_PLAIN_WORD = re.compile(r"[\w.:/@+-]+\Z", re.ASCII)
_PLAIN_KEY = re.compile(r"[A-Za-z_][\w.-]*\Z", re.ASCII)


class ReadableLog:
    """Appends lines to one file; where it cannot, that is said once and never raised."""

    def __init__(self, path: str, warn: Callable[[str], None] = lambda message: None) -> None:
        self.path = path
        self._descriptor = -1
        self._opening = allocate_lock()
        self._warn = warn
        self._last = (0, "")
        self._broken = False

    def append(self, event: str, fields: Mapping[str, Any]) -> list[str]:
        """One line; what is None is left out. Returns as `write` does."""
        words = [f"{key}={said(value)}" for key, value in fields.items() if value is not None]
        return self.write(f"{event} {' '.join(words)}")

    def write(self, line: str) -> list[str]:
        """A line made of `said`. What the person should know: that it is the first one missing."""
        if self._broken:
            return []
        data = f"[{self._moment()}] {line}\n".encode()
        try:
            # One write of one line to an O_APPEND file: lines of several processes never mix.
            os.write(self._descriptor if self._descriptor >= 0 else self._open(), data)
        except OSError as error:
            self._broken = True
            trouble = f"the audit log {self.path} cannot be written: {error.strerror}"
            self._warn(trouble)
            return [trouble]
        return []

    def close(self) -> None:
        with self._opening:
            if self._descriptor >= 0:
                os.close(self._descriptor)
            self._descriptor = -1

    def _moment(self) -> str:
        second, text = self._last
        now = int(time.time())
        if now != second:
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now))
            self._last = (now, text)
        return text

    def _open(self) -> int:
        with self._opening:
            if self._descriptor < 0:
                _make_folder(os.path.dirname(self.path))
                # A link in a project must not lead the log into another file.
                flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
                # Nor may a pipe in its place make every call wait for a reader.
                opened = os.open(self.path, flags | os.O_NONBLOCK, 0o600)
                if not stat.S_ISREG(os.fstat(opened).st_mode):
                    os.close(opened)
                    raise OSError(errno.EINVAL, "it is not a plain file")
                self._descriptor = opened
            return self._descriptor


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


# Names of tools, callers and parameters come again and again; refused ones may be anything.
_words: dict[str, str] = {}
_keys: dict[str, str] = {}
_MOST_KEPT = 1024
_LONGEST_KEPT = 64


def _kept(known: dict[str, str], text: str, said: str) -> str:
    if len(known) < _MOST_KEPT and len(text) <= _LONGEST_KEPT:
        known[text] = said
    return said


def said(value: Any) -> str:
    """A value in the seed's notation: a plain word as it is, any other as `notation` has it."""
    if type(value) is not str:
        return notation(value)
    known = _words.get(value)
    if known is None:
        plain = len(value) <= LONGEST_TEXT and _PLAIN_WORD.match(value)
        known = _kept(_words, value, value if plain else notation(value))
    return known


def said_once(text: str) -> str:
    """As `said`, for what never comes again, such as the id of a call."""
    return text if len(text) <= LONGEST_TEXT and _PLAIN_WORD.match(text) else notation(text)


def notation(value: Any, depth: int = 0) -> str:
    """`{location:"NYC"}`; one line of ASCII whatever it holds."""
    kind = type(value)
    if kind is str:
        return quoted(value if len(value) <= LONGEST_TEXT else shortened(value))
    if depth > DEEPEST:
        return quoted("…")
    if kind is dict:
        pairs = [
            # A short text in place: most items are.
            f"{_keys.get(key) or _key(str(key))}:{quoted(item)}"
            if type(item) is str and len(item) <= LONGEST_TEXT
            else f"{_keys.get(key) or _key(str(key))}:{notation(item, depth + 1)}"
            for key, item in value.items()
        ]
        return "{" + ",".join(pairs) + "}"
    if kind is int:
        return int.__repr__(value) if -_WIDE < value < _WIDE else text_of(value)
    if kind is list or kind is tuple:
        return "[" + ",".join([notation(item, depth + 1) for item in value]) + "]"
    if isinstance(value, Mapping):
        return notation(dict(value), depth)
    return text_of(value)


def _key(key: str) -> str:
    return _kept(_keys, key, key if _PLAIN_KEY.match(key) else quoted(key))
