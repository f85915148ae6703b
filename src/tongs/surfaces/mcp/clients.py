"""Who is at the other end. All of it is what the client says of itself."""

from __future__ import annotations

import re

from tongs.core.annotations import Any
from tongs.core.call import Caller, CallerKind

_UNKNOWN = "mcp-client"
_LONGEST = 64
# A name stands in questions and records: nothing in it may look like a part of those.
_OTHER = re.compile(r"[^A-Za-z0-9_.@:/+-]+")
# Who decides, in the record.
_TAKEN = frozenset({"user", "terminal", "library"})


def caller_of(context: Any) -> Caller:
    """An agent, by the name that its client gives."""
    return Caller(CallerKind.AGENT, client_name(context))


def client_name(context: Any) -> str:
    params = context.session.client_params
    info = None if params is None else params.client_info
    name = "" if info is None else str(info.name)
    name = _OTHER.sub("-", name).strip("-_.@:/+")[:_LONGEST]
    return _UNKNOWN if not name or name in _TAKEN else name


def can_be_asked(context: Any) -> bool:
    """Whether the client shows forms. One that names no kind of question means a form."""
    capabilities = context.session.client_capabilities
    asks = None if capabilities is None else capabilities.elicitation
    return asks is not None and (asks.form is not None or asks.url is None)
