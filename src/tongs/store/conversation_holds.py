"""One process at a time goes on with a conversation.

Two would give their calls the same ids, and each would take the other's calls for lost ones.
"""

from __future__ import annotations

import os

from tongs.core.digest import digest_of
from tongs.store.files import private_folder

# The file by its path. Never closed: to close one gives up every lock that this process has on it.
_OPEN: dict[str, int] = {}


def hold(state: str, conversation: str) -> bool:
    """Take it until this process ends; False where another one has it. Raises OSError.

    The lock is on one byte, whose place is made of the id. It is the process's own: no fork
    inherits it, and none that outlives us keeps it.
    """
    import fcntl  # noqa: PLC0415 - only where somebody speaks to a model

    path = os.path.join(state, "conversations.lock")
    if path not in _OPEN:
        private_folder(state)
        _OPEN[path] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    place = int(digest_of(conversation.encode())[:12], 16)
    try:
        fcntl.lockf(_OPEN[path], fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place)
    except (BlockingIOError, PermissionError):
        return False
    return True
