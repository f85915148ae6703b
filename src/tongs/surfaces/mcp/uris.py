"""`tongs://output/HANDLE`: kept output as a resource; `?offset=N` goes on where a page ended."""

from __future__ import annotations

import re

_OUTPUT = "tongs://output/"
_URI = re.compile(r"tongs://output/([A-Za-z0-9_.-]{1,100})(?:\?offset=([0-9]{1,15}))?")

TEMPLATE = "tongs://output/{handle}{?offset}"


def output_uri(handle: str, offset: int = 0) -> str:
    return f"{_OUTPUT}{handle}?offset={offset}" if offset else f"{_OUTPUT}{handle}"


def parsed(uri: str) -> tuple[str, int] | None:
    """Handle and offset; None for anything else."""
    found = _URI.fullmatch(uri)
    return None if found is None else (found[1], int(found[2] or 0))
