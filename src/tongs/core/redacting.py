"""Taking the secrets of a call out of all that leaves it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tongs.core.annotations import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tongs.core.execution import Event, Observer
    from tongs.core.result import ToolResult


class Redacting(Protocol):
    """Takes the secrets of one call out of what leaves it."""

    def also(self, secrets: Iterable[str]) -> Redacting:
        """One that takes out these, too: for a call inside of the call."""

    def text(self, text: str) -> str: ...

    def mapping(self, data: Mapping[str, Any]) -> dict[str, Any]: ...

    def result(self, result: ToolResult) -> ToolResult: ...

    def watching(self, observe: Observer) -> Watching: ...

    def stream(self) -> RedactingStream: ...

    def settled(self, data: bytes) -> int:
        """How much of the beginning can be no part of a secret that is not whole yet."""


class Watching(Protocol):
    """An observer before another one."""

    def __call__(self, event: Event) -> None: ...

    def end(self) -> None:
        """Give on what was held back."""


class RedactingStream(Protocol):
    def feed(self, data: bytes) -> bytes:
        """What can be given on by now."""

    def end(self) -> bytes:
        """The rest."""
