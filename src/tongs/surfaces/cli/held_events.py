"""What happens while a question has the terminal, kept until that is free again."""

from __future__ import annotations

from collections.abc import Iterator

from tongs.agent.events import AgentEvent, CallOutput

# Bytes of what tools write meanwhile: a question may wait for hours.
MOST_OUTPUT = 1024 * 1024
# Of an event itself: output may come byte by byte.
_COST = 100


class HeldEvents:
    """In their order; of the output of tools only the beginning. Their results are whole."""

    def __init__(self) -> None:
        self._events: list[AgentEvent] = []
        self._output = 0

    def add(self, event: AgentEvent) -> None:
        if isinstance(event, CallOutput):
            self._output += len(event.data) + _COST
            if self._output > MOST_OUTPUT:
                return
        self._events.append(event)

    def taken(self) -> Iterator[AgentEvent]:
        """Those that are held are given out, and are held no more."""
        self._output = 0
        while self._events:
            yield self._events.pop(0)
