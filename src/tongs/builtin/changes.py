"""A change of a text, for a person or a model to read."""

from __future__ import annotations

from tongs.output import visible

_MOST_LINES = 200
_LONGEST_LINE = 400


def difference(before: str, after: str, path: str) -> str:
    """The changed lines with some around them; cut where there are too many."""
    from difflib import unified_diff  # noqa: PLC0415 - only where something is replaced

    old, new = before.splitlines(), after.splitlines()
    lines = [*unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm="", n=3)]
    shown = [_cut(line) for line in lines[:_MOST_LINES]]
    if len(lines) > _MOST_LINES:
        shown.append(f"… {len(lines) - _MOST_LINES} more lines")
    if not lines and before != after:
        shown.append("only line ends differ")
    removed = sum(line.startswith("-") for line in lines[2:])
    added = sum(line.startswith("+") for line in lines[2:])
    return "\n".join((f"- {removed} lines + {added} lines", *shown))


def _cut(line: str) -> str:
    text = visible(line)
    return text if len(text) <= _LONGEST_LINE else f"{text[:_LONGEST_LINE]}…"
