"""Keep uv.lock free of addresses, and let pip install from it.

    python tools/lock.py strip                       take the addresses out of uv.lock
    python tools/lock.py requirements [GROUP ...]    print a requirement file for pip, with hashes
    python tools/lock.py requirements --only GROUP   the same of this group alone

Where packages come from is the business of the machine (its pip configuration), not of this
repository; what they contain is ours, and the hashes pin that. uv reads a stripped lock (`uv lock`,
`uv tree --frozen`) but cannot install from it, because it wants an address for each file. pip can:
it finds a file by name, version and hash in whatever index it is configured for.

This runs on a bare Python, before anything is installed.
"""

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

LOCK = Path(__file__).resolve().parent.parent / "uv.lock"

# A registry that is a folder, with a `path` for each file: the one form uv reads without a host.
WHEELHOUSE = "wheelhouse"

Package = dict[str, Any]
Condition = frozenset[str]  # markers that must all hold
ALWAYS: Condition = frozenset()


def strip(text: str) -> str:
    """The same lock without the addresses of the registry and of its files."""
    text = re.sub(r'\bregistry = "[^"]*"', f'registry = "{WHEELHOUSE}"', text)
    return re.sub(r'\burl = "[^"]*/([^/"]+)"', r'path = "\1"', text)


def requirements(lock: dict[str, Any], groups: list[str], *, only: bool) -> Iterator[str]:
    """One requirement per package: version, marker under which it is needed, every hash."""
    packages: list[Package] = lock["package"]
    root = next(p for p in packages if "editable" in p["source"])
    wanted = [] if only else list(root.get("dependencies", []))
    for group in groups:
        wanted += root["dev-dependencies"][group]

    for index, conditions in sorted(_reach(packages, wanted).items()):
        package = packages[index]
        marker = "" if ALWAYS in conditions else f" ; {_marker(conditions)}"
        files = [*package.get("wheels", []), *([package["sdist"]] if "sdist" in package else [])]
        hashes = "".join(f" \\\n    --hash={file['hash']}" for file in files)
        yield f"{package['name']}=={package['version']}{marker}{hashes}"


def _reach(packages: list[Package], wanted: list[Package]) -> dict[int, set[Condition]]:
    """Index of each package that can be needed -> the alternatives under which it is.

    pip runs with --no-deps (the lock has decided already), so a marker on an edge must travel down
    the graph.
    """
    reached: dict[int, set[Condition]] = {}
    seen: set[tuple[int, str, Condition]] = set()
    todo = [(edge, ALWAYS) for edge in wanted]
    while todo:
        edge, inherited = todo.pop()
        condition = inherited | ({edge["marker"]} if "marker" in edge else ALWAYS)
        index = _find(packages, edge)
        for extra in ("", *edge.get("extra", [])):
            if (index, extra, condition) in seen:
                continue
            seen.add((index, extra, condition))
            reached.setdefault(index, set()).add(condition)
            package = packages[index]
            more = (
                package["optional-dependencies"][extra]
                if extra
                else package.get("dependencies", [])
            )
            todo += [(child, condition) for child in more]
    return reached


def _find(packages: list[Package], edge: Package) -> int:
    """The package an edge means; an edge names the version only where the lock holds several."""
    matches = (
        index
        for index, package in enumerate(packages)
        if package["name"] == edge["name"]
        and edge.get("version", package.get("version")) == package.get("version")
    )
    return next(matches)


def _marker(conditions: set[Condition]) -> str:
    alternatives = (" and ".join(f"({marker})" for marker in sorted(every)) for every in conditions)
    return " or ".join(f"({alternative})" for alternative in sorted(alternatives))


def main(arguments: list[str]) -> int:
    match arguments:
        case ["strip"]:
            LOCK.write_text(strip(LOCK.read_text(encoding="utf-8")), encoding="utf-8")
        case ["requirements", *groups]:
            only = groups[:1] == ["--only"]
            lock = tomllib.loads(LOCK.read_text(encoding="utf-8"))
            print("\n".join(requirements(lock, groups[only:], only=only)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
