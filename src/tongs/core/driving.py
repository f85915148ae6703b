"""Running the pipeline's coroutine without an event loop."""

from __future__ import annotations

from collections.abc import Coroutine

from tongs.core.annotations import Any, TypeVar

T = TypeVar("T")


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends: all its waiting blocks inside a `BlockingWaiter`.

    So the command line pays neither for asyncio nor for a thread, and there is one pipeline.
    """
    try:
        work.send(None)
    except StopIteration as finished:
        return finished.value  # type: ignore[no-any-return]  # typed by the coroutine
    work.close()
    raise RuntimeError("a synchronous call waited for an event loop")
