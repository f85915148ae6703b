"""Where a program is installed: what it has to read to start at all."""

from __future__ import annotations

import os.path

from tongs.authoring.mcp_clients.machine import Machine

# Every program may read these.
_SYSTEM = tuple(f"/{name}/" for name in "usr bin sbin lib lib32 lib64 opt nix/store gnu".split())
# Files that stand at the top of what was made as one thing.
_TOPS = "package.json pyproject.toml setup.py go.mod Cargo.toml Gemfile composer.json".split()
_MODULES = "/node_modules/"


def installed(path: str, machine: Machine) -> list[str]:
    """The folders of a program or script, where they are not the system's own; absolute."""
    found: dict[str, None] = {}
    for each in (path, machine.real(path)):
        root = _root(each, machine)
        found[root] = None
        # The interpreter of an environment is a link to the one that it was made with.
        if machine.is_file(os.path.join(root, "pyvenv.cfg")):
            python = machine.real(os.path.join(root, "bin", "python"))
            found[os.path.dirname(os.path.dirname(python))] = None
    roots = [root for root in found if not _is_system(root) and not machine.too_broad(root)]
    return [root for root in roots if not any(_inside(root, other) for other in roots)]


def _root(path: str, machine: Machine) -> str:
    if _MODULES in path:
        return path[: path.index(_MODULES)] + _MODULES.rstrip("/")
    folder = os.path.dirname(path)
    above = os.path.dirname(folder)
    if machine.is_file(os.path.join(above, "pyvenv.cfg")):
        return above
    for candidate in (folder, above, os.path.dirname(above)):
        tops = (os.path.join(candidate, name) for name in _TOPS)
        if not machine.too_broad(candidate) and any(map(machine.is_file, tops)):
            return candidate
    return folder


def _inside(folder: str, other: str) -> bool:
    return folder != other and folder.startswith(f"{other}/")


def _is_system(folder: str) -> bool:
    return f"{folder}/".startswith(_SYSTEM)
