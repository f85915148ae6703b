"""The conversations that are kept: listed, and read without going on with them."""

from __future__ import annotations

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
