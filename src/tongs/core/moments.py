"""Moments as they are written down."""

from __future__ import annotations

import time


def utc(seconds: float | None = None) -> str:
    """A moment since the epoch, else this one. The texts compare as the moments do."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
