"""The help pages: one text file per command and topic, read by path."""

from __future__ import annotations

import os
from collections.abc import Sequence

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "help")
INDEX = "tongs"


def page(words: Sequence[str]) -> str | None:
    """The page of a command or topic; the index for no words; None where there is none."""
    name = "-".join(words) or INDEX
    return _read(name) if name in names() else None


def names() -> list[str]:
    """Every page, the index first."""
    stems = sorted(entry[:-4] for entry in os.listdir(FOLDER) if entry.endswith(".txt"))
    return sorted(stems, key=lambda stem: stem != INDEX)


def topic(name: str) -> str:
    """What a person types after `tongs help` to read this page."""
    return "" if name == INDEX else name.replace("-", " ")


def _read(name: str) -> str:
    with open(os.path.join(FOLDER, f"{name}.txt"), encoding="utf-8") as file:
        return file.read()
