"""One request to run a tool, and who makes it."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from tongs.core.annotations import Any
from tongs.core.permissions import Bound, Permissions
from tongs.core.record import dataclass, field

# The argument by which a model says that it does not want to wait, for any tool whose own schema
# has nothing else of that name.
BACKGROUND: Mapping[str, Any] = {
    "type": "boolean",
    "description": "Return a job at once and go on in the background; see job_status, job_output",
}


class CallerKind(StrEnum):
    """A person's typing is an approval; a program and an agent have to be allowed."""

    PERSON = "person"
    PROGRAM = "program"
    AGENT = "agent"
    TOOL = "tool"


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls. A nested call names the tool it comes from and what that tool may do."""

    kind: CallerKind = CallerKind.PROGRAM
    name: str = "library"
    # Only for CallerKind.TOOL: the chain of tools above, outermost first.
    chain: tuple[str, ...] = ()
    ceiling: Permissions | None = None
    level: str = "run"
    # What the configs of the tools above take away from everything they call.
    bound: Bound = field(default_factory=Bound)
    # Said "yes" beforehand on the command line (`--yes`): answers what would be asked.
    agreed: bool = False

    def lacks(self, wanted: Permissions) -> bool:
        """Whether it is the tool that calls which may not do this."""
        return self.ceiling is not None and not wanted.within(self.ceiling)


@dataclass(frozen=True)  # without slots it is made in half the time, for every call
class ToolCall:
    id: str = ""
    name: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    caller: Caller = field(default_factory=Caller)
    # Standard input for a tool whose definition gives it none.
    input: bytes = b""
    # The id of the call that this one is part of.
    parent: str = ""
    # Answered with the handle of a job as soon as it may run and has begun.
    background: bool = False
    # What the call would replace or remove, as it was before anybody was asked; empty: nothing.
    at_stake: str = ""
