"""What can go wrong, as a value a program can read.

ErrorCode          one word per kind of failure, shared by every surface
BlockedBy          which wall stopped a call that was not run
ToolError          raised inside a tool or an executor, read in a ToolResult
Problem            one finding in a file: where, what, and what to do
DefinitionInvalid  a file that cannot be used, with every Problem in it at once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, StrEnum

from tongs.core.annotations import Any
from tongs.core.record import dataclass, field


class ErrorCode(StrEnum):
    INVALID_PATH = "INVALID_PATH"
    FILE_NOT_FOUND = "FILE_NOT_FOUND"
    PERMISSION_DENIED = "PERMISSION_DENIED"
    TIMEOUT = "TIMEOUT"
    EXECUTION_ERROR = "EXECUTION_ERROR"
    TOOL_NOT_FOUND = "TOOL_NOT_FOUND"
    INVALID_ARGUMENTS = "INVALID_ARGUMENTS"
    INVALID_DEFINITION = "INVALID_DEFINITION"
    DENIED = "DENIED"
    APPROVAL_DENIED = "APPROVAL_DENIED"
    APPROVAL_PENDING = "APPROVAL_PENDING"
    SECRET_MISSING = "SECRET_MISSING"
    HTTP_ERROR = "HTTP_ERROR"
    UNSUPPORTED_PLATFORM = "UNSUPPORTED_PLATFORM"
    SANDBOX_UNAVAILABLE = "SANDBOX_UNAVAILABLE"
    UNTRUSTED = "UNTRUSTED"
    CANCELLED = "CANCELLED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


class BlockedBy(StrEnum):
    RULE = "rule"
    APPROVAL = "approval"
    PERMISSION = "permission"
    CEILING = "ceiling"
    TRUST = "trust"
    SCHEMA = "schema"


class ToolError(Exception):
    """A failure with a code. `details["hint"]`, where present, says what the person can do."""

    def __init__(
        self,
        code: ErrorCode | str,
        message: str,
        *,
        details: Mapping[str, Any] | None = None,
        blocked_by: BlockedBy | None = None,
        hint: str = "",
    ) -> None:
        super().__init__(message)
        self.code = ErrorCode(code) if code in ErrorCode.__members__ else str(code)
        self.message = message
        self.details: dict[str, Any] = dict(details or {})
        if hint:
            self.details["hint"] = hint
        self.blocked_by = blocked_by

    @property
    def hint(self) -> str:
        return str(self.details.get("hint", ""))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolError) and self.to_wire() == other.to_wire()

    def __hash__(self) -> int:
        return hash((self.code, self.message))

    def __repr__(self) -> str:
        return f"ToolError({self.code}, {self.message!r})"

    def to_wire(self) -> dict[str, Any]:
        """The JSON form of seed 002, with the wall that stopped the call."""
        return {
            "code": str(self.code),
            "message": self.message,
            "details": self.details,
            "blockedBy": None if self.blocked_by is None else str(self.blocked_by),
        }


class Severity(Enum):
    """How much a Problem matters; an error makes a definition unusable."""

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Problem:
    """One finding in one file."""

    file: str
    message: str
    line: int = 0
    field: str = ""
    rule: str = "definition"
    severity: Severity = Severity.ERROR
    hint: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        subject = f"{self.field}: " if self.field else ""
        return f"{where}: {subject}{self.message}"

    def to_wire(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "line": self.line,
            "field": self.field,
            "rule": self.rule,
            "severity": self.severity.value,
            "message": self.message,
            "hint": self.hint,
        }


@dataclass(eq=False)
class DefinitionInvalid(Exception):
    """A tool file or config file that cannot be used; lists everything wrong with it."""

    problems: Sequence[Problem] = field(default_factory=tuple)

    def __str__(self) -> str:
        return "\n".join(str(problem) for problem in self.problems)

    def as_tool_error(self, name: str) -> ToolError:
        hints = [problem.hint for problem in self.problems if problem.hint]
        return ToolError(
            ErrorCode.INVALID_DEFINITION,
            f"{name} cannot be used: {self}",
            details={"problems": [problem.to_wire() for problem in self.problems]},
            hint=hints[0] if hints else "",
        )
