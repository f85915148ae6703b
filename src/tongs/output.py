"""Text that came out of a tool, made fit for a reader: decoded, redacted, visible."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tongs.core.errors import ToolError
from tongs.core.result import ToolResult

REDACTED = "[redacted]"
# Shorter values would redact half the alphabet out of ordinary output.
SHORTEST_SECRET = 4

# Everything a terminal obeys or an eye cannot see: C0 and C1 controls except tab and newline,
# soft hyphen, zero-width and bidirectional marks, line separators, variation and tag characters,
# lone surrogates.
_HIDDEN = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff0-\ufffb"
    "\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def visible(text: str) -> str:
    """The same text with every control and hidden character written out, as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    # Compiled on first use: it is large, and most text of a listing is plain. `re` keeps it.
    return re.sub(_HIDDEN, _written_out, text)


def decoded(data: bytes) -> str:
    """Bytes as text for a reader; what is not UTF-8 shows as replacement characters."""
    return data.decode("utf-8", "replace")


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without any secret value, longest first so that no tail of one is left."""
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= SHORTEST_SECRET:
            text = text.replace(secret, REDACTED)
    return text


def redacted_data(data: object, secrets: Iterable[str]) -> object:
    """JSON data with every string in it redacted, keys included."""
    kept = tuple(secrets)
    if not kept:
        return data
    if isinstance(data, str):
        return redacted(data, kept)
    if isinstance(data, dict):
        return {redacted(str(k), kept): redacted_data(v, kept) for k, v in data.items()}
    if isinstance(data, list | tuple):
        return [redacted_data(item, kept) for item in data]
    return data


def redacted_result(result: ToolResult, secrets: tuple[str, ...]) -> ToolResult:
    """The result without any secret value, in whatever part of it."""
    error = result.error
    if error is not None:
        error = ToolError(
            error.code,
            redacted(error.message, secrets),
            details={k: redacted_data(v, secrets) for k, v in error.details.items()},
            blocked_by=error.blocked_by,
        )
    return ToolResult(
        tool_call_id=result.tool_call_id,
        output=redacted(result.output, secrets),
        value=redacted_data(result.value, secrets),
        error=error,
        warnings=[redacted(warning, secrets) for warning in result.warnings],
        metadata={k: redacted_data(v, secrets) for k, v in result.metadata.items()},
    )


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
