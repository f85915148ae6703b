"""Build the compiled fork server of the sandbox, where there is a C compiler.

    python tools/native.py [--strict]

The build back end runs this as a hook, so that `pip install` does it. Without a compiler the
package is as good, and its calls slower: the fork server is then the one in Python. `--strict`, for
`make check`, takes every warning for an error.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parents[1]
SANDBOX = ROOT / "src" / "tongs" / "sandbox"
FOLDER = SANDBOX / "native"

# A program that is static starts and forks in half the time. Where the C library cannot be linked
# so, an ordinary one will do.
KINDS = (["-static-pie", "-fPIE"], ["-pie", "-fPIE"])
FLAGS = ["-std=c11", "-O2", "-fstack-protector-strong", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]
FLAGS += ["-Wl,-z,relro,-z,now"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Werror"]


def program() -> Path:
    """What it is called; the number in it is that of the protocol."""
    text = (SANDBOX / "compiled.py").read_text(encoding="utf-8")
    found = re.search(r"^PROTOCOL = (\d+)$", text, re.MULTILINE)
    assert found is not None
    return FOLDER / f"tongs-forkserver-{found[1]}"


def digest() -> str:
    """Of all sources; the program carries it, so that a stale one can be told."""
    total = hashlib.sha256()
    for path in sorted(FOLDER.glob("*.[ch]")):
        total.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def build(*, strict: bool = False) -> str:
    """Compile; what went wrong, or nothing."""
    target = program()
    sources = [str(path) for path in sorted(FOLDER.glob("*.c"))]
    compiler = shlex.split(os.environ.get("CC", "cc"))
    problem = ""
    for kind in KINDS:
        made = target.with_name(target.name + f".{os.getpid()}")
        words = [*compiler, *FLAGS, *(WARNINGS if strict else ()), *kind]
        words += [f'-DSOURCES="{digest()}"', "-o", str(made), *sources]
        try:
            done = subprocess.run(words, capture_output=True, text=True, check=False)
        except OSError as error:
            return f"{compiler[0]}: {error.strerror}"
        if done.returncode == 0:
            made.chmod(0o755)
            made.replace(target)
            return ""
        problem = problem or done.stderr or f"{compiler[0]} ended with {done.returncode}"
    return problem


class NativeHook(BuildHookInterface[Any]):
    """Puts the program into the wheel, which then fits one kind of machine only."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel" or sys.platform != "linux":
            return
        if problem := build():
            self.app.display_warning(f"the compiled fork server was not built: {problem.strip()}")
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_')}"
        build_data["artifacts"].append(str(program().relative_to(ROOT)))


def main() -> int:
    problem = build(strict="--strict" in sys.argv[1:])
    if problem:
        print(f"error: the fork server cannot be built: {problem.strip()}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
