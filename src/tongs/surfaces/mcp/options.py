"""What whoever starts the server wants of it."""

from __future__ import annotations

from tongs.core.record import dataclass

# How many tools a client is listed one by one; with more, their descriptions fill its context.
MANY = 60


@dataclass(frozen=True, slots=True)
class Options:
    # Only tools with one of these tags, and only these tools; empty: all.
    tags: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    # Where there are more tools, only those of `keep` are listed, and the others are searched for.
    limit: int = MANY
    keep: tuple[str, ...] = ()
    # Who is asked about a call: `form` the client, where it can be asked, else the queue; `queue`
    # whoever answers from a terminal; `terminal` that of the server; `deny` nobody.
    approvals: str = "form"
    # Whether all requests come from one client. Others must not learn of its handles.
    one_client: bool = True
