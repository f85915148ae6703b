"""How a secret may be written: as it is, percent-encoded, escaped, in hexadecimal, in base64.

A form is a row of tokens, each the byte strings that may stand there.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator
from itertools import product

from tongs.core.annotations import TypeAlias
from tongs.core.record import dataclass

# Shorter values would redact half the alphabet out of ordinary output.
SHORTEST_SECRET = 4

# So much of a form is compiled. The rest is followed where its beginning was found, so a long
# secret costs no more than a short one.
_COMPILED = 24

Token: TypeAlias = tuple[bytes, ...]

_ESCAPES = {
    '"': (b'\\"', b"&quot;"),
    "\\": (b"\\\\",),
    "/": (b"\\/",),
    "\n": (b"\\n",),
    "\r": (b"\\r",),
    "\t": (b"\\t",),
    "\b": (b"\\b",),
    "\f": (b"\\f",),
    " ": (b"+",),
    "&": (b"&amp;",),
    # As a shell writes it inside of quotes.
    "'": (b"'\\''", b"'\"'\"'", b"&#39;"),
}
_BETWEEN_HEX: Token = (b"", b" ", b":", b"-", b",", b"\n", b"\\x", b" 0x", b", 0x", b",0x")
# Encoders break lines, also inside of a JSON text.
BETWEEN_BASE64: Token = (b"", b"\n", b"\r\n", b"\\n", b"\\r\\n")
_PADDING: Token = (b"==", b"=", b"%3D%3D", b"%3D", b"%3d%3d", b"%3d", b"")
_ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_SPELLINGS = {"+": (b"+", b"-", b"%2B", b"%2b"), "/": (b"/", b"_", b"%2F", b"%2f", b"\\/")}


@dataclass(frozen=True, slots=True)
class Form:
    """One way in which a secret may be written.

    `lead` are the bytes one of which stands before it and holds a few of its bits; none: empty.
    """

    tokens: tuple[Token, ...]
    lead: bytes = b""

    def follow(self, data: bytes, start: int) -> tuple[int, bool]:
        """Where the longest one that starts here ends (-1: none), and whether more could come."""
        places, more = {start}, False
        for token in self.tokens:
            reached = set()
            for place in places:
                for text in token:
                    if data.startswith(text, place):
                        reached.add(place + len(text))
                    elif len(data) - place < len(text) and text.startswith(data[place:]):
                        more = True
            if not reached:
                return -1, more
            places = reached
        return max(places), more

    def begins(self, data: bytes, core: int) -> int:
        """Where it begins if its tokens do at `core`; -1 where its lead is not there."""
        if not self.lead:
            return core
        for gap in BETWEEN_BASE64:
            place = core - len(gap) - 1
            if place >= 0 and data[place] in self.lead and data.startswith(gap, place + 1):
                return place
        return -1

    @property
    def reach(self) -> int:
        return sum(max(map(len, token)) for token in self.tokens)

    def pattern(self) -> bytes:
        return b"".join(_pattern(token) for token in self.tokens[:_COMPILED])


def forms_of(secret: str) -> Iterator[Form]:
    """Every form of one secret; none where it is too short."""
    whole = secret.strip()
    for value in dict.fromkeys((secret, whole)):
        if len(value) < SHORTEST_SECRET:
            continue
        data = _encoded(value)
        yield Form(tuple(_character(character) for character in value))
        yield Form(tuple(_hexadecimal(data)))
        for offset in range(3):
            yield _base64(data, offset)
    # A part of a key that is shown is a part of the key.
    for line in secret.splitlines() if "\n" in whole else ():
        if len(line.strip()) >= 2 * SHORTEST_SECRET:
            yield Form(((_encoded(line.strip()),),))


def _character(character: str) -> Token:
    """As it is, percent-encoded, or escaped as in JSON."""
    data = _encoded(character)
    units = character.encode("utf-16-be", "surrogatepass")
    escaped = b"".join(
        b"\\u" + units[place : place + 2].hex().encode() for place in range(0, len(units), 2)
    )
    spelled = (
        {b"%" + digits for digits in _cases(data[0])}
        if len(data) == 1
        else {b"".join(b"%%%02x" % byte for byte in data), b"".join(b"%%%02X" % b for b in data)}
    )
    # Bytes that are no text are shown as something else, and passed on as half a surrogate pair.
    shown = {data.decode("utf-8", "replace").encode(), character.encode("utf-8", "surrogatepass")}
    found = {data, *shown, *spelled, escaped, escaped.upper().replace(b"\\U", b"\\u")}
    return tuple(sorted(found | set(_ESCAPES.get(character, ())), key=_longest_first))


def _encoded(text: str) -> bytes:
    """As a process gets it."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _hexadecimal(data: bytes) -> Iterator[Token]:
    for place, byte in enumerate(data):
        if place:
            yield _BETWEEN_HEX
        yield _cases(byte)


def _base64(data: bytes, offset: int) -> Form:
    """As it is encoded behind `offset` bytes of something else, and before anything."""
    text = b2a_base64(bytes(offset) + data, newline=False).rstrip(b"=")
    # Characters that hold bits of what stands before: all bits, but those of the last one.
    skipped = (0, 1, 2)[offset]
    bits = (0, 4, 2)[offset]
    lead = b""
    if offset:
        low = _ALPHABET.index(text[skipped]) & (2**bits - 1)
        lead = _class(code for code in range(64) if code & (2**bits - 1) == low)
        skipped += 1
    left = (offset + len(data)) % 3
    core = text[skipped : -1 if left else None]
    tokens: list[Token] = []
    for byte in core:
        tokens += [_spelled(byte), BETWEEN_BASE64]
    if left:
        # The last character ends with bits of what follows: zeros, or anything.
        kept = 2 if left == 1 else 4
        high = _ALPHABET.index(text[-1]) >> (6 - kept)
        codes = [code for code in range(64) if code >> (6 - kept) == high]
        tokens += [tuple(s for code in codes for s in _spelled(_ALPHABET[code])), _PADDING]
    else:
        tokens.pop()
    return Form(tuple(tokens), lead)


def _spelled(byte: int) -> Token:
    return _SPELLINGS.get(chr(byte), (bytes([byte]),))


def _class(codes: Iterable[int]) -> bytes:
    """The last bytes of these characters, in either alphabet."""
    return b"".join(text[-1:] for code in codes for text in _spelled(_ALPHABET[code]))


def _cases(byte: int) -> Token:
    """Two digits, each in either case."""
    digits = f"{byte:02x}"
    pairs = product(*({digit, digit.upper()} for digit in digits))
    return tuple(sorted("".join(pair).encode() for pair in pairs))


def _pattern(token: Token) -> bytes:
    single = b"".join(re.escape(text) for text in token if len(text) == 1)
    several = [re.escape(text) for text in token if len(text) > 1]
    if single and not several and b"" not in token:
        return b"[" + single + b"]"
    parts = [*several, *([b"[" + single + b"]"] if single else [])]
    return b"(?:" + b"|".join(parts) + b")" + (b"?" if b"" in token else b"")


def _longest_first(text: bytes) -> tuple[int, bytes]:
    return -len(text), text
