"""The two streams a person reads, and whether they are terminals."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

import os
import sys

from tongs.core.annotations import TextIO

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}


class OutputLost(BaseException):
    """Nothing more can be written: stop everything.

    Not an Exception: no handler of failures on the way out may mistake it for a tool's. A reader
    who has closed the pipe (`reason` is empty) wants no more; a full disk has to be said.
    """

    def __init__(self, error: OSError) -> None:
        super().__init__(error)
        self.reason = "" if isinstance(error, BrokenPipeError) else str(error.strerror)


class Console:
    """Data goes to stdout, everything else to stderr.

    What a stranger wrote never reaches a terminal raw: `data` and `say` neutralise it there.
    """

    def __init__(self, color: str = "auto") -> None:
        self.out: TextIO = sys.stdout
        self.err: TextIO = sys.stderr
        self.out_is_terminal = _is_terminal(self.out)
        self.err_is_terminal = _is_terminal(self.err)
        self._color = color

    def data(self, text: str) -> None:
        """Write to stdout exactly this text; on a terminal with hidden characters written out."""
        self._write(self.out, _seen(text) if self.out_is_terminal else text)

    def styled(self, text: str, stream: TextIO | None = None) -> None:
        """Write text that carries our own colours and has been neutralised before; to stdout."""
        self._write(stream or self.out, text)

    def say(self, text: str = "") -> None:
        """One or more lines to stderr."""
        self.talk(f"{text}\n")

    def talk(self, text: str) -> None:
        """To stderr as it comes, with no newline of ours."""
        self._write(self.err, _seen(text) if self.err_is_terminal else text)

    def label(self, label: str, text: str, color: str = "") -> None:
        """`label: text` on stderr, the label coloured where colour is wanted."""
        shown = _seen(text) if self.err_is_terminal else text
        self._write(self.err, f"{self.paint(f'{label}:', color, self.err)} {shown}\n")

    def warn(self, text: str) -> None:
        self.label("warning", text, "yellow")

    def hint(self, text: str) -> None:
        self.label("hint", text, "cyan")

    def paint(self, text: str, color: str, stream: TextIO | None = None) -> str:
        """The text in colour, or as it is where colour is not wanted."""
        if not color or not text or not self._colored(stream or self.out):
            return text
        return f"\x1b[{_CODES[color]}m{text}\x1b[0m"

    def width(self, stream: TextIO | None = None) -> int | None:
        """Columns of the terminal on a stream, which is stdout; None where there is none."""
        stream = stream or self.out
        if not (self.out_is_terminal if stream is self.out else self.err_is_terminal):
            return None
        try:
            return os.get_terminal_size(stream.fileno()).columns or None
        except OSError:
            return None

    def flush(self) -> None:
        try:
            self.out.flush()
            self.err.flush()
        except OSError as error:
            raise OutputLost(error) from None

    def leave_terminal_that_hung_up(self) -> None:
        """What is written there from now on leads nowhere, and is no error."""
        was_one = ((self.out, self.out_is_terminal), (self.err, self.err_is_terminal))
        for stream, was_terminal in was_one:
            if was_terminal and not _is_terminal(stream):
                _lead_nowhere(stream)

    def _colored(self, stream: TextIO) -> bool:
        if self._color != "auto":
            return self._color == "always"
        terminal = self.out_is_terminal if stream is self.out else self.err_is_terminal
        if not terminal:
            return False
        from tongs.config.terminal import wants_color

        return wants_color()

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except OSError as error:
            raise OutputLost(error) from None


def prepare_streams() -> None:
    """Let text carry any bytes: what came in undecodable goes out as the same bytes.

    A stream that was closed by whoever started us becomes one that leads nowhere.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = open(os.devnull, mode, encoding="utf-8")  # noqa: SIM115 - lives as long as we do
            setattr(sys, name, nowhere)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is None:
            continue
        try:
            reconfigure(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise OutputLost(error) from None


def abandon_streams() -> None:
    """After the reader has gone: nothing more is written, not even by the interpreter's exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            _lead_nowhere(stream)


def _lead_nowhere(stream: TextIO) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def _is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:
        return False


def _seen(text: str) -> str:
    # Not `isprintable` alone: it accepts fillers and variation selectors that no eye sees.
    if text.isascii() and text.isprintable():
        return text
    from tongs.output import visible

    return visible(text)
