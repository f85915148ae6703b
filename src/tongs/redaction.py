"""Secrets taken out of everything that leaves a call, in whatever form they come.

A value is found as it is, with characters percent-encoded or escaped as in JSON (any of them), in
hexadecimal, and in base64 wherever in the encoded data it stands. A form is a row of tokens, each
the byte strings that may stand there. One compiled pattern finds where a form may begin; following
its tokens tells where it ends, and whether what is there so far could still become one: that is
how a value is found that arrives in pieces.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product

from tongs.core.annotations import Any, TypeAlias
from tongs.core.errors import ToolError
from tongs.core.execution import Event, Observer, OutputArrived
from tongs.core.record import dataclass
from tongs.core.result import ToolResult

REDACTED = "[redacted]"
# Shorter values would redact half the alphabet out of ordinary output.
SHORTEST_SECRET = 4

# So much of a form is compiled. The rest is followed where its beginning was found, so a long
# secret costs no more than a short one.
_COMPILED = 24
_MARK = REDACTED.encode()

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
_BETWEEN_BASE64: Token = (b"", b"\n", b"\r\n", b"\\n", b"\\r\\n")
_WIDEST_GAP = max(map(len, _BETWEEN_BASE64))
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
        for gap in _BETWEEN_BASE64:
            place = core - len(gap) - 1
            if place >= 0 and data[place] in self.lead and data.startswith(gap, place + 1):
                return place
        return -1

    @property
    def reach(self) -> int:
        return sum(max(map(len, token)) for token in self.tokens)

    def pattern(self) -> bytes:
        return b"".join(_pattern(token) for token in self.tokens[:_COMPILED])


class Redactor:
    """Takes the secrets of one call out of what it is given. Costs nothing where there are none."""

    __slots__ = ("_first", "_forms", "_leads", "_pattern", "_reach", "_secrets")

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = tuple(dict.fromkeys(secrets))
        forms = {form: None for secret in self._secrets for form in _forms(secret)}
        # The longer first: the pattern tries them in this order.
        self._forms = sorted(forms, key=lambda form: len(form.tokens), reverse=True)
        self._pattern: re.Pattern[bytes] | None = None
        self._first: frozenset[int] = frozenset()
        self._leads = frozenset[int]().union(*(form.lead for form in self._forms))
        self._reach = max((form.reach for form in self._forms), default=0)

    def __bool__(self) -> bool:
        return bool(self._forms)

    def also(self, secrets: Iterable[str]) -> Redactor:
        """One that takes out these, too: for a call inside of the call."""
        return Redactor((*self._secrets, *secrets))

    def text(self, text: str) -> str:
        if not self._forms or not text:
            return text
        data = text.encode("utf-8", "surrogatepass")
        spans = self.spans(data)
        return _without(data, spans).decode("utf-8", "surrogatepass") if spans else text

    def output(self, data: bytes) -> bytes:
        spans = self.spans(data) if self._forms else ()
        return _without(data, spans) if spans else data

    def data(self, data: object) -> object:
        """JSON data with every string in it redacted, keys included."""
        if not self._forms:
            return data
        if isinstance(data, str):
            return self.text(data)
        if isinstance(data, dict):
            return self.mapping(data)
        if isinstance(data, list | tuple):
            return [self.data(item) for item in data]
        return data

    def mapping(self, data: Mapping[str, Any]) -> dict[str, Any]:
        return {self.text(str(key)): self.data(value) for key, value in data.items()}

    def result(self, result: ToolResult) -> ToolResult:
        """The result without any secret, in whatever part of it."""
        if not self._forms:
            return result
        error = result.error
        if error is not None:
            error = ToolError(
                error.code,
                self.text(error.message),
                details=self.mapping(error.details),
                blocked_by=error.blocked_by,
            )
        return ToolResult(
            tool_call_id=result.tool_call_id,
            output=self.text(result.output),
            value=self.data(result.value),
            error=error,
            warnings=[self.text(warning) for warning in result.warnings],
            metadata=self.mapping(result.metadata),
        )

    def stream(self) -> Stream:
        """For what arrives in pieces."""
        return Stream(self)

    def watching(self, observe: Observer) -> Watching:
        """For whoever watches the call: sees what happens without its secrets."""
        return Watching(self, observe)

    def spans(self, data: bytes) -> list[tuple[int, int]]:
        """Where secrets stand; those that touch or overlap are one."""
        found: list[tuple[int, int]] = []
        place, search = 0, self._compiled().search
        while (match := search(data, place)) is not None:
            # From the next byte on: another one may begin inside of this one.
            core, place = match.start(), match.start() + 1
            for form in self._forms:
                begin = form.begins(data, core)
                end = -1 if begin < 0 else form.follow(data, core)[0]
                if end < 0:
                    continue
                if found and begin <= found[-1][1]:
                    found[-1] = (min(begin, found[-1][0]), max(end, found[-1][1]))
                else:
                    found.append((begin, end))
        return found

    def settled(self, data: bytes) -> int:
        """How much of the beginning can be no part of a secret that is not whole yet."""
        self._compiled()
        size = len(data)
        for core in range(max(0, size - self._reach), size):
            if data[core] not in self._first:
                continue
            for form in self._forms:
                begin = form.begins(data, core)
                if begin >= 0 and form.follow(data, core)[1]:
                    return begin
        # The next byte may be the first of one whose lead has come.
        for place in range(max(0, size - _WIDEST_GAP - 1), size if self._leads else 0):
            rest = data[place + 1 :]
            if data[place] in self._leads and any(gap.startswith(rest) for gap in _BETWEEN_BASE64):
                return place
        return size

    def _compiled(self) -> re.Pattern[bytes]:
        if self._pattern is None:
            self._pattern = re.compile(b"|".join(form.pattern() for form in self._forms) or b"(?!)")
            firsts = (text[:1] for form in self._forms for text in form.tokens[0])
            self._first = frozenset(b"".join(firsts))
        return self._pattern


class Stream:
    """A stream of bytes without its secrets: what may belong to one is held until that is known."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = b""
        # So many of the held bytes stand for a mark that was given already; None: there is none
        # right before them.
        self._covered: int | None = None

    def feed(self, data: bytes) -> bytes:
        """What can be shown by now."""
        if not self._redactor:
            return data
        held = self._held + data
        return self._given(held, self._redactor.settled(held))

    def end(self) -> bytes:
        """The rest."""
        return self._given(self._held, len(self._held)) if self._held else b""

    def _given(self, data: bytes, settled: int) -> bytes:
        spans = self._redactor.spans(data)
        marked = self._covered is not None
        if self._covered is not None:
            spans = _joined([(0, self._covered), *spans])
        shown, place, covered = bytearray(), 0, None
        for start, end in spans:
            if start >= settled and (start or not marked):
                break
            shown += data[place:start]
            if start or not marked:
                shown += _MARK
            place = min(end, settled)
            covered = end - settled if end >= settled else None
        shown += data[place:settled]
        self._held, self._covered = data[settled:], covered
        return bytes(shown)


class Watching:
    """An observer between a call and another one. `end` gives on what was held back."""

    def __init__(self, redactor: Redactor, observe: Observer) -> None:
        self._redactor = redactor
        self._observe = observe
        self._streams: dict[int, Stream] = {}

    def __call__(self, event: Event) -> None:
        if not isinstance(event, OutputArrived):
            # What a step has written belongs before what is said of its end.
            self.end()
            self._observe(event)
            return
        stream = self._streams.setdefault(event.stream, self._redactor.stream())
        self._give(event.stream, stream.feed(event.data))

    def end(self) -> None:
        for number, stream in self._streams.items():
            self._give(number, stream.end())

    def _give(self, stream: int, data: bytes) -> None:
        if data:
            self._observe(OutputArrived(stream, data))


def _forms(secret: str) -> Iterator[Form]:
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
        tokens += [_spelled(byte), _BETWEEN_BASE64]
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


def _without(data: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    pieces, place = [], 0
    for start, end in spans:
        pieces += [data[place:start], _MARK]
        place = end
    return b"".join((*pieces, data[place:]))


def _joined(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in spans:
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _longest_first(text: bytes) -> tuple[int, bytes]:
    return -len(text), text
