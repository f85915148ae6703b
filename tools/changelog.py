"""Collect the fragments of changelog.d/ into CHANGELOG.md.

python tools/changelog.py            add a section for the current version, delete the fragments
python tools/changelog.py --check    only check the names and texts of the fragments
"""

import datetime
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHANGELOG = ROOT / "CHANGELOG.md"
FRAGMENTS = ROOT / "changelog.d"
KINDS = ("security", "added", "changed", "fixed")  # in the order a person who upgrades should read
NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9_-]*\.({'|'.join(KINDS)})\.md")


def fragments() -> list[Path]:
    return sorted(path for path in FRAGMENTS.iterdir() if path.name != "README.md")


def problem(fragment: Path) -> str | None:
    """What is wrong with a fragment, or None."""
    if not NAME.fullmatch(fragment.name):
        return f"the name is not <issue-or-slug>.<{'|'.join(KINDS)}>.md"
    return None if fragment.read_text(encoding="utf-8").strip() else "the text is empty"


def section(title: str, found: list[Path]) -> str:
    """The Markdown of one release."""
    lines = [f"## {title}\n"]
    for kind in KINDS:
        texts = [path.read_text(encoding="utf-8") for path in found if f".{kind}." in path.name]
        if texts:
            lines.append(f"### {kind.capitalize()}\n")
            # Continuation lines are indented, so that a second paragraph stays in its item.
            lines += ["- " + text.strip().replace("\n", "\n  ") for text in texts]
            lines.append("")
    return "\n".join(lines)


def release(found: list[Path]) -> None:
    version_file = (ROOT / "src/tongs/_version.py").read_text(encoding="utf-8")
    version = re.findall(r'__version__ = "(.+)"', version_file)[0]
    title = f"{version} ({datetime.datetime.now(datetime.UTC).date()})"
    head, mark, older = CHANGELOG.read_text(encoding="utf-8").partition("\n## ")
    text = f"{head.rstrip()}\n\n{section(title, found)}{mark}{older}"
    CHANGELOG.write_text(text.rstrip() + "\n", encoding="utf-8")
    for fragment in found:
        fragment.unlink()


def main(arguments: list[str]) -> int:
    if arguments not in ([], ["--check"]):
        print(__doc__, file=sys.stderr)
        return 2
    found = fragments()
    problems = {path: text for path in found if (text := problem(path))}
    for path, text in problems.items():
        print(f"error: {path.relative_to(ROOT)}: {text}", file=sys.stderr)
    if problems:
        return 1
    if not arguments and found:
        release(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
