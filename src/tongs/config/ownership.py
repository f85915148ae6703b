"""Whose a file is: what lies in a place others can write is theirs, what a project brings too."""

from __future__ import annotations

import os
import stat

from tongs.core.errors import BlockedBy, ErrorCode, ToolError


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


def unaccepted(what: str, path: str) -> ToolError:
    """A file of the project that somebody meant, and that counts only once a person has read it."""
    from shlex import quote  # noqa: PLC0415 - only for the hint

    return ToolError(
        ErrorCode.UNTRUSTED,
        f"{what} came with the project, and nobody has accepted {path} yet",
        blocked_by=BlockedBy.TRUST,
        hint=f"read it, then: tongs trust {quote(path)}",
    )
