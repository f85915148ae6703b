"""The line that would grant something, as a person has to write it, and where."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Iterable, Mapping, Sequence

from tongs.core import network
from tongs.core.annotations import Any
from tongs.core.call import Caller
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.execution import Context, Place
from tongs.core.permissions import Permissions, covered
from tongs.core.scope import Scope
from tongs.core.tool import Tool
from tongs.policy.permissions import from_tags

MOST_SHOWN = 3

# Text that YAML takes for that text, also inside `[ ]` and `{ }`.
_PLAIN = re.compile(r"(?:[A-Za-z_/]|\.{0,2}/|~/)[A-Za-z0-9_/.-]*|\.|[0-9.]+(?:[KMG]iB|s)")
_SPECIAL = frozenset(("true", "false", "null", "yes", "no", "on", "off", "y", "n"))
# Nobody may write these, nor what is new in them: as `sandbox/roots.py` has it.
_NEVER_WRITTEN = frozenset(
    "/" + name
    for name in ["", *"bin boot dev etc home lib lib64 proc root run sbin sys usr var".split()]
)
_UNITS = (("GiB", 1024**3), ("MiB", 1024**2), ("KiB", 1024))


def is_own(tool: Tool) -> bool:
    """Whether its file is there to be edited; what others keep is granted more in the config."""
    return tool.private or (tool.origin.scope is Scope.LOCAL and tool.origin.family == "tongs")


def where(tool: Tool, place: Place) -> str:
    """The file that the lines of `lines` belong into."""
    if tool.executor == "mcp":
        return f"the entry of the server {tool.plan.server.name} ({tool.origin.path})"
    if is_own(tool):
        return tool.origin.path or "the definition"
    return config(place)


def config(place: Place) -> str:
    """The file in which a person says what no definition can say."""
    return os.path.join(place.user_folder, "config.yml")


def to_nobody(path: str, place: Place, *, write: bool) -> bool:
    """Whether nothing can grant this path, or, for writing, the folder it would be made in."""
    own = place.user_folder
    if path == "/" or covered(path, ("/proc", *((os.path.join(own, "state"),) if own else ()))):
        return True
    if not write:
        return False
    above = os.path.dirname(path)
    system = above in _NEVER_WRITTEN and above != place.home
    return system or path == place.home or covered(path, (own,) if own else ())


def lines(
    tool: Tool, place: Place, added: Permissions, limits: Mapping[str, Any]
) -> tuple[str, ...]:
    """What to write so that a tool may do what it may do now, and what is added."""
    # A server has one process for all of its tools, and what it may do stands in its entry.
    if not is_own(tool) and tool.executor != "mcp":
        wanted = {"permissions": block(added, tool, place), "limits": limits_block(limits)}
        entry = _flow({key: value for key, value in wanted.items() if value})
        return (f"tools: {{{scalar(tool.name)}: {entry}}}",)
    found = []
    if added != Permissions():
        # A block replaces what the tags give, so it has to say that as well.
        own = tool.permissions if tool.permissions is not None else from_tags(tool, place)
        found.append(f"permissions: {_flow(block(_joined(own, added), tool, place))}")
    if limits:
        found.append(f"limits: {_flow(limits_block({**tool.limits, **limits}))}")
    return tuple(found)


def line_of(added: Permissions, tool: Tool, place: Place) -> str:
    """The bare block, for a definition that is not at hand."""
    return f"permissions: {_flow(block(added, tool, place))}"


def how_to_grant(lack: Permissions, caller: Caller, tool: Tool, place: Place) -> str:
    """The line for the tool, or for the one that calls it, and the place for that line."""
    if caller.lacks(lack):
        there, line = f"the definition of {caller.name}", line_of(lack, tool, place)
    else:
        there, (line,) = where(tool, place), lines(tool, place, lack, {})
    return f"to grant it, write in {there}: {line}"


def refused(
    code: ErrorCode, message: str, lack: Permissions, allowed: Iterable[str], context: Context
) -> ToolError:
    """What a call may not do, and how to grant it."""
    tool, caller = context.tool, context.call.caller
    return ToolError(
        code,
        f"{tool.name} {message}",
        details={"allowed": list(allowed)},
        blocked_by=BlockedBy.CEILING if caller.lacks(lack) else BlockedBy.PERMISSION,
        hint=how_to_grant(lack, caller, tool, context.world.place),
    )


def private_hosts_line(hosts: Iterable[str]) -> str:
    """For hosts that a list already names, but whose address is private."""
    return f"security: {{allow_private_hosts: {_flow(list(dict.fromkeys(hosts)))}}}"


def block(permissions: Permissions, tool: Tool, place: Place) -> dict[str, Any]:
    """The `permissions:` block of these permissions, without what is empty."""
    found: dict[str, Any] = {}
    if permissions.network:
        hosts = permissions.network
        found["network"] = hosts if isinstance(hosts, bool) else list(hosts)
    files = {
        key: [shown(path, tool, place) for path in paths]
        for key, paths in (("read", permissions.read), ("write", permissions.write))
        if paths
    }
    if files:
        found["fs"] = files
    if permissions.secrets:
        found["secrets"] = {
            secret.name: {} if secret.required else {"required": False}
            for secret in permissions.secrets
        }
    return found


def shown(path: str, tool: Tool, place: Place) -> str:
    """A path as an author writes it: from the project, from the home directory, or whole."""
    project = tool.origin.project or place.root
    if not os.path.isabs(path):
        return path
    if covered(path, (project,)):
        return os.path.relpath(path, project)
    if place.home and covered(path, (place.home,)):
        return "~" + path[len(place.home.rstrip("/")) :]
    return path


def limits_block(limits: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _limit(name, value) for name, value in limits.items()}


def _limit(name: str, value: Any) -> str | int:
    if name == "cpu":
        return f"{value:g}s"
    if name in ("processes", "open_files"):
        return int(value)
    for unit, factor in _UNITS:
        if value and value % factor == 0:
            return f"{value // factor}{unit}"
    return int(value)


def scalar(value: Any) -> str:
    """A value as YAML, in ASCII: text of a stranger shows every hidden character."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str) and not (_PLAIN.fullmatch(value) and value.lower() not in _SPECIAL):
        return json.dumps(value)
    return str(value)


def listed(items: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    more = len(items) - MOST_SHOWN
    some = ", ".join(map(scalar, items[:MOST_SHOWN]))
    return f"{some} and {more} more" if more > 0 else some


def _flow(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {_flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(item) for item in value) + "]"
    return scalar(value)


def _joined(own: Permissions, added: Permissions) -> Permissions:
    return Permissions(
        network=network.joined(own.network, added.network),
        read=_together(own.read, added.read),
        write=_together(own.write, added.write),
        secrets=own.secrets,
    )


def _together(left: Iterable[str], right: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*left, *right)))
