"""The characters that mean something to the shell, and those that no script may hold."""

from __future__ import annotations

import re

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


def refuse_depth(depth: int) -> None:
    if depth > DEEPEST:
        raise Doubt("it is nested too deeply")
