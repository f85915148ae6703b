"""The answer to a call, the same for every surface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Attachment:
    """Data that is no text, for whoever can show it: in no text, no metadata and no record."""

    # image, audio or resource.
    kind: str
    mime: str
    data: bytes


@dataclass(frozen=True)
class ToolResult:
    """What a call gave. It succeeded exactly when `error` is None.

    `output` is text for a reader, `value` the structured form where there is one. `metadata` holds
    wire names (camelCase), since every surface passes it on unchanged.
    """

    tool_call_id: str = ""
    output: str = ""
    value: Any = None
    error: ToolError | None = None
    success: bool = None  # type: ignore[assignment]  # derived from `error` below
    warnings: Sequence[str] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()

    def __post_init__(self) -> None:
        if self.error is None and self.success is True and type(self.warnings) is tuple:
            return  # as most are
        if isinstance(self.error, str):
            object.__setattr__(self, "error", ToolError(ErrorCode.EXECUTION_ERROR, self.error))
        succeeded = self.error is None
        if self.success is not None and self.success is not succeeded:
            raise ValueError(
                "ToolResult: success=True with an error"
                if self.success
                else "ToolResult: success=False needs an error"
            )
        if self.success is None:
            object.__setattr__(self, "success", succeeded)
        if type(self.warnings) is not tuple:
            # A text is one warning, not as many as it has letters.
            given = (self.warnings,) if isinstance(self.warnings, str) else self.warnings
            object.__setattr__(self, "warnings", tuple(given))

    @property
    def ok(self) -> bool:
        return self.success

    def to_wire(self) -> dict[str, Any]:
        return {
            "ok": self.ok,
            "output": self.output,
            "value": self.value,
            "error": None if self.error is None else self.error.to_wire(),
            "warnings": list(self.warnings),
            "metadata": dict(self.metadata),
        }
