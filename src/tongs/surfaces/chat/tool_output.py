"""The output of a call, by lines: the first ones as they come, the last ones at its end."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator

from tongs.output import decoded, visible

_LONGEST_LINE = 200
# Of long output, how much is shown of its end: that is where a program says what went wrong.
_MOST_OF_END = 4


class ToolOutput:
    """Of at most so many lines. What it gives is safe to look at."""

    def __init__(self, tool: str, most_lines: int) -> None:
        self.tool = tool
        self.used = False
        # The newest line of which nothing was given yet, and how many such lines there are.
        self.latest = ""
        self.behind = 0
        of_end = min(_MOST_OF_END, most_lines // 3)
        self._first = most_lines - of_end
        self._last: deque[str] = deque(maxlen=of_end)
        self._partial = {"stdout": b"", "stderr": b""}

    def lines(self, stream: str, data: bytes) -> list[str]:
        """Those of the first lines that are whole by now."""
        self.used = True
        *whole, partial = (self._partial.get(stream, b"") + data).split(b"\n")
        # What is cut anyway need not be kept; a character takes four bytes at most.
        self._partial[stream] = partial[: 4 * _LONGEST_LINE + 4]
        return [line for each in whole for line in self._taken(decoded(each))]

    def rest(self) -> list[str]:
        """What no newline ended, how much was left out, and the end."""
        lines = [
            line for data in self._partial.values() if data for line in self._taken(decoded(data))
        ]
        if left_out := self.behind - len(self._last):
            lines.append(f"… {left_out} line{'' if left_out == 1 else 's'} left out")
        return [*lines, *self._last]

    def whole(self, text: str) -> list[str]:
        """A result of which nothing was seen while it came."""
        return [line for each in text.splitlines() for line in self._taken(each)] + self.rest()

    def _taken(self, line: str) -> Iterator[str]:
        shown = short(line, keep_blanks=True)
        if self._first:
            self._first -= 1
            yield shown
        else:
            self._last.append(shown)
            self.latest = shown
            self.behind += 1


def short(text: str, *, keep_blanks: bool = False, safe: Callable[[str], str] = visible) -> str:
    """On one line, safe to look at, and not too long."""
    # A tab is as wide as the terminal likes.
    line = text.replace("\t", "    ").rstrip() if keep_blanks else " ".join(text.split())
    line = safe(line[: 2 * _LONGEST_LINE])
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"
