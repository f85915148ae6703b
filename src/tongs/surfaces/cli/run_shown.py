"""How `tongs run` shows what happens: the model's words on stdout, all else on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tongs.agent.events import (
    AgentEvent,
    CallOutput,
    Ended,
    QuestionAnswered,
    QuestionAsked,
    StepEnded,
    TextShown,
)
from tongs.agent.loop import Outcome
from tongs.surfaces.chat.rendering import MOST_LINES, STOPPED, Rendering
from tongs.surfaces.cli.apart import Apart
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.held_events import HeldEvents

# With `-v`: all.
_ALL_LINES = 10**9


class Shown:
    """Observes one answer. While a person is asked, nothing is written; it comes afterwards.

    A person at a terminal sees what tools put out while they run; a log has it with `verbose`.
    """

    def __init__(self, console: Console, *, json: bool, verbose: bool) -> None:
        self._console = console
        self._json = json
        seen = MOST_LINES if console.err_is_terminal else 0
        self._rendering = Rendering(
            lambda text, color: console.paint(text, color, console.err),
            thinking=verbose,
            most_lines=_ALL_LINES if verbose else seen,
            width=lambda: console.width(console.err),
            waits_for="the model",
        )
        # The name of a signal.
        self.stopped_by = ""
        self._at_line_start = True
        # Elsewhere the words are data, and lines of ours are not among them.
        self._words = Apart() if console.out_is_terminal else None
        # Where lines of JSON go elsewhere, a question is in nobody's way.
        self._shares_terminal = console.out_is_terminal or not json
        self._holds = 0
        self._held = HeldEvents()

    def __call__(self, event: AgentEvent) -> None:
        if isinstance(event, QuestionAsked):
            self._show(event)
            self._holds += 1
            return
        if isinstance(event, QuestionAnswered):
            self._holds -= 1
        if self._holds and self._shares_terminal:
            self._held.add(event)
        else:
            self._give()
            self._show(event)

    def tick(self) -> None:
        """Once a second: a person at a terminal is told what is waited for."""
        if self._at_line_start and not self._holds and not self._json:
            self._talk(self._rendering.tick())
            self._console.flush()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Somebody else needs the terminal."""
        self._line()
        self._holds += 1
        try:
            yield
        finally:
            self._holds -= 1
            self._give()

    def end(self, outcome: Outcome) -> None:
        """What the person has to know besides."""
        self._line()
        console, failed = self._console, outcome.failure
        goes_on = f"tongs run --conversation {outcome.conversation.id}"
        match outcome.kind:
            case "failed" if failed is not None:
                console.label("error", f"{failed.kind}: {failed.message}", "red")
                if failed.hint:
                    console.hint(failed.hint)
            case "step-limit":
                steps = f"{outcome.steps} step" + ("s" if outcome.steps > 1 else "")
                console.label("stopped", f"the model was not done after {steps}", "yellow")
                console.hint(f'{goes_on} --max-steps {2 * outcome.steps} "go on"')
            case "stopped":
                by = "" if self.stopped_by == "SIGINT" else f"by {self.stopped_by}: "
                console.label("stopped", by + STOPPED, "yellow")
                console.hint(f'{goes_on} "…" goes on with it')
            case "denied":
                console.label("denied", "the model ended after a call of its was denied", "yellow")
        if outcome.cut:
            console.warn("the answer is cut off: the model reached its limit of length")
        console.flush()

    def _give(self) -> None:
        if not self._holds:
            for event in self._held.taken():
                self._show(event)

    def _show(self, event: AgentEvent) -> None:
        if self._json:
            self._console.data(_line_of(event))
            self._console.flush()
            return
        match event:
            case TextShown(text):
                self._talk(self._rendering.line_end())
                self._console.data(text if self._words is None else self._words.shown(text))
                self._at_line_start = text.endswith("\n")
            case StepEnded() | Ended():
                self._line()
            case CallOutput():
                self._talk(self._rendering.show(event))
            case _:
                self._line()
                self._talk(self._rendering.show(event))
        self._console.flush()

    def _talk(self, text: str) -> None:
        self._console.styled(text, self._console.err)

    def _line(self) -> None:
        """What follows begins on a line of its own."""
        self._talk(self._rendering.line_end())
        if not self._at_line_start and not self._json:
            rest = "" if self._words is None else self._words.rest()
            self._console.data(f"{rest}\n")
            self._at_line_start = True
            self._console.flush()


def _line_of(event: AgentEvent) -> str:
    text = json.dumps(event.to_data(), ensure_ascii=False, default=str)
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(event.to_data(), default=str)
    return text + "\n"
