"""Write the generated documents, or check that they are up to date.

    python tools/docs.py            rewrite every generated document
    python tools/docs.py --check    exit 1 and name the documents that are out of date

A document is generated when it repeats something the program already knows (its help texts, its
schemas); a copy kept by hand would go stale. To add one, write a function that returns the text and
list it in GENERATORS.
"""

import sys
from collections.abc import Callable
from pathlib import Path

from docs_builtin import builtin_reference
from docs_cli import cli_reference
from docs_lint import lint_reference

ROOT = Path(__file__).resolve().parent.parent

# (path below the repository root, function that returns the whole text of that file)
GENERATORS: list[tuple[str, Callable[[], str]]] = [
    ("docs/reference/built-in-tools.md", builtin_reference),
    ("docs/reference/cli.md", cli_reference),
    ("docs/reference/lint.md", lint_reference),
]


def stale() -> dict[Path, str]:
    """The documents whose file differs from what its generator says now, with the new text."""
    texts = {ROOT / name: generate() for name, generate in GENERATORS}
    return {path: text for path, text in texts.items() if _read(path) != text}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    changed = stale()
    if arguments:
        for path in changed:
            print(f"error: {path.relative_to(ROOT)} is out of date", file=sys.stderr)
        if changed:
            print("hint: make docs", file=sys.stderr)
        return 1 if changed else 0
    for path, text in changed.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
