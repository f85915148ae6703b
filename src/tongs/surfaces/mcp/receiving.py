"""How long a client may take to send a request: one that drips would hold its connection for ever.

The limit is on the whole of it, headers and body, and not on the pauses: a byte now and then gives
no more time. Once a request is there, nothing here limits its answer.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds, in which the largest body comes also over a slow line.
LONGEST = 60.0
_TOO_SLOW = b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


class TimelyProtocol(H11Protocol):
    """Closes a connection whose request does not come in time."""

    # Runs while a request is awaited, but for the pause between two, which uvicorn limits itself.
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        super().connection_made(transport)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._wait_no_more()
        super().connection_lost(exc)

    def handle_events(self) -> None:
        super().handle_events()
        if self._is_half_here():
            self._wait()
        else:
            self._wait_no_more()

    def _is_half_here(self) -> bool:
        """Whether a part of a request has come, and the rest has not."""
        state = self.conn.their_state
        return state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0] != b"")

    def _wait(self) -> None:
        if self._deadline is None:
            self._deadline = self.loop.call_later(LONGEST, self._give_up)

    def _wait_no_more(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            self.transport.write(_TOO_SLOW)
            self.transport.close()
        else:
            # It was answered already, by somebody who did not need the rest.
            self.transport.abort()
