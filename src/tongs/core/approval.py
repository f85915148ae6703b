"""Asking a person, as in seed 002: the request, the answer, and who asks."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any, Protocol
from tongs.core.call import Caller
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, field


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


@dataclass(frozen=True, slots=True)
class ApprovalResponse:
    approved: bool
    modified_args: Mapping[str, Any] | None = None
    approver: str = ""
    reason: str = ""


class Approver(Protocol):
    """Asks whoever decides. Answers None when nobody can be reached: the call is then denied."""

    async def __call__(self, request: ApprovalRequest) -> ApprovalResponse | None: ...
