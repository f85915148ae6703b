"""The rotating log in the state folder: what a bug report needs and a terminal should not show."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress

from tongs.core.moments import utc
from tongs.store.files import private_folder

LEVELS = ("debug", "info", "warning", "error")
LARGEST = 1024 * 1024
KEPT = 3


class Log:
    """Appends lines of at least `level`; never raises, since a log must not break a call."""

    def __init__(self, state: str, level: str = "info") -> None:
        self.path = os.path.join(state, "log", "tongs.log")
        self._least = LEVELS.index(level)

    def write(self, level: str, message: str) -> None:
        if LEVELS.index(level) < self._least:
            return
        line = f"{utc()} {level.upper()} [{os.getpid()}] {message}\n"
        with suppress(OSError):
            private_folder(os.path.dirname(self.path))
            self._rotate()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            descriptor = os.open(self.path, flags, 0o600)
            try:
                os.write(descriptor, line.encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)

    def traceback(
        self, error: BaseException, redact: Callable[[str], str] = lambda text: text
    ) -> str:
        """Keep the traceback; the id under which it can be found."""
        import traceback  # noqa: PLC0415 - only when something is broken

        mark = os.urandom(4).hex()
        text = "".join(traceback.format_exception(error))
        self.write("error", f"id={mark}\n{redact(text)}")
        return mark

    def _rotate(self) -> None:
        try:
            if os.stat(self.path).st_size < LARGEST:
                return
        except FileNotFoundError:
            return
        for number in range(KEPT - 1, 0, -1):
            with suppress(FileNotFoundError):
                os.replace(f"{self.path}.{number}", f"{self.path}.{number + 1}")
        os.replace(self.path, f"{self.path}.1")
