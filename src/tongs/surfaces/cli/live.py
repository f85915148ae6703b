"""Output while the tool still runs, and how far a tool of several steps has come."""

from __future__ import annotations

import codecs
import os
import time

from tongs.core.annotations import TextIO
from tongs.core.execution import STDOUT, Event, OutputArrived, StepEnded, StepStarted
from tongs.output import visible
from tongs.surfaces.cli.console import Console, OutputLost


class Live:
    """Observes one call. stdout gets what will be the result, whole and byte for byte; a terminal
    gets it with hidden characters written out."""

    def __init__(self, console: Console, *, stream: bool, every_step: bool) -> None:
        self.streaming = stream
        # Output of the steps before the last is no result; `-v` shows it on stderr.
        self._every_step = every_step
        self._out = _Destination(console.out, console.out_is_terminal)
        self._err = _Destination(console.err, console.err_is_terminal)
        self._steps: list[StepStarted] = []
        self._progress = _Progress(self._out, self._err) if console.err_is_terminal else None

    @property
    def wrote_result(self) -> bool:
        return self._out.used

    def __call__(self, event: Event) -> None:
        match event:
            case OutputArrived(stream, data):
                self._output(stream, data)
            case StepStarted():
                self._steps.append(event)
                if self._progress:
                    self._progress.begin(event)
            case StepEnded():
                self._steps.pop()
                if self._progress:
                    self._progress.end(event)

    def pause(self) -> None:
        """Somebody else needs the terminal, to ask or to say how it ended."""
        if self._progress:
            self._progress.stop()
        self._out.finish_line()
        self._err.finish_line()

    def resume(self) -> None:
        if self._progress:
            self._progress.go_on()

    def _output(self, stream: int, data: bytes) -> None:
        if not self.streaming:
            return
        if stream != STDOUT:
            destination = self._err
        elif all(step.number == step.total for step in self._steps):
            destination = self._out
        elif self._every_step:
            destination = self._err
        else:
            return
        if self._progress:
            self._progress.clear()
        destination.write(data)


class _Destination:
    """One stream, and where its cursor stands if it is a terminal."""

    def __init__(self, stream: TextIO, is_terminal: bool) -> None:
        self.stream = stream
        self.used = False
        self.at_line_start = True
        self._decode = codecs.getincrementaldecoder("utf-8")("replace") if is_terminal else None

    def write(self, data: bytes) -> None:
        self.used = True
        try:
            if self._decode is None:
                self.stream.flush()
                self.stream.buffer.write(data)
            else:
                self._show(self._decode.decode(data))
            self.stream.flush()
        except OSError as error:
            raise OutputLost(error) from None

    def finish_line(self) -> None:
        """On a terminal, what follows begins on a line of its own."""
        if self._decode is None:
            return
        self._show(self._decode.decode(b"", final=True))
        if not self.at_line_start:
            self._show("\n")
        self.stream.flush()

    def _show(self, text: str) -> None:
        if text:
            self.stream.write(visible(text.replace("\r\n", "\n")))
            self.at_line_start = text.endswith("\n")


class _Progress:
    """One line on the terminal, redrawn every second: `step 2 of 3  fetch  4s`."""

    def __init__(self, out: _Destination, err: _Destination) -> None:
        self._streams = (out, err)
        self._descriptor = err.stream.fileno()
        # Each step with the time it began; the last is the one that runs.
        self._steps: list[tuple[StepStarted, float]] = []
        self._drawn = False

    def begin(self, step: StepStarted) -> None:
        self._steps.append((step, time.monotonic()))
        self._draw()
        self.go_on()

    def end(self, step: StepEnded) -> None:
        if len(self._steps) == 1:
            self.stop()
        self._steps.pop()
        self.clear()
        if step.total > 1:
            failed = f"  exit code {step.exit_code}" if step.exit_code else ""
            self._write(f"{self._fresh_line()}{_line(step, f'{step.duration:.1f}s')}{failed}\n")

    def clear(self) -> None:
        if self._drawn:
            self._write("\r\x1b[K")
            self._drawn = False

    def go_on(self) -> None:
        if any(step.total > 1 for step, _ in self._steps):
            self._tick(1.0)

    def stop(self) -> None:
        if self._steps:
            self._tick(0.0)
        self.clear()

    def _draw(self) -> None:
        """Never over a line that the tool has begun and not ended."""
        if not self._steps or self._fresh_line():
            return
        step, since = self._steps[-1]
        if step.total > 1:
            self._write(f"\r\x1b[K{_line(step, f'{time.monotonic() - since:.0f}s')}")
            self._drawn = True

    def _fresh_line(self) -> str:
        """What it takes to be at the start of a line."""
        return "" if all(stream.at_line_start for stream in self._streams) else "\n"

    def _tick(self, seconds: float) -> None:
        import signal  # noqa: PLC0415 - its enums cost a start, and few calls show progress

        # A timer instead of a thread: the handler runs between two steps of the waiting loop. It
        # stays when the timer stops, since a last signal may be on its way.
        signal.signal(signal.SIGALRM, lambda *_: self._draw())
        signal.setitimer(signal.ITIMER_REAL, seconds, seconds)

    def _write(self, text: str) -> None:
        # Past the buffered stream: a timer may come while that one is being written to.
        os.write(self._descriptor, text.encode())


def _line(step: StepStarted | StepEnded, elapsed: str) -> str:
    return f"step {step.number} of {step.total}  {visible(step.name)}  {elapsed}"
