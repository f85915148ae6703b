"""The verdict on a call: the strictest of all that spoke."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

from tongs.core.errors import BlockedBy, ErrorCode
from tongs.core.record import dataclass, replace


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
    # The names of the other rules that ask about the same call: an answer has to be to them all.
    also: tuple[str, ...] = ()

    @property
    def rules(self) -> tuple[str, ...]:
        return (self.rule, *self.also)


def one_question(asks: Sequence[Verdict]) -> Verdict:
    """What several rules ask, as one verdict: under the first one's name, with every reason."""
    first = asks[0]
    if len(asks) == 1:
        return first
    names = dict.fromkeys(name for verdict in asks for name in verdict.rules)
    reasons = dict.fromkeys(verdict.reason for verdict in asks)
    also = tuple(name for name in names if name != first.rule)
    return replace(first, reason="; ".join(reasons), also=also)
