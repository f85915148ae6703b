"""The conversations that are kept: listed, read without going on with them, and deleted."""

from __future__ import annotations

from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.conversation import Conversation
from tongs.store.conversations import ConversationStore, Listed

if TYPE_CHECKING:
    from tongs.runtime import Runtime


def listed(runtime: Runtime) -> list[Listed]:
    """Those of all projects, the one that was used last first."""
    return ConversationStore(runtime.places.state).listed()


def read(runtime: Runtime, name: str) -> Conversation:
    """By its id or the beginning of it. Raises ToolError."""
    return ConversationStore(runtime.places.state).read(name)


def delete(runtime: Runtime, names: Sequence[str]) -> dict[str, str]:
    """All of them or none, by their ids or the beginnings of these; ids and titles.

    Raises ToolError, also where another process goes on with one of them.
    """
    return ConversationStore(runtime.places.state).remove(names)
