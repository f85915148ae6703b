"""Code that a caller wrote: between the built-in tools that take it and their executor."""

from __future__ import annotations

from collections.abc import Mapping

from tongs.core.annotations import Any
from tongs.core.record import dataclass, field


@dataclass(frozen=True, slots=True)
class Code:
    """One run of an interpreter. `cwd` is as the caller wrote it; empty: where the call starts."""

    language: str
    source: str
    args: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""


@dataclass(frozen=True, slots=True)
class CodePlan:
    """Which arguments hold what; a `language` that is no argument is the only one there is."""

    source: str
    # Seconds, where nobody says otherwise.
    timeout: float
    language: str = ""

    def code(self, arguments: Mapping[str, Any]) -> Code:
        return Code(
            language=self.language or arguments["language"],
            source=arguments[self.source],
            args=tuple(arguments.get("args") or ()),
            environment=arguments.get("env") or {},
            cwd=arguments.get("cwd") or "",
        )
