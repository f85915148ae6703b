"""Text in columns, with wide and combining characters counted as a terminal shows them."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from collections.abc import Sequence

_GAP = "  "
_CUT = "…"


def width(text: str) -> int:
    """Columns the text takes on a terminal."""
    if text.isascii():
        return len(text)
    from unicodedata import category, east_asian_width

    columns = 0
    for character in text:
        if category(character) in ("Mn", "Me", "Cf"):
            continue
        columns += 2 if east_asian_width(character) in "WF" else 1
    return columns


def shortened(text: str, columns: int) -> str:
    """The text, cut with an ellipsis where it is wider than `columns`."""
    if width(text) <= columns:
        return text
    kept = ""
    for character in text:
        if width(kept) + width(character) > columns - 1:
            break
        kept += character
    return kept.rstrip() + _CUT


def one_line(text: str) -> str:
    """Any text as one line: runs of blanks and newlines become one blank."""
    return " ".join(text.split())


def table(
    header: Sequence[str], rows: Sequence[Sequence[str]], columns: int | None = None
) -> list[str]:
    """Aligned lines, header first. Only the last column is cut, to fit `columns`."""
    sizes = [max(map(width, column)) for column in zip(header, *rows, strict=True)][:-1]
    lines = []
    for row in (header, *rows):
        line = "".join(map(_padded, row, sizes))
        last = row[-1]
        if columns is not None:
            last = shortened(last, max(columns - width(line), 8))
        lines.append((line + last).rstrip())
    return lines


def _padded(cell: str, size: int) -> str:
    if cell.isascii():
        return cell.ljust(size) + _GAP
    return cell + " " * (size - width(cell)) + _GAP
