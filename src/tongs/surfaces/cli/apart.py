"""A model's words on a terminal, where lines of ours stand beside them.

Whoever reads must be able to tell who speaks: `hint: run this` is advice when Tongs says so.
"""

from __future__ import annotations

import re

_LABELS = (
    *("approvals", "approved", "call", "configured", "connected", "connecting", "denied", "done"),
    *("edited", "ended", "error", "failed", "hint", "interrupted", "kept", "model", "revoked"),
    *("saved", "stopped", "tongs chat", "waiting", "warning"),
)
# How lines of ours begin, and the line at which a person allows a call.
_OURS = (*(f"{label}:" for label in _LABELS), "[a]llow once")
_MARK = "model | "


class Apart:
    """Marks each line that begins as one of ours does. Text comes in pieces of any size."""

    def __init__(self) -> None:
        # A beginning of a line that may still become one of ours; it is not shown yet.
        self._held = ""
        self._inside_line = False

    def shown(self, text: str) -> str:
        return "".join(map(self._piece, re.findall(r"[^\n]*\n|[^\n]+", text)))

    def rest(self) -> str:
        """What is held back, once the text has ended."""
        rest, self._held, self._inside_line = self._held, "", False
        return rest

    def _piece(self, piece: str) -> str:
        """Of one line."""
        if not self._inside_line:
            piece, self._held = self._held + piece, ""
            start = piece.lstrip().lower()
            if start.startswith(_OURS):
                piece = _MARK + piece
            elif not piece.endswith("\n") and any(own.startswith(start) for own in _OURS):
                self._held = piece
                return ""
        self._inside_line = not piece.endswith("\n")
        return piece


def apart(text: str) -> str:
    """The same for a text that is whole."""
    words = Apart()
    return words.shown(text) + words.rest()
