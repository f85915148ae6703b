"""Control groups that are used again: making and removing one costs more than many a call."""

from __future__ import annotations

import _thread
import os

from tongs.sandbox.cgroups import Found, Group

# How many groups wait to be used again, and how many of them are looked at for one.
_MOST_IDLE, _LOOKS = 64, 4
# Milliseconds in which what is left in a group has to die at the end of everything.
_LONGEST_PATIENCE = 2000


class Groups:
    """Groups with nobody in them, until the next call."""

    def __init__(self, found: Found) -> None:
        self._found = found
        self._idle: list[Group] = []
        self._lock = _thread.allocate_lock()
        self._owner = os.getpid()

    def take(self, memory: int, processes: int) -> Group:
        """A group with these limits and nobody in it. Raises OSError where none can be made."""
        for _ in range(_LOOKS):
            if (group := self._oldest()) is None:
                break
            if group.is_empty():
                try:
                    group.limit(memory, processes)
                except OSError:
                    group.close(patience=0)  # somebody has removed it
                else:
                    return group
            else:
                self.give(group)  # its last process is just going
        made = Group.create(self._found, memory, processes)
        made.home = self.give
        return made

    def give(self, group: Group) -> None:
        """Take back a group whose call is over."""
        with self._lock:
            self._idle.append(group)
            surplus = self._idle.pop(0) if len(self._idle) > _MOST_IDLE else None
        if surplus is not None:
            surplus.close()

    def close(self) -> None:
        """Remove all that are not in use."""
        with self._lock:
            idle, self._idle = self._idle, []
        if os.getpid() == self._owner:
            for group in idle:
                if not group.is_empty():
                    group.kill()
                group.close(patience=_LONGEST_PATIENCE)

    def _oldest(self) -> Group | None:
        if os.getpid() != self._owner:
            # A forked copy: these belong to the original, and so does the lock's state.
            self._idle, self._owner = [], os.getpid()
            self._lock = _thread.allocate_lock()
        with self._lock:
            return self._idle.pop(0) if self._idle else None
