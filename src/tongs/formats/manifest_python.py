"""What lies around the interpreter of a virtual environment, so that a confined tool can use it.

The environment is not pinned with the tool, and somebody may have put links into it. So nothing is
taken as it is named: a folder counts only if it looks like what it is said to be, and of that only
the parts which an interpreter reads.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from tongs.core.permissions import SYSTEM_FOLDERS, covered

# Of an environment or an installation. Not the rest: what lies beside ~/.local/bin is private.
_PARTS = ("bin", "lib", "lib64", "pyvenv.cfg")
_MOST_LINKS = 40


def python_of(venv: str) -> str:
    return os.path.join(venv, "bin", "python")


def around(venv: str) -> tuple[str, ...]:
    """The paths that the interpreter of this environment needs, and the links that lead to them.

    `venv` has no link in it. Empty where it is no environment, which starting it will tell.
    """
    config = os.path.join(venv, "pyvenv.cfg")
    if not os.path.isfile(config) and not _is_installation(venv):
        return ()
    python = python_of(venv)
    found = dict.fromkeys((*_parts(venv), python, *_links(python)))
    folders = [os.path.dirname(os.path.realpath(python))]
    # Where its links end, and what it says of itself, which need not be the same.
    if home := _home(config):
        found.update(dict.fromkeys(_links(home)))
        folders.append(os.path.realpath(home))
    for folder in folders:
        above = os.path.dirname(folder)
        if os.path.basename(folder) == "bin" and _is_installation(above):
            found.update(dict.fromkeys(_parts(above)))
    return tuple(path for path in found if not _is_system(path))


def _parts(folder: str) -> Iterator[str]:
    for name in _PARTS:
        path = os.path.join(folder, name)
        # `lib64` is often a link to `lib`, and belongs to it.
        if os.path.lexists(path):
            yield path


def _is_installation(folder: str) -> bool:
    """Whether a standard library lies there."""
    try:
        names = os.listdir(os.path.join(folder, "lib"))
    except OSError:
        return False
    return any(
        name.startswith("python3") and os.path.isfile(os.path.join(folder, "lib", name, "os.py"))
        for name in names
    )


def _home(config: str) -> str:
    """The folder of programs with which an environment was made."""
    try:
        with open(config, encoding="utf-8", errors="surrogateescape") as file:
            lines = file.read(16 * 1024).splitlines()
    except OSError:
        return ""
    for line in lines:
        key, _, value = line.partition("=")
        if key.strip() == "home" and os.path.isabs(value.strip()):
            return os.path.normpath(value.strip())
    return ""


def _links(path: str) -> Iterator[str]:
    """Every link on the way to where a path leads, each by a path without another one in it."""
    pending = [path]
    for _ in range(_MOST_LINKS):
        if not pending:
            return
        here = "/"
        names = pending.pop().strip("/").split("/")
        for count, name in enumerate(names, 1):
            here = os.path.normpath(os.path.join(here, name))
            if os.path.islink(here):
                yield here
                target = os.path.join(os.path.dirname(here), os.readlink(here), *names[count:])
                pending.append(os.path.normpath(target))
                break


def _is_system(path: str) -> bool:
    return covered(path, SYSTEM_FOLDERS)
