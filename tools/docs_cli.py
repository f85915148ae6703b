"""`docs/reference/cli.md`, made from the help pages: what the command prints is what it says."""

from __future__ import annotations

from tongs.surfaces.cli import pages

_HEAD = """\
# The command line

<!-- Generated from src/tongs/surfaces/cli/help/ by `make docs`. -->

`tongs help` and `--help` print these pages. `tongs help find WORD` searches them.
"""


def cli_reference() -> str:
    """One section per help page, the index first."""
    sections = [_HEAD]
    for name in pages.names():
        text = pages.page(() if name == pages.INDEX else name.split("-")) or ""
        heading = f"tongs {pages.topic(name)}".rstrip()
        sections.append(f"## {heading}\n\n```text\n{text.rstrip()}\n```\n")
    return "\n".join(sections)
