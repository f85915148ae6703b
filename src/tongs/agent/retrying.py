"""Which failures of a provider are worth another try, and when."""

from __future__ import annotations

import random

from tongs.core.conversation import ModelFailed

# Tries in all.
MOST_TRIES = 5
# Nobody waits longer than this without being asked.
_LONGEST_WAIT = 60.0
_PASSING = frozenset({"rate", "server", "connection"})


def pause_before_retry(failed: ModelFailed, tries: int) -> float | None:
    """Seconds; None where another try would not help, or comes too late for anybody who waits.

    Doubles from one second on, with some chance in it, so that many who failed together do not come
    back together.
    """
    if failed.kind not in _PASSING or tries >= MOST_TRIES:
        return None
    if failed.retry_after is not None:
        return failed.retry_after if failed.retry_after <= _LONGEST_WAIT else None
    whole = float(2 ** (tries - 1))
    return random.uniform(whole / 2, whole)
