"""What a listing shows of a definition: a row for the cache, and the entry made from it."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from tongs.config.ownership import why_not_own
from tongs.core.annotations import Any
from tongs.core.errors import Problem
from tongs.core.tool import Level, Origin, Tool, Trust
from tongs.policy.permissions import NETWORK_TAGS
from tongs.registry import Entry
from tongs.store.files import real_path

_RUN = Level.RUN.value
# Problems that may end elsewhere: a file that comes, a program that is installed.
_ELSEWHERE = ("missing-file", "not-executable", "bundle", "description")


def row_of(tool: Tool) -> dict[str, Any]:
    """One tool, as JSON for the cache."""
    declared = tool.permissions
    return {
        "name": tool.name,
        "description": tool.description,
        "tags": list(tool.tags),
        "platforms": list(tool.platforms),
        "level": tool.level.value,
        "network": bool(declared.network)
        if declared is not None
        else not NETWORK_TAGS.isdisjoint(tool.tags),
        "parameters": list(tool.input_schema["properties"]),
        "digest": tool.origin.digest,
    }


def row_of_file(name: str, tools: Sequence[Tool]) -> dict[str, Any]:
    """A file of several tools: what is known of each, or that nothing is."""
    row = {"name": name, "digest": tools[0].origin.digest}
    if not tools[0].trust.holds:
        return {**row, "unknown": True}
    return {**row, "members": [{**row_of(tool), "member": tool.name} for tool in tools]}


def row_broken(name: str, problems: Sequence[Problem]) -> dict[str, Any]:
    """One that cannot be used, and whether that may change without a change of its own files."""
    row: dict[str, Any] = {"name": name, "problems": [str(problem) for problem in problems]}
    return {**row, "again": True} if any(p.rule in _ELSEWHERE for p in problems) else row


def why_not_own_whole(tool: Tool) -> str | None:
    """Why a manifest cannot be trusted for its place: somebody else may write what it runs."""
    from tongs.runtime.bundle import parts  # noqa: PLC0415 - manifests only

    found = [part.path for part in parts(tool.parts[0], tool.parts[1:])]
    reasons = map(why_not_own, dict.fromkeys((*found, *map(os.path.dirname, found))))
    return next(filter(None, reasons), None)


def row_beside(tool: Tool) -> dict[str, list[str]]:
    """What else changes a manifest's row, and what it consists of outside of its folder."""
    parts = [path for path in tool.parts[1:] if not _is_in(path, tool.parts[0])]
    return {"also": _outside(tool), "parts": parts}


def entries_of(path: str, row: Mapping[str, Any], origin: Origin, trust: Trust) -> list[Entry]:
    """The entry of a row, or those of the tools in one file."""
    return [_entry(path, each, origin, trust) for each in row.get("members") or (row,)]


def _entry(path: str, row: Mapping[str, Any], origin: Origin, trust: Trust) -> Entry:
    # By position: a listing makes a thousand of them.
    get = row.get
    return Entry(
        row["name"],
        get("description", ""),
        origin.scope,
        origin.format,
        origin.family,
        path,
        tuple(get("tags", ())),
        tuple(get("platforms", ())),
        get("level", _RUN),
        get("network", False),
        tuple(get("parameters", ())),
        get("digest", ""),
        trust,
        tuple(get("problems", ())),
        False,
        False,
        get("member", ""),
    )


def shown(tool: Tool) -> Entry:
    """What a listing tells of a tool that lies in no folder."""
    network = tool.permissions is not None and bool(tool.permissions.network)
    return Entry(
        name=tool.name,
        description=tool.description,
        scope=tool.origin.scope,
        format=tool.origin.format,
        tags=tool.tags,
        level=tool.level.value,
        network=network or not NETWORK_TAGS.isdisjoint(tool.tags),
        parameters=tuple(tool.input_schema["properties"]),
    )


def parts_beside(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """What tools consist of beside their folder, wherever links lead."""
    parts = (part for row in rows for part in row.get("parts", ()))
    return tuple(dict.fromkeys(map(real_path, parts)))


def _outside(tool: Tool) -> list[str]:
    """The files beyond its directory that a tool consists of, and where more of them may come."""
    from tongs.formats.manifest import looked_for  # noqa: PLC0415 - manifests only
    from tongs.runtime.bundle import parts  # noqa: PLC0415 - as above

    folder = tool.parts[0]
    found = [part.path for part in parts(folder, tool.parts[1:])]
    beside = [path for path in found if not _is_in(path, folder)]
    folders = [os.path.dirname(path) for path in beside]
    for package in filter(os.path.isdir, tool.parts[1:]):
        folders += [inside for inside, _, _ in os.walk(package)]
    return [*dict.fromkeys((*beside, *folders, *looked_for(tool)))]


def _is_in(path: str, folder: str) -> bool:
    return path.startswith(folder + os.sep)
