"""Check that no file of the repository names a package registry or a place on somebody's machine.

Where packages come from is configured on the machine that installs them; a path below somebody's
home works for nobody else. Looks at tracked files and at those that `git add --all` would track.
"""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Written with [.] so that this file does not match itself.
BANNED = {
    "the address of a package registry": re.compile(
        r"pypi[.]org|pythonhosted[.]org|pypi[.]python[.]org|npmjs[.](?:org|com)|anaconda[.]org"
        r"|crates[.]io|rubygems[.]org|jfrog[.]io",
        re.IGNORECASE,
    ),
    "a path of a machine": re.compile(
        r"(?<![\w.])/(?:root|home/[A-Za-z0-9_-]+|Users/[A-Za-z0-9_-]+)/"
    ),
}

# Text that looks like one of the above but is not, with the reason.
ALLOWED = {
    "/home/ada/": "a fictional person in examples and tests",
    "/home/alice/": "a fictional person in examples and tests",
    "/home/bob/": "a fictional person in examples and tests",
    "/home/me/": "a fictional person in examples and tests",
    "/home/user/": "a fictional person in examples and tests",
    "/home/you/": "a fictional person in examples and tests",
}


def files() -> list[Path]:
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    )
    paths = (ROOT / name for name in listing.stdout.split("\0") if name)
    return [path for path in paths if path.is_file()]  # not: deleted but still in the index


def findings(path: Path) -> Iterator[str]:
    # Undecodable bytes are kept as they are: a binary file may name a host as well.
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    for number, line in enumerate(lines, start=1):
        for what, pattern in BANNED.items():
            for match in pattern.finditer(line):
                if match[0] not in ALLOWED:
                    yield f"{path.relative_to(ROOT)}:{number}: {what}: {match[0]}"
        # Whatever host it is: a lock with addresses installs only where they can be reached.
        if path.name == "uv.lock" and "://" in line:
            yield f"{path.relative_to(ROOT)}:{number}: an address in the lock (hint: make lock)"
        if path.name == "package-lock.json" and '"resolved":' in line:
            yield f"{path.relative_to(ROOT)}:{number}: an address in the lock (see .npmrc)"


def main() -> int:
    found = [finding for path in files() for finding in findings(path)]
    for finding in found:
        print(f"error: {finding}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
