"""What a docstring says of a function and of each parameter: Google, NumPy and reST style."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tongs.core.record import dataclass, field

# Headings after which the text is no longer about what the function does.
_PARAMETERS = ("args", "arguments", "parameters", "params", "keyword args", "other parameters")
_OTHERS = (
    *("returns", "return", "yields", "raises", "attributes", "examples", "example", "notes"),
    *("note", "see also", "references", "warnings", "warns", "todo"),
)
_FIELDS = ("attributes",)


@dataclass(frozen=True, slots=True)
class Docstring:
    """`about` is the text before the first section."""

    about: str = ""
    parameters: dict[str, str] = field(default_factory=dict)


def read(text: str | None) -> Docstring:
    """What is not understood is left out; a docstring is never wrong."""
    if not text:
        return Docstring()
    lines = _dedented(text)
    about: list[str] = []
    parameters: dict[str, str] = {}
    position = 0
    while position < len(lines):
        heading, size = _heading(lines, position)
        if heading:
            end = _end(lines, position + size)
            if heading in (*_PARAMETERS, *_FIELDS):
                parameters.update(_entries(lines[position + size : end], underlined=size == 2))
            position = end
        elif lines[position].startswith(":"):
            end = _end_of_field(lines, position)
            parameters.update(_rest_field(lines[position:end]))
            position = end
        else:
            about.append(lines[position])
            position += 1
    return Docstring(_paragraphs(about), parameters)


def _dedented(text: str) -> list[str]:
    lines = text.expandtabs().splitlines()
    margins = [len(line) - len(line.lstrip()) for line in lines[1:] if line.strip()]
    margin = min(margins, default=0)
    return [lines[0].strip(), *(line[margin:].rstrip() for line in lines[1:])]


def _heading(lines: Sequence[str], position: int) -> tuple[str, int]:
    """The section that starts here, and how many lines its heading has."""
    line = lines[position]
    if not line or line[0].isspace():
        return "", 0
    word = line.rstrip(":").strip().lower()
    if word not in (*_PARAMETERS, *_OTHERS):
        return "", 0
    below = lines[position + 1] if position + 1 < len(lines) else ""
    if below and set(below) == {"-"}:
        return word, 2
    # A sentence may consist of the one word, but then it is not followed by indented lines.
    return (word, 1) if line.endswith(":") else ("", 0)


def _end(lines: Sequence[str], position: int) -> int:
    """Where the next section starts."""
    while position < len(lines):
        if _heading(lines, position)[0] or lines[position].startswith(":"):
            break
        position += 1
    return position


def _entries(lines: Sequence[str], *, underlined: bool) -> dict[str, str]:
    """`name (type): text`, or under a line of dashes `name : type` with the text below."""
    lines = _indented(lines)
    margin = min((_indent(line) for line in lines if line), default=0)
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in lines:
        if line and _indent(line) == margin:
            head = line.strip()
            if underlined:
                names, first = head.partition(":")[0], ""
            else:
                match = re.match(r"(\*{0,2}\w+(?:, \*{0,2}\w+)*)\s*(?:\(.*?\))?\s*:\s*(.*)", head)
                names, first = (match[1], match[2]) if match else ("", head)
            if names:
                current = [first]
                found.update({name.strip().lstrip("*"): current for name in names.split(",")})
            else:
                current.append(first)
        else:
            current.append(line.strip())
    return {name: _joined(text) for name, text in found.items() if _joined(text)}


def _indented(lines: Sequence[str]) -> Sequence[str]:
    """Without what follows at the left edge, as `Returns: text`, if the entries are not there."""
    edges = [number for number, line in enumerate(lines) if line and not _indent(line)]
    first = next((number for number, line in enumerate(lines) if line), 0)
    return lines if not edges or edges[0] == first else lines[: edges[0]]


def _rest_field(lines: Sequence[str]) -> dict[str, str]:
    match = re.match(
        r":(?:param|parameter|arg|argument|key|keyword)\s+(?:[^:]*\s)?(\*{0,2}\w+):(.*)", lines[0]
    )
    if match is None:
        return {}
    text = _joined([match[2], *lines[1:]])
    return {match[1].lstrip("*"): text} if text else {}


def _end_of_field(lines: Sequence[str], position: int) -> int:
    position += 1
    while position < len(lines) and lines[position] and lines[position][0].isspace():
        position += 1
    return position


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


def _paragraphs(lines: Sequence[str]) -> str:
    """The lines of a paragraph joined, lists and code left as they are."""
    text: list[str] = []
    for line in lines:
        plain = line and not line[0].isspace() and not line.startswith(("-", "*", ">"))
        if plain and text and text[-1] and not text[-1].startswith((" ", "-", "*", ">")):
            text[-1] += f" {line}"
        else:
            text.append(line)
    return "\n".join(text).strip()
