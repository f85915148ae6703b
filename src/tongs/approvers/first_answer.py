"""Asks several at once: whoever answers first has answered, and the others are told to stop."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.approval import ApprovalRequest, ApprovalResponse, Voice
from tongs.core.errors import ToolError

if TYPE_CHECKING:
    import threading


class FirstAnswer:
    """The voices, each in a thread; `told` is handed every answer, in the thread that has it.

    All threads have ended when this has: a process of one thread may start others by a plain fork.
    """

    def __init__(
        self,
        voices: Sequence[Voice],
        request: ApprovalRequest,
        told: Callable[[ApprovalResponse], object],
    ) -> None:
        self._voices = voices
        self._request = request
        self._told = told
        self._over = False
        self._threads: list[threading.Thread] = []
        self._rope = -1
        # Becomes readable when a voice has ended; -1 where there is none.
        self.bell = -1

    def __enter__(self) -> FirstAnswer:
        if self._voices:
            import threading  # noqa: PLC0415 - only where there is somebody to ask

            self.bell, self._rope = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
            self._threads = [
                threading.Thread(target=self._ask, args=(voice,), daemon=True)
                for voice in self._voices
            ]
            for thread in self._threads:
                thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.end()
        for descriptor in (self.bell, self._rope):
            if descriptor >= 0:
                os.close(descriptor)
        self.bell = self._rope = -1

    def end(self) -> None:
        """Tell everybody, and wait for them."""
        self._over = True
        for thread in self._threads:
            thread.join()

    def heard(self) -> None:
        """Make the bell ring anew for the next voice."""
        if self.bell >= 0:
            os.read(self.bell, len(self._voices))

    def _ask(self, voice: Voice) -> None:
        try:
            response = voice.ask(self._request, lambda: self._over)
        except ToolError as error:
            # An approver that cannot ask is no approval.
            response = ApprovalResponse(approved=False, reason=error.message)
        if response is not None:
            self._told(response)
        os.write(self._rope, b".")
