"""What the server says of itself, whatever it is asked by: nothing here needs the SDK."""

from __future__ import annotations

from tongs._version import __version__
from tongs.core.annotations import Any

NAME, TITLE = "tongs", "Tongs"
INSTRUCTIONS = (
    "Tools of this machine and project. Every call is checked and confined; a person may be asked."
    " tongs_tools_search finds tools that are not listed, tongs_tool calls them."
)
SERVER = {"name": NAME, "title": TITLE, "version": __version__}

# Every look finds what there is now, so nothing is to be kept.
FRESH: dict[str, Any] = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
