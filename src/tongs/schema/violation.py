"""One thing a schema refuses in a value."""

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.annotations import Any
from tongs.core.errors import BlockedBy, ErrorCode, ToolError
from tongs.core.record import dataclass
from tongs.schema.document import PathTuple, field_name


@dataclass(frozen=True, slots=True)
class Violation:
    """`path` leads to the value, or to where a missing or unknown one would be."""

    path: PathTuple
    message: str
    keyword: str

    @property
    def field(self) -> str:
        return field_name(self.path)

    def __str__(self) -> str:
        if self.keyword == "additionalProperties":
            parent = field_name(self.path[:-1])
            return f"{self.message} in {parent}" if parent else self.message
        return f"{self.field or 'the value'} {self.message}"

    def to_wire(self) -> dict[str, Any]:
        return {"path": list(self.path), "message": self.message, "keyword": self.keyword}


class Invalid(ToolError):
    """Arguments a schema refuses: INVALID_ARGUMENTS with every violation at once."""

    def __init__(self, violations: Sequence[Violation]) -> None:
        super().__init__(
            ErrorCode.INVALID_ARGUMENTS,
            "; ".join(str(violation) for violation in violations),
            details={"violations": [violation.to_wire() for violation in violations]},
            blocked_by=BlockedBy.SCHEMA,
        )
        self.violations = tuple(violations)
