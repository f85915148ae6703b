"""Loading much code at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def all_of_it_stays() -> Iterator[None]:
    """While large packages are imported. Nothing of them is garbage: to look for some among it, now
    and when the process ends, takes a third of the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if was_on:
            gc.enable()
