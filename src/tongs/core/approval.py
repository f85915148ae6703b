"""Asking a person, as in seed 002: the request, the answer, and who asks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import StrEnum

from tongs.core.annotations import Any, Protocol
from tongs.core.call import Caller
from tongs.core.digest import digest_of
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field
from tongs.core.tool import Tool


class Span(StrEnum):
    """For whom a remembered decision holds: until this process ends, in one project, everywhere."""

    SESSION = "session"
    PROJECT = "project"
    USER = "user"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """Everything a person needs to decide. `preview` is what will really run."""

    step_id: str
    tool: str
    args: Mapping[str, Any]
    reason: str
    rule: str = ""
    preview: str = ""
    caller: Caller = field(default_factory=Caller)
    permissions: Permissions = field(default_factory=Permissions)
    # Which of the permissions and limits are promises only on this machine.
    not_enforced: tuple[str, ...] = ()
    raw_parameters: tuple[str, ...] = ()
    input_schema: Mapping[str, Any] = field(default_factory=dict)
    # The very thing that is approved: `bound_to` of tool, arguments and permissions.
    digest: str = ""
    # Of the definition alone.
    definition: str = ""
    tags: tuple[str, ...] = ()
    # The project the call belongs to: its real path.
    project: str = ""


@dataclass(frozen=True, slots=True)
class Remember:
    """What the person wants from now on: the answer holds for every call that `when` matches.

    `when` is written as in a rule of the config.
    """

    when: Mapping[str, Any]
    span: Span = Span.SESSION
    # The moment it ends, as 2026-11-15T18:00:00Z; empty: never.
    until: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    approved: bool
    modified_args: Mapping[str, Any] | None = None
    approver: str = ""
    reason: str = ""
    remember: Remember | None = None
    # Under which it is kept, where it outlives the process.
    id: str = ""


class Approver(Protocol):
    """Asks whoever decides. Answers None when nobody can be reached: the call is then denied."""

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None: ...


def bound_to(
    tool: Tool, arguments: Mapping[str, Any], permissions: Permissions, at_stake: str = ""
) -> str:
    """What an approval holds for: this definition, these arguments, these permissions.

    And, where something is replaced or removed, that thing as it is.
    """
    thing = [tool.qualified_name, tool.origin.digest, arguments, permissions.to_wire()]
    if at_stake:
        thing.append(at_stake)
    return digest_of(json.dumps(thing, sort_keys=True, default=str).encode())
