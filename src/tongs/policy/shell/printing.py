"""What programs print, where their own words say it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tongs.policy.shell.state import UNKNOWN, Invocation

_ECHO_OPTIONS = re.compile(r"-[neE]+")
_SILENT = frozenset("true false : cd export set sleep mkdir test [".split())


def printed_by(invocation: Invocation) -> str | None:
    """What a program prints, where its words say it."""
    name, words = invocation.program, list(invocation.words[1:])
    if any(UNKNOWN in word for word in words):
        return None
    if name == "echo":
        newline, escapes = "\n", False
        while words and _ECHO_OPTIONS.fullmatch(words[0]):
            newline = "" if "n" in words[0] else newline
            escapes = "e" in words[0] or escapes
            words.pop(0)
        text = " ".join(words) + newline
        return None if escapes and "\\" in text else text
    if name == "printf" and words and words[0] != "-v":
        return formatted(words)
    if name == "cat" and all(word == "-" for word in words):
        # Nothing piped in means that it reads what the shell itself was given.
        return invocation.stdin or None
    if name in _SILENT:
        return ""
    return None


def formatted(words: Sequence[str]) -> str | None:
    """`printf` with `%s` and nothing else."""
    if words and words[0] == "--":
        words = words[1:]
    if not words:
        return None
    template, *values = words
    if template.count("%") != template.count("%s") or UNKNOWN in template:
        return None
    text = template.replace("\\n", "\n").replace("\\t", "\t")
    if "\\" in text:
        return None
    count = text.count("%s")
    if count == 0:
        return text
    while len(values) % count or not values:
        values.append("")
    rounds = [values[start : start + count] for start in range(0, len(values), count)]
    return "".join(_filled(text, part) for part in rounds)


def _filled(text: str, values: Sequence[str]) -> str:
    parts = text.split("%s")
    return "".join(a + b for a, b in zip(parts, [*values, ""], strict=True))
