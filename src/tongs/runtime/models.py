"""Which model answers: from the config, or as named on the command line."""

from __future__ import annotations

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError

if TYPE_CHECKING:
    from tongs.core.conversation import ChatModel
    from tongs.runtime import Runtime


def chat_model(runtime: Runtime, name: str | None, base_url: str | None) -> ChatModel:
    """By its name in the config, or `provider:name`; None: the default. Raises ToolError."""
    raise ToolError(
        ErrorCode.INVALID_ARGUMENTS,
        "no model is configured",
        hint="name one: tongs run --model provider:name",
    )
