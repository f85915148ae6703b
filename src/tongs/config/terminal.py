"""What the environment says about the person's terminal."""

from __future__ import annotations

import os


def wants_color() -> bool:
    """Colour is fine: `NO_COLOR` is empty or unset, and the terminal is not a dumb one."""
    return not os.environ.get("NO_COLOR") and not is_dumb()


def is_dumb() -> bool:
    """The terminal cannot move its cursor."""
    return os.environ.get("TERM", "") in ("", "dumb")
