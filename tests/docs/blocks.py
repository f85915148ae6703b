"""The code blocks of a Markdown document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Written from the program's own texts; tools/docs.py checks them.
GENERATED = {f"docs/reference/{name}.md" for name in ("built-in-tools", "cli", "lint")}

_FENCE = re.compile(r"^(?P<indent> *)```(?P<language>[a-z]*)$")


@dataclass(frozen=True)
class Block:
    language: str
    text: str
    line: int


@dataclass(frozen=True)
class Command:
    """One `$ …` of a console block, and what it prints."""

    text: str
    output: str
    line: int


def documents() -> list[Path]:
    """Every document written by hand."""
    top = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "examples/README.md")
    found = [ROOT / name for name in top] + sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in found if path.relative_to(ROOT).as_posix() not in GENERATED]


def blocks(path: Path) -> Iterator[Block]:
    """All fenced blocks in their order; an unclosed one is an error."""
    opened: tuple[str, str, int] | None = None
    lines: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        fence = _FENCE.match(line)
        if opened is None and fence:
            opened = (fence["language"], fence["indent"], number)
            lines = []
        elif opened is not None and line.strip() == "```":
            yield Block(opened[0], "\n".join(lines) + "\n", opened[2])
            opened = None
        elif opened is not None:
            lines.append(line.removeprefix(opened[1]))
    assert opened is None, f"{path}:{opened[2] if opened else 0}: the block is not closed"


def commands(block: Block) -> Iterator[Command]:
    """The commands of a console block; a line that ends in a backslash goes on in the next."""
    command: list[str] = []
    output: list[str] = []
    started = block.line + 1
    for number, line in enumerate(block.text.splitlines(), start=block.line + 1):
        if line.startswith("$ "):
            if command:
                yield Command("\n".join(command), "\n".join(output), started)
            command, output, started = [line[2:]], [], number
        elif command and not output and command[-1].endswith("\\"):
            command.append(line)
        else:
            assert command, f"line {number}: a console block starts with `$ `"
            output.append(line)
    if command:
        yield Command("\n".join(command), "\n".join(output), started)


def matches(expected: str, actual: str) -> bool:
    """Whether the output is the expected one; `...` stands for any text, also of several lines."""
    pattern = ".*".join(re.escape(part) for part in expected.strip("\n").split("..."))
    return re.fullmatch(pattern, actual.strip("\n"), re.DOTALL) is not None
