"""The same command in bubblewrap, as somebody would write it who knows it well."""

from __future__ import annotations

import os
import shutil

from bench.world import PYTHON3

# Where distributions keep what a program loads; links into /usr on most of them.
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")


def bubblewrap() -> list[str] | None:
    """The words before a command that may only read the system; None where it is not installed."""
    program = shutil.which("bwrap")
    if program is None:
        return None
    words = [program, "--unshare-all", "--die-with-parent", "--clearenv"]
    words += ["--ro-bind", "/usr", "/usr"]
    for path in _SYSTEM:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        elif os.path.isdir(path):
            words += ["--ro-bind", path, path]
    prefix = os.path.dirname(os.path.dirname(os.path.realpath(PYTHON3)))
    if not f"{prefix}/".startswith("/usr/"):
        words += ["--ro-bind", prefix, prefix]
    return [*words, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/"]
