"""The permissions a call gets: declared, or derived from the tags; plus grants; under a ceiling."""

from __future__ import annotations

import os.path

from tongs.core.call import ToolCall
from tongs.core.execution import Place
from tongs.core.permissions import Grants, Permissions
from tongs.core.tool import Level, Tool

NETWORK_TAGS = frozenset({"api", "net", "network", "web", "http"})

# If one of these is taken for the project, granting "the project" would grant the machine.
_SYSTEM_FOLDERS = frozenset(
    "/" + name
    for name in (
        *("", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "opt", "proc", "root"),
        *("run", "sbin", "srv", "sys", "tmp", "usr", "var"),
    )
)


def effective(tool: Tool, call: ToolCall, place: Place, grants: Grants | None) -> Permissions:
    """What this call may touch, with absolute paths."""
    base = tool.origin.project or place.root
    own = tool.permissions.resolved(base) if tool.permissions else from_tags(tool, place)
    if grants is not None and grants.permissions is not None:
        own = _joined(own, grants.permissions.resolved(base))
    ceiling = call.caller.ceiling
    return own if ceiling is None else own.meet(ceiling)


def from_tags(tool: Tool, place: Place) -> Permissions:
    """A tag is a claim by a stranger, so it becomes a bound (SEMANTICS 28)."""
    project = () if _too_broad(place.root) else (place.root,)
    return Permissions(
        network=not NETWORK_TAGS.isdisjoint(tool.tags),
        read=project,
        write=() if tool.level is Level.READ else project,
    )


def _joined(left: Permissions, right: Permissions) -> Permissions:
    hosts: bool | tuple[str, ...]
    if left.network is True or right.network is True:
        hosts = True
    else:
        hosts = tuple(left.network or ()) + tuple(right.network or ()) or False
    return Permissions(
        network=hosts,
        read=left.read + right.read,
        write=left.write + right.write,
        secrets=tuple(dict.fromkeys(left.secrets + right.secrets)),
    )


def _too_broad(folder: str) -> bool:
    return folder in _SYSTEM_FOLDERS or folder == os.path.expanduser("~")
