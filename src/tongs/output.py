"""Text that came out of a tool, made fit for a reader: decoded, visible."""

from __future__ import annotations

import re

from tongs.core.execution import STDOUT, Kept, SpoolOpener

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


def kept(data: bytes, most: int, spool: SpoolOpener | None, call_id: str) -> Kept:
    """`data` if it is not too large, else its beginning, and the whole in the spool."""
    if len(data) <= most:
        return Kept(data)
    try:
        writer = None if spool is None else spool.open(call_id)
    except OSError:
        writer = None  # a full disk costs the tail of the output, not the call
    if writer is None:
        return Kept(data[:most], None, len(data) - most)
    writer.write(STDOUT, data)
    stored = writer.close().get(STDOUT, 0)
    return Kept(data[:most], writer.handle, len(data) - max(most, stored))


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
