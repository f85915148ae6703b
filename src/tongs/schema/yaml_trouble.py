"""Why libyaml refused a file, in words its author can act on."""

from __future__ import annotations

import re

from tongs.core.annotations import Any
from tongs.core.record import dataclass

_ENTRY = re.compile(r"(?P<indent>[ ]*(?:- +)*)(?P<key>[\w.-]+): +(?P<text>\S.*)\Z")
# Keys whose text is a program, which is full of characters that mean something to YAML.
_PROGRAM_KEYS = frozenset(
    {"run", "cmd", "bash", "pwsh", "python", "script", "input", "description"}
)


@dataclass(frozen=True, slots=True)
class Trouble:
    """`repaired` is the text with this one line made harmless, to look for further trouble."""

    line: int
    message: str
    hint: str = ""
    repaired: str | None = None


def explain(error: Any, text: str) -> Trouble:
    """What a YAMLError raised while reading `text` means."""
    mark = getattr(error, "problem_mark", None)
    if mark is None:
        return _forbidden_character(error, text)
    problem = error.problem or "this is not YAML"
    rows = text.split("\n")
    line = min(mark.line, len(rows) - 1)
    row = rows[line].rstrip("\r")
    if "mapping values are not allowed" in problem:
        return _colon(rows, line)
    if "\t" in row[: len(row) - len(row.lstrip())]:
        return Trouble(line + 1, "a tab in the indentation", "indent with blanks")
    context = getattr(error, "context_mark", None)
    start = line if context is None else min(context.line, line)
    for number in (line, start):
        entry = _entry(rows[number])
        if entry is not None and entry["key"] in _PROGRAM_KEYS:
            message = f"{problem} (in the text of `{entry['key']}`)"
            return Trouble(number + 1, message, _as_block(entry), _quoted(rows, number, entry))
    if "escape code" in problem:
        return Trouble(line + 1, problem, "write the character itself; the file is UTF-8")
    # An open bracket or quote is mended where it opens, not at the end of the file.
    opened = str(error.context).startswith(("while parsing a flow", "while scanning a quoted"))
    return Trouble((start if opened else line) + 1, problem)


def _entry(row: str) -> re.Match[str] | None:
    entry = _ENTRY.match(row.rstrip("\r"))
    return None if entry is None or entry["text"][0] in "|>" else entry


def _colon(rows: list[str], line: int) -> Trouble:
    entry = _entry(rows[line])
    if entry is None:
        return Trouble(
            line + 1,
            "a `: ` makes a key, and a key is not allowed here",
            "check the indentation; a text that contains `: ` needs quotes or a block (`|`)",
        )
    return Trouble(
        line + 1,
        f"the text of `{entry['key']}` contains `: `, which YAML reads as another key",
        _as_block(entry),
        _quoted(rows, line, entry),
    )


def _as_block(entry: re.Match[str]) -> str:
    indent, key = entry["indent"], entry["key"]
    text_indent = " " * (len(indent) + 2)
    return f"write it as a block:\n{indent}{key}: |\n{text_indent}{entry['text'].rstrip()}"


def _quoted(rows: list[str], line: int, entry: re.Match[str]) -> str:
    text = entry["text"].replace("'", "''")
    row = f"{entry['indent']}{entry['key']}: '{text}'"
    return "\n".join([*rows[:line], row, *rows[line + 1 :]])


def _forbidden_character(error: Any, text: str) -> Trouble:
    """libyaml tells where such a character stands only by its position in the bytes."""
    character = error.character
    code = character if isinstance(character, int) else ord(character[:1] or "\0")
    line = text.encode().count(b"\n", 0, error.position) + 1
    message = f"character U+{code:04X} is not allowed"
    return Trouble(line, message, 'write it as an escape in "quotes"')
