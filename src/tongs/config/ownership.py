"""Whether a place is the user's own: what lies in a place others can write is theirs, too."""

from __future__ import annotations

import os
import stat


def why_not_own(path: str) -> str | None:
    """The reason why `path` cannot be trusted by its place; None if it can or does not exist.

    A private group (the number of the group is that of its owner) counts as the owner.
    """
    try:
        facts = os.stat(path)
    except OSError:
        return None
    if facts.st_uid not in (0, os.geteuid()):
        return f"{path} belongs to another user (uid {facts.st_uid})"
    if facts.st_mode & stat.S_IWOTH:
        return f"{path} can be written by everybody (chmod o-w)"
    if facts.st_mode & stat.S_IWGRP and facts.st_gid not in (0, facts.st_uid):
        return f"{path} can be written by its group (chmod g-w)"
    return None
