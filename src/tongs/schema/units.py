"""Sizes (`256MiB`) and durations (`1h30m`) as people write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from tongs.core.annotations import Any

_SIZE = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,9})?) *(?P<unit>[A-Za-z]*)\Z")
_PART = re.compile(r"(?P<number>[0-9]{1,15}(?:\.[0-9]{1,9})?)(?P<unit>ms|s|m|h|d)")
_BYTES = {
    "": 1,
    "b": 1,
    **{unit: 1000**n for n, unit in enumerate(("kb", "mb", "gb", "tb"), 1)},
    **{unit: 1024**n for n, unit in enumerate(("kib", "mib", "gib", "tib"), 1)},
    **{unit: 1024**n for n, unit in enumerate(("k", "m", "g", "t"), 1)},
}
_MOST = 2**62
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


def size(written: str | int | float) -> int:
    """Bytes. `256MiB`, `1GB`, `64k` (= KiB) or a plain number; ValueError for anything else."""
    if isinstance(written, float) and written.is_integer():
        written = int(written)  # 1e9 is an integer to JSON Schema
    if isinstance(written, int) and not isinstance(written, bool):
        if written < 0:
            raise ValueError(f"must not be negative, got {written}")
        return written
    match = _SIZE.match(written.strip()) if isinstance(written, str) else None
    factor = _BYTES.get(match["unit"].lower()) if match else None
    if match is None or factor is None:
        raise ValueError(f"must be a size such as 256MiB, 1GB or 1048576, got {_shown(written)}")
    number = match["number"]
    # Whole numbers are kept exact: a float holds 53 bits only.
    return int(float(number) * factor) if "." in number else int(number) * factor


def duration(written: str | int | float) -> float:
    """Seconds. `30s`, `500ms`, `1h30m`, or a plain number of seconds; ValueError for the rest."""
    if isinstance(written, int | float) and not isinstance(written, bool):
        if not 0 <= written < 1e12:
            raise ValueError(f"must be a duration, got {written}")
        return float(written)
    seconds = _sum(written.strip()) if isinstance(written, str) else None
    if seconds is None:
        raise ValueError(f"must be a duration such as 30s, 500ms or 1h30m, got {_shown(written)}")
    return seconds


def limits(written: Mapping[str, Any]) -> dict[str, int | float]:
    """A `limits:` block in bytes, seconds and counts; the schema has checked its keys."""
    readers: dict[str, Callable[[Any], int | float]] = {
        "cpu": _seconds,
        "processes": int,
        "open_files": int,
    }
    return {
        # What is larger than any machine bounds nothing, and the kernel could not even hold it.
        name: min(readers.get(name, size)(value), _MOST)
        for name, value in written.items()
        if value is not None
    }


def _seconds(written: str | int | float) -> float:
    return duration(written if isinstance(written, str) else min(written, 1e11))


def _sum(text: str) -> float | None:
    total, position = 0.0, 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            return None
        total += float(part["number"]) * _SECONDS[part["unit"]]
        position = part.end()
    return total if text else None


def _shown(written: object) -> str:
    return f'"{written}"' if isinstance(written, str) else str(written)
