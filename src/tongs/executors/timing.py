"""How long a call may take whose `timeout` argument says it in seconds."""

from __future__ import annotations

import time
from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.execution import Context


def deadline(arguments: Mapping[str, Any], context: Context, usual: float) -> float:
    """When the call is over, on the monotonic clock.

    What it asks for, inside what the command line or the config allow. Where it asks for nothing,
    what they say, else `usual` seconds.
    """
    asked = arguments.get("timeout")
    if asked is None and context.deadline is not None:
        return context.deadline
    own = time.monotonic() + (usual if asked is None else float(asked))
    return own if context.deadline is None else min(own, context.deadline)


def left(moment: float) -> float:
    """Seconds until then."""
    return max(0.0, moment - time.monotonic())
