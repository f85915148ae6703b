"""Tongs itself, started for something that nobody waits for."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence


class Errand:
    """One at a time; it runs as the person would run it."""

    def __init__(self) -> None:
        self._pid = 0

    def start(self, words: Sequence[str], environment: Mapping[str, str]) -> bool:
        """Whether it was started: not while the one before is still on its way."""
        if self._pid:
            try:
                if os.waitpid(self._pid, os.WNOHANG) == (0, 0):
                    return False
            except ChildProcessError:
                pass  # somebody in this process waits for everything
        nowhere = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)]
        # -P: a folder `tongs` in the working directory is not Tongs.
        command = [sys.executable, "-P", "-m", "tongs", *words]
        try:
            self._pid = os.posix_spawn(
                sys.executable, command, dict(environment), file_actions=nowhere, setsid=True
            )
        except OSError:
            return False
        return True
