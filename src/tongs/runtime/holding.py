"""What a call of a tool is held to, for whoever has to say so before there is a call."""

from __future__ import annotations

from tongs.core.call import ToolCall
from tongs.core.errors import ToolError
from tongs.core.parts import Parts
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.pipeline.walls import own_walls, policy_of

_WALLS = frozenset({"network", "fs.read", "fs.write"})


@dataclass(frozen=True, slots=True)
class Held:
    permissions: Permissions
    # Whether the walls that hold it to them stand on this machine.
    stands: bool


def held(tool: Tool, parts: Parts) -> Held:
    """Nothing is known of a tool that cannot be called; then nothing is promised."""
    call = ToolCall("", tool.name)
    try:
        allowance = parts.allow(call, tool)
        walls = own_walls(tool, parts)
        if walls is not None:
            return Held(allowance.permissions, _WALLS.isdisjoint(walls[1]))
        policy = policy_of(call, tool, allowance, parts.world(tool, allowance), parts)
        lacking = parts.sandbox.cannot_enforce(policy)
    except ToolError:
        return Held(Permissions(network=True, read=("/",), write=("/",)), stands=False)
    return Held(allowance.permissions, _WALLS.isdisjoint(lacking))
