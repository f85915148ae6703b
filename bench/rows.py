"""One line of the table: what was measured, against what, and whether the target is met."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Row:
    """`value` and `target` have the same unit; less is better unless `more` says otherwise."""

    section: str
    name: str
    value: float | None
    unit: str = "x"
    target: float | None = None
    stretch: float | None = None
    more: bool = False
    # Instructions of the Tongs process, as a multiple of the baseline's.
    instructions: float | None = None
    note: str = ""

    @property
    def met(self) -> bool | None:
        if self.target is None or self.value is None:
            return None
        return self.value >= self.target if self.more else self.value <= self.target


def as_markdown(rows: Sequence[Row]) -> str:
    header = ("measured", "value", "instructions", "target", "stretch", "met", "note")
    lines = []
    for section in dict.fromkeys(row.section for row in rows):
        cells = [header, *(_cells(row) for row in rows if row.section == section)]
        sizes = [max(len(line[column]) for line in cells) for column in range(len(header))]
        lines += [
            "",
            f"## {section}",
            "",
            _line(header, sizes),
            _line(["-" * n for n in sizes], sizes),
        ]
        lines += [_line(line, sizes) for line in cells[1:]]
    return "\n".join(lines[1:]) + "\n"


def as_json(rows: Sequence[Row]) -> str:
    data: list[dict[str, Any]] = [{**asdict(row), "met": row.met} for row in rows]
    return json.dumps(data, indent=1) + "\n"


def _cells(row: Row) -> tuple[str, ...]:
    met = {None: "", True: "yes", False: "NO"}[row.met]
    bound = "≥" if row.more else "≤"
    return (
        row.name,
        "not measured" if row.value is None else _number(row.value, row.unit),
        "" if row.instructions is None else _number(row.instructions, "x"),
        "" if row.target is None else f"{bound} {_number(row.target, row.unit, exact=True)}",
        "" if row.stretch is None else _number(row.stretch, row.unit, exact=True),
        met,
        row.note,
    )


def _number(value: float, unit: str, *, exact: bool = False) -> str:
    text = f"{value:g}" if exact else f"{value:.1f}" if value >= 20 else f"{value:.2f}"
    return f"{text}{unit}" if unit == "x" else f"{text} {unit}"


def _line(cells: Sequence[str], sizes: Sequence[int]) -> str:
    return "| " + " | ".join(c.ljust(size) for c, size in zip(cells, sizes, strict=True)) + " |"
