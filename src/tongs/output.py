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

# What stands beside letters of ASCII in honest words: Latin letters with marks, the marks, small
# digits, and the scripts of East Asia, which look like none of them. Not the dotless i and other
# Latin letters that pass for plain ones.
_BESIDE_ASCII = (
    "\u00aa\u00b2\u00b3\u00b5\u00b9\u00ba\u00c0-\u0130\u0132-\u0137\u0139-\u017e\u01a0\u01a1\u01af"
    "\u01b0\u01cd-\u01dc\u0218-\u021b\u0300-\u036f\u1e00-\u1eff\u2070\u2074-\u2079\u2080-\u2089"
    "\u3041-\u30ff\u3400-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_OTHER_ALPHABET = f"[^A-Za-z0-9{_BESIDE_ASCII}]"
# With the marks above its letters. `\n` in a script is no letter of the word behind it.
_WORD = r"\\[nrt]|(?:[^\W_]|[\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff])+"


def visible(text: str) -> str:
    """The same text with every control and hidden character written out, as `\\x1b`."""
    if text.isascii() and text.isprintable():
        return text
    # Compiled on first use: it is large, and most text of a listing is plain. `re` keeps it.
    return re.sub(_HIDDEN, _written_out, text)


def unmistakable(text: str) -> str:
    """As `visible`; and in a word with letters of ASCII, those of other alphabets written out.

    For names and commands that somebody decides about: `\\u0441at` is not `cat`. A word that is
    wholly of another alphabet stays as it is.
    """
    return visible(text if text.isascii() else re.sub(_WORD, _one_alphabet, text))


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


def _one_alphabet(word: re.Match[str]) -> str:
    if word[0].isascii() or not re.search("[A-Za-z]", word[0]):
        return word[0]
    return re.sub(_OTHER_ALPHABET, _written_out, word[0])


def _written_out(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
