"""The verdict on a call: the strictest of all that spoke."""

from __future__ import annotations

from enum import IntEnum

from tongs.core.errors import BlockedBy, ErrorCode
from tongs.core.record import dataclass


class Decision(IntEnum):
    ALLOW = 0
    ASK = 1
    DENY = 2


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision with the rule that made it and the reason a person can read."""

    decision: Decision
    rule: str
    reason: str
    hint: str = ""
    code: ErrorCode = ErrorCode.DENIED
    blocked_by: BlockedBy = BlockedBy.RULE
