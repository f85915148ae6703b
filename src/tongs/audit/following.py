"""Records as they are written, by whichever process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator

from tongs.audit import files
from tongs.audit.entry import Entry, read

_PAUSE = 0.2


class Follower:
    """Stands at the end of the chain when it is made."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._number = (files.numbers(folder) or [1])[-1]
        self._offset = self._size()

    def follow(self, pause: Callable[[], None] = lambda: time.sleep(_PAUSE)) -> Iterator[Entry]:
        """Every record from then on; ends only when whoever asks for it does."""
        while True:
            found = list(self._new())
            yield from found
            if not found:
                pause()

    def _new(self) -> Iterator[Entry]:
        path = files.path_of(self._folder, self._number)
        if self._size() < self._offset:
            self._offset = 0  # somebody put another file there
        if not os.path.exists(path):
            return
        for offset, line in files.lines_of(path, self._offset):
            if not line.endswith(b"\n"):
                return  # still being written, or torn
            self._offset = offset + len(line)
            if (entry := read(line)) is None:
                continue
            yield entry
            if entry.closes:
                self._number, self._offset = self._number + 1, 0
                return

    def _size(self) -> int:
        try:
            return os.stat(files.path_of(self._folder, self._number)).st_size
        except OSError:
            return 0
