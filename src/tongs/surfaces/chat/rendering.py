"""What happens in a conversation, as text for a terminal.

Everything a model, a tool or a stranger wrote is shown with its hidden characters written out, so
nothing but `paint` colours anything. Output of tools stands behind a bar, and so do lines of a
model that begin as ours do: none can pass for one of ours.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping

from tongs.agent.events import (
    AgentEvent,
    CallEnded,
    CallOutput,
    CallStarted,
    Ended,
    QuestionAnswered,
    Retrying,
    StepEnded,
    TextShown,
    ThinkingShown,
)
from tongs.core.annotations import Any, TypeAlias
from tongs.core.conversation import Conversation, Message, ModelSaid, ToolsAnswered, UserSaid
from tongs.output import unmistakable, visible
from tongs.surfaces.chat.tool_output import ToolOutput, short
from tongs.surfaces.cli.apart import Apart, apart

# A text in a colour, or as it is where no colours are wanted.
Paint: TypeAlias = Callable[[str, str], str]

# Of one call, while it runs and of its answer; the model is told more.
MOST_LINES = 12
# Of a conversation that goes on.
_MOST_RECALLED = 4
_BAR = "  | "
# Back to the beginning of the line, which is emptied.
_LINE_AGAIN = "\r\x1b[K"
# Seconds without anything to see, after which it is said what is waited for.
_QUIET = 2.0
STOPPED = "nothing of it runs any more"


def plain(text: str, color: str) -> str:
    """Paint without colours."""
    return text


class Rendering:
    """Turns events into text, one after the other. What it gives is to be written as it is.

    `most_lines` are those of a call's output; with 0 nothing of it is shown. `width` is that of a
    terminal: with it, the newest of many lines, or what is waited for, stands on a line that the
    next text takes the place of.
    """

    def __init__(
        self,
        paint: Paint = plain,
        *,
        thinking: bool = False,
        most_lines: int = MOST_LINES,
        width: Callable[[], int | None] = lambda: None,
        waits_for: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._paint = paint
        self._thinking = thinking
        self._most_lines = most_lines
        self._width = width
        self._waits_for = waits_for
        self._clock = clock
        # When something was shown last.
        self._since = clock()
        self._at_line_start = True
        self._words = Apart()
        # A line is there that the next text takes the place of.
        self._moves = False
        self._calls: dict[str, ToolOutput] = {}

    def show(self, event: AgentEvent) -> str:
        text = self._shown(event)
        if text:
            self._since = self._clock()
        return text

    def _shown(self, event: AgentEvent) -> str:
        match event:
            case TextShown(text):
                return self._said(text)
            case ThinkingShown(text) if self._thinking:
                return self._said(text, "dim")
            case StepEnded():
                return self.line_end()
            case CallStarted(made, _, tool, arguments):
                self._calls[made] = ToolOutput(tool, self._most_lines)
                return self._label("call", call_line(tool, arguments), "cyan")
            case CallOutput(made, stream, data):
                return self._output(made, stream, data)
            case QuestionAnswered():
                return self._answered(event)
            case CallEnded():
                return self._call_ended(event)
            case Retrying(kind, message, seconds):
                again = f"again in {seconds:.0f} s" if seconds >= 1 else "again at once"
                return self._label("waiting", f"{kind}: {short(message)}; {again}", "yellow")
            case Ended():
                return self.line_end() + self._end(event)
        return ""

    def begin(self) -> None:
        """Somebody waits from now on."""
        self._since = self._clock()

    def tick(self) -> str:
        """To be called now and then: says what is waited for, where nothing comes."""
        seconds = self._clock() - self._since
        running = ", ".join(dict.fromkeys(output.tool for output in self._calls.values()))
        if seconds < _QUIET or not self._at_line_start or not (running or self._waits_for):
            return ""
        if running:
            what = f"{_BAR}… {short(running)} runs, nothing new for"
        else:
            what = f"… waiting for {self._waits_for},"
        return self._moving(f"{what} {seconds:.0f} s (Ctrl-C stops it)")

    def line_end(self) -> str:
        """What is needed so that the next text begins on a line of its own."""
        if self._moves:
            self._moves = False
            return _LINE_AGAIN
        if self._at_line_start:
            return ""
        self._at_line_start = True
        return f"{visible(self._words.rest())}\n"

    def _said(self, text: str, color: str = "") -> str:
        if not text:
            return ""
        before = self.line_end() if self._moves else ""
        self._at_line_start = text.endswith("\n")
        shown = visible(self._words.shown(text))
        return before + (self._paint(shown, color) if color else shown)

    def _label(self, word: str, text: str, color: str) -> str:
        return f"{self.line_end()}{label(word, text, color, self._paint)}\n"

    def _output(self, made: str, stream: str, data: bytes) -> str:
        output = self._calls.get(made)
        if output is None or not self._most_lines:
            return ""
        lines = output.lines(stream, data)
        shown = self._barred(output, lines) if lines else ""
        if not output.behind:
            return shown
        return shown + self._moving(f"{_BAR}… {output.behind} more: {output.latest}")

    def _moving(self, line: str) -> str:
        """The line, where it can be taken back."""
        width = self._width()
        if width is None:
            return ""
        # One that is wrapped cannot be taken back, and some characters are two columns wide.
        most = width - 1 if line.replace("…", "").isascii() else width // 2
        before = self.line_end()
        self._moves = True
        return before + self._paint(line[:most], "dim")

    def _barred(self, output: ToolOutput, lines: list[str]) -> str:
        name = visible(output.tool) if len(self._calls) > 1 else ""
        bar = f"  {name} | " if name else _BAR
        return self.line_end() + "".join(f"{self._paint(bar, 'dim')}{line}\n" for line in lines)

    def _answered(self, event: QuestionAnswered) -> str:
        if not event.approved or event.arguments is None:
            return ""
        ran = call_line(event.tool, event.arguments)
        return self._label("edited", f"{ran} (the model is told)", "cyan")

    def _call_ended(self, event: CallEnded) -> str:
        output = self._calls.get(event.id) or ToolOutput(event.tool, self._most_lines)
        text = event.output or event.text
        rest = output.whole(text) if event.ok and not output.used else output.rest()
        shown = self._barred(output, rest) if rest and self._most_lines else ""
        self._calls.pop(event.id, None)
        for warning in event.warnings:
            shown += self._label("warning", warning, "yellow")
        if event.ok:
            return shown + self._label("done", f"{event.tool} ({event.seconds:.1f} s)", "green")
        word = "denied" if event.denied else "failed"
        first = event.text.strip().partition("\n")[0].removeprefix("error: ")
        first = first.removeprefix(f"{event.code}: ") if event.code else first
        name = "" if first.startswith(f"{event.tool} ") else f"{event.tool}: "
        return shown + self._label(word, short(f"{name}{first}"), "yellow")

    def _end(self, event: Ended) -> str:
        match event.outcome:
            case "failed":
                error = event.error
                said = f"{error.get('kind', '')}: {error.get('message', '')}".strip(": ")
                text = self._label("error", said, "red")
                hint = str(error.get("hint") or "")
                return text + (self._label("hint", hint, "cyan") if hint else "")
            case "step-limit":
                said = f"the model was not done after {event.steps} steps"
                hint = "say `go on`, or begin with --max-steps"
                return self._label("stopped", said, "yellow") + self._label("hint", hint, "cyan")
            case "stopped":
                return self._label("stopped", STOPPED, "yellow")
        return ""


def recap(conversation: Conversation, paint: Paint = plain, most: int = _MOST_RECALLED) -> str:
    """The last messages of a conversation that goes on, and how it stands."""
    messages = conversation.messages
    lines = []
    if len(messages) > most:
        lines.append(paint(f"… {len(messages) - most} earlier messages", "dim"))
    for message in messages[-most:]:
        lines += _recalled(message, paint)
    if messages and not _is_answered(messages[-1]):
        said = "the last answer did not come to its end; say `go on`, or anything else"
        lines.append(label("interrupted", said, "yellow", paint))
    return "".join(f"{line}\n" for line in lines)


def _is_answered(message: Message) -> bool:
    return isinstance(message, ModelSaid) and not message.calls


def _recalled(message: Message, paint: Paint) -> Iterator[str]:
    match message:
        case UserSaid(text):
            yield paint("> ", "green") + visible(text)
        case ModelSaid():
            if message.text:
                yield visible(apart(message.text))
            for call in message.calls:
                yield label("call", call_line(call.name, call.arguments or {}), "cyan", paint)
        case ToolsAnswered(answers):
            for answer in answers:
                first = answer.text.strip().partition("\n")[0]
                word, color = ("done", "green") if answer.ok else ("failed", "yellow")
                yield label(word, short(f"{answer.name}: {first}"), color, paint)


def label(word: str, text: str, color: str, paint: Paint) -> str:
    """`word: text`, the word in a colour; on one line, whatever the text is."""
    return f"{paint(f'{word}:', color)} {visible(' '.join(text.splitlines()))}"


def call_line(tool: str, arguments: Mapping[str, Any]) -> str:
    """`weather location="London" days=3`."""
    return f"{unmistakable(tool)} {arguments_line(arguments)}".rstrip()


def arguments_line(arguments: Mapping[str, Any]) -> str:
    """`location="London" days=3`, cut where it is long."""
    shown = (f"{name}={_as_json(value)}" for name, value in arguments.items())
    return short(" ".join(shown), safe=unmistakable)


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
