"""What a rule of `tongs lint` consists of."""

from __future__ import annotations

from tongs.core.errors import Severity
from tongs.core.record import dataclass


@dataclass(frozen=True, slots=True)
class Rule:
    """`fix` says what to do in general; a Problem's own hint is about the case at hand."""

    name: str
    severity: Severity
    finds: str
    why: str
    fix: str
