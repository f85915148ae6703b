"""The terminal of a chat: what is written there, and who has it when somebody is asked."""

from __future__ import annotations

import sys
import termios
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

from tongs.agent.events import AgentEvent
from tongs.core.annotations import Any
from tongs.surfaces.chat.rendering import Rendering, label
from tongs.surfaces.chat.ticking import ticking
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.held_events import HeldEvents

# Of a call that the person makes; the model's calls show less.
_MOST_LINES = 200


class Screen:
    """Observes answers and calls. While a question has the terminal, what happens waits."""

    def __init__(self, console: Console, *, thinking: bool = False) -> None:
        self._console = console
        self._model = Rendering(
            self.paint, thinking=thinking, width=self.width, waits_for="the model"
        )
        self._own = Rendering(self.paint, most_lines=_MOST_LINES, width=self.width)
        # The model answers, or the person makes a call: never both.
        self._rendering = self._model
        self._waiting = HeldEvents()
        self._held = 0
        self._keys: Any = None

    def paint(self, text: str, color: str) -> str:
        return self._console.paint(text, color, self._console.out)

    def width(self) -> int | None:
        return self._console.width()

    def write(self, text: str) -> None:
        """Text that is safe to look at."""
        if text:
            self._console.styled(text)
            self._console.flush()

    def leave_terminal_that_hung_up(self) -> None:
        self._console.leave_terminal_that_hung_up()

    def say(self, word: str, text: str, color: str = "") -> None:
        """`word: text` on a line of its own."""
        self.write(f"{label(word, text, color, self.paint)}\n")

    def model(self, event: AgentEvent) -> None:
        """Something of the model's answer."""
        self._show(self._model, event)

    def own(self, event: AgentEvent) -> None:
        """Something of a call that the person makes."""
        self._show(self._own, event)

    @asynccontextmanager
    async def working(self, *, own: bool = False) -> AsyncIterator[None]:
        """Keys are not shown meanwhile: they would stand in the middle of what is written."""
        rendering = self._own if own else self._model

        def tick() -> None:
            if not self._held:
                self.write(rendering.tick())

        self._hush()
        rendering.begin()
        try:
            async with ticking(tick):
                yield
        finally:
            self._unhush()
            self.write(rendering.line_end())

    @contextmanager
    def held(self) -> Iterator[None]:
        """Somebody is asked: the terminal is theirs, with its keys."""
        self.write(self._model.line_end() + self._own.line_end())
        was_hushed = self._keys is not None
        self._unhush()
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
            if was_hushed:
                self._hush()
            if not self._held:
                for event in self._waiting.taken():
                    self.write(self._rendering.show(event))

    def _show(self, rendering: Rendering, event: AgentEvent) -> None:
        self._rendering = rendering
        if self._held:
            self._waiting.add(event)
        else:
            self.write(rendering.show(event))

    def _hush(self) -> None:
        try:
            self._keys = termios.tcgetattr(sys.stdin.fileno())
            quiet = termios.tcgetattr(sys.stdin.fileno())
            quiet[3] &= ~termios.ECHO
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, quiet)
        except (OSError, termios.error):
            self._keys = None

    def _unhush(self) -> None:
        if self._keys is None:
            return
        with suppress(OSError, termios.error):  # the terminal may have gone
            termios.tcsetattr(sys.stdin.fileno(), termios.TCSANOW, self._keys)
        self._keys = None
