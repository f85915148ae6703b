"""The permissions a call gets: declared, or derived from the tags; plus grants; under a ceiling."""

from __future__ import annotations

from tongs.core import network
from tongs.core.call import ToolCall
from tongs.core.execution import Place
from tongs.core.permissions import SYSTEM_FOLDERS, Grants, Permissions, absolute, covered
from tongs.core.record import replace
from tongs.core.tool import Level, Tool

NETWORK_TAGS = frozenset({"api", "net", "network", "web", "http"})

# If one of these is taken for the project, granting "the project" would grant the machine.
_SYSTEM_FOLDERS = frozenset(
    "/" + name
    for name in (
        *("", "bin", "boot", "dev", "etc", "home", "lib", "lib64", "media", "mnt", "opt", "proc"),
        *("root", "run", "sbin", "srv", "sys", "tmp", "usr", "var"),
    )
)
# In these there is nothing of a person's work at any depth.
_SYSTEM_TREES = (
    *("/bin", "/boot", "/dev", "/etc", "/lib", "/lib64", "/proc", "/root", "/run", "/sbin"),
    *("/sys", "/usr"),
)


def effective(tool: Tool, call: ToolCall, place: Place, grants: Grants | None) -> Permissions:
    """What this call may touch, with absolute paths.

    No link is followed: one that a call may have put there would become a grant for the next. The
    sandbox refuses a path that leads through one.
    """
    base = tool.origin.project or place.root
    if tool.permissions is None:
        own = from_tags(tool, place)
    else:
        own = tool.permissions.resolved(base, place.home)
    if grants is not None and grants.permissions is not None:
        own = _joined(own, grants.permissions.resolved(base, place.home))
    ceilings = [] if call.caller.ceiling is None else [call.caller.ceiling]
    if tool.bound is not None:
        ceilings += [written.resolved(base, place.home) for written in tool.bound.ceilings]
    for ceiling in ceilings:
        own = _settled(own.meet(ceiling))
    return _with_parts(own, tool)


def _with_parts(own: Permissions, tool: Tool) -> Permissions:
    """A tool may read what it consists of: without that it could not even be started.

    To name a program of the system as well would refuse /bin/sh where /bin is a link.
    """
    granted = (*own.readable, *SYSTEM_FOLDERS)
    missing = tuple(path for path in tool.parts if not covered(path, granted))
    return replace(own, read=(*own.read, *missing)) if missing else own


def from_tags(tool: Tool, place: Place) -> Permissions:
    """A tag is a claim by a stranger, so it becomes a bound (SEMANTICS 28)."""
    root = place.root
    folders = [] if too_broad(root, place) else [root]
    for written in tool.working_directories:
        folder = working_directory(written, tool, place)
        if not covered(folder, folders) and _is_work(folder, tool, place):
            folders.append(folder)
    granted = tuple(folders)
    reads = tool.level is Level.READ
    return Permissions(
        network=not NETWORK_TAGS.isdisjoint(tool.tags),
        read=granted,
        write=() if reads else granted,
        scratch=granted if reads else (),
    )


def working_directory(written: str, tool: Tool, place: Place) -> str:
    """An author's `working-directory`, absolute (SEMANTICS 21)."""
    return absolute(written, tool.origin.project or place.cwd, place.home)


def _is_work(folder: str, tool: Tool, place: Place) -> bool:
    """Whether a folder that a tool names for itself may count like the project.

    The author chose it, not the person: what could hold keys, settings or programs is granted by
    `permissions` only, where it is a request and not a side effect.
    """
    if too_broad(folder, place) or covered(folder, _known(place.user_folder)):
        return False
    if not covered(folder, _known(place.home)):
        return not covered(folder, _SYSTEM_TREES)
    hidden = folder[len(place.home) :].lstrip("/").startswith(".")
    return not (hidden and tool.origin.project is not None)


def too_broad(folder: str, place: Place) -> bool:
    """Whether a folder is a part of the system, or holds a home or the person's Tongs folder."""
    inside = (*_known(place.home), *_known(place.user_folder))
    return folder in _SYSTEM_FOLDERS or any(covered(path, (folder,)) for path in inside)


def _known(folder: str) -> tuple[str, ...]:
    return (folder,) if folder else ()


def _joined(left: Permissions, right: Permissions) -> Permissions:
    return _settled(
        Permissions(
            network=network.joined(left.network, right.network),
            read=_together(left.read, right.read),
            write=_together(left.write, right.write),
            secrets=tuple(dict.fromkeys(left.secrets + right.secrets)),
            scratch=left.scratch,
        )
    )


def _together(left: tuple[str, ...], right: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(left + right))


def _settled(permissions: Permissions) -> Permissions:
    """Without the scratch that `write` makes pointless."""
    kept = tuple(path for path in permissions.scratch if not covered(path, permissions.write))
    return permissions if kept == permissions.scratch else replace(permissions, scratch=kept)
