"""Where a reader stands in a script, and the characters that mean something to the shell."""

from __future__ import annotations

import re

from tongs.core.annotations import NoReturn
from tongs.policy.shell.tree import Doubt

BLANKS = re.compile(r"(?:[ \t]|\\\n)+")
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
PLAIN = re.compile(r"[^ \t\n|&;()<>'\"\\$`]+")
ENDS_WORD = frozenset(" \t\n|&;()<>")
# The grammar and the shell read these differently, and no person types them.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
LONGEST = 256 * 1024
DEEPEST = 40


def refuse_hidden(text: str) -> None:
    """Raise Doubt for what no reader should have to guess about."""
    if len(text) > LONGEST:
        raise Doubt("it is too long to be read")
    if found := _CONTROL.search(text):
        raise Doubt(f"it contains the control character U+{ord(found[0]):04X}")


class Cursor:
    def __init__(self, text: str, depth: int = 0) -> None:
        if depth > DEEPEST:
            raise Doubt("it is nested too deeply")
        self.text = text
        self.pos = 0
        self.depth = depth

    def peek(self, ahead: int = 0) -> str:
        at = self.pos + ahead
        return self.text[at] if at < len(self.text) else ""

    def starts(self, text: str) -> bool:
        return self.text.startswith(text, self.pos)

    def skip(self, pattern: re.Pattern[str]) -> str:
        match = pattern.match(self.text, self.pos)
        if match is None:
            return ""
        self.pos = match.end()
        return match[0]

    def doubt(self, message: str) -> NoReturn:
        line = self.text.count("\n", 0, self.pos) + 1
        raise Doubt(f"{message} (line {line})" if "\n" in self.text.strip() else message)
