"""Check that each of the two doors is open on one side only.

`src/tongs/sandbox` may start processes but not read the environment; `src/tongs/config` may read
the environment but not start processes. A per-file ignore in pyproject.toml can only lift TID251 as
a whole, so this runs ruff once more for each folder, with the bans that still hold there.
"""

import json
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOORS = ("tongs.sandbox", "tongs.config")


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    banned = project["tool"]["ruff"]["lint"]["flake8-tidy-imports"]["banned-api"]
    failed = False
    for door in DOORS:
        # The message of a ban names the one door that is open for it.
        still = {api: ban["msg"] for api, ban in banned.items() if door not in ban["msg"]}
        failed |= not _passes(ROOT / "src" / door.replace(".", "/"), still)
    return 1 if failed else 0


def _passes(folder: Path, banned: dict[str, str]) -> bool:
    table = ", ".join(f"{json.dumps(api)}.msg = {json.dumps(msg)}" for api, msg in banned.items())
    ruff = str(Path(sys.executable).with_name("ruff"))
    command = [
        *(ruff, "check", "--quiet", "--isolated", "--select", "TID251"),
        *("--config", f"lint.flake8-tidy-imports.banned-api = {{{table}}}"),
        str(folder),
    ]
    return subprocess.run(command, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
