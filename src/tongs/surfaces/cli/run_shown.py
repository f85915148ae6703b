"""How `tongs run` shows what happens: the model's words on stdout, all else on stderr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

from tongs.agent.events import (
    AgentEvent,
    CallEnded,
    CallOutput,
    CallStarted,
    Ended,
    QuestionAnswered,
    QuestionAsked,
    Retrying,
    StepEnded,
    TextShown,
    ThinkingShown,
)
from tongs.agent.loop import Outcome
from tongs.output import decoded
from tongs.surfaces.cli.apart import Apart
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.held_events import HeldEvents

_LONGEST_LINE = 200


class Shown:
    """Observes one answer. While a person is asked, nothing is written; it comes afterwards."""

    def __init__(self, console: Console, *, json: bool, verbose: bool) -> None:
        self._console = console
        self._json = json
        self._verbose = verbose
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
                console.label("stopped", "as you wished", "yellow")
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
                self._console.data(text if self._words is None else self._words.shown(text))
                self._at_line_start = text.endswith("\n")
                self._console.flush()
            case StepEnded() | Ended():
                self._line()
            case CallStarted(_, _, tool, arguments):
                self._line()
                words = json.dumps(dict(arguments), ensure_ascii=False)
                self._console.label("call", _short(f"{tool} {words}"), "cyan")
            case CallEnded():
                self._say_ended(event)
            case CallOutput(_, _, data) if self._verbose:
                self._console.talk(decoded(data))
            case ThinkingShown(text) if self._verbose:
                self._console.talk(text)
            case Retrying(kind, message, seconds):
                wait = f"again in {seconds:.0f} s" if seconds >= 1 else "again at once"
                self._console.warn(f"{kind}: {_short(message)}; {wait}")
        self._console.flush()

    def _say_ended(self, event: CallEnded) -> None:
        self._line()
        first = event.text.strip().partition("\n")[0]
        if event.ok:
            self._console.label("done", f"{event.tool} ({event.seconds:.1f} s)", "green")
        else:
            word = "denied" if event.denied else "failed"
            self._console.label(word, _short(f"{event.tool}: {first}"), "yellow")

    def _line(self) -> None:
        """What follows begins on a line of its own."""
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


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
