"""URLs of http tools: taken apart strictly, and put together so that a value stays a value.

Only what has one reading is accepted: two programs that disagree about the host of a URL are how
requests get led astray.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tongs.core import hosts
from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.template.dollar import DollarText, Name, Part
from tongs.template.values import ABSENT, ValueRefused, Values, plain_text, utf8

PORTS = {"http": 80, "https": 443}

_START = re.compile(r"(?:([A-Za-z][A-Za-z0-9+.-]*):)?//([^/?#]*)")
_UNRESERVED = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~")
# What an author may write in a path or a query as it is; `%` begins what they encoded themselves.
_AS_IT_IS = _UNRESERVED | frozenset(b"!$&'()*+,;=:@/?%")
_LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_UNSEEN = re.compile(r"[\x00-\x20\x7f]")
_PIECES = re.compile(r"[/\\]")


@dataclass(frozen=True, slots=True)
class Address:
    """Where a request goes."""

    scheme: str
    host: str
    port: int

    @property
    def authority(self) -> str:
        """As in the Host header: without the port that the scheme implies."""
        name = hosts.bracketed(self.host)
        return name if self.port == PORTS[self.scheme] else f"{name}:{self.port}"

    @property
    def origin(self) -> str:
        return f"{self.scheme}://{self.authority}"

    @property
    def entry(self) -> str:
        """The entry of `permissions.network` that lets it be reached."""
        name = hosts.bracketed(self.host)
        return name if self.port in PORTS.values() else f"{name}:{self.port}"

    def keeps_secrets_of(self, before: Address) -> bool:
        """Whether what was meant for `before` may be sent here: the same place, or its TLS."""
        upgraded = Address("https", before.host, PORTS["https"])
        return self == before or (before.port == PORTS["http"] and self == upgraded)


def divided(url: str) -> tuple[Address, str]:
    """The address of a URL and what comes after it. Raises ValueError with a text for its author.

    A fragment is no part of a request and is left out.
    """
    refuse_unseen(url)
    start = _START.match(url)
    if start is None or start[1] is None or start[1].lower() not in PORTS:
        raise ValueError("it must start with https:// or http://")
    scheme, authority = start[1].lower(), start[2]
    if "@" in authority:
        raise ValueError("a user name or a password must not stand in it")
    name, port = _host_and_port(authority)
    number = PORTS[scheme] if port is None else hosts.port_number(port)
    rest = url[start.end() :].partition("#")[0]
    return Address(scheme, hosts.canonical(name), number), rest


def refuse_unseen(text: str) -> None:
    if _UNSEEN.search(text):
        raise ValueError("a URL has no blanks and no control characters")


def _host_and_port(authority: str) -> tuple[str, str | None]:
    if authority.startswith("["):
        name, closed, port = authority[1:].partition("]")
        if not closed or ":" not in name or port[:1] not in {"", ":"}:
            raise ValueError("inside the brackets comes an IPv6 address, after them `:` and a port")
        return name, port[1:] if port else None
    name, colon, port = authority.partition(":")
    return name, port if colon else None


def pieces(text: DollarText, separator: str) -> list[DollarText]:
    """The text cut at every separator that its author wrote."""
    found: list[list[Part]] = [[]]
    for part in text.parts:
        if isinstance(part, Name):
            found[-1].append(part)
            continue
        first, *others = part.split(separator)
        found[-1] += [first] if first else []
        found += [[each] if each else [] for each in others]
    return [DollarText(tuple(parts)) for parts in found]


def encoded(value: Any) -> str:
    """A value as part of a URL: everything but letters, digits and `-._~` is percent-encoded."""
    return "".join(
        chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in utf8(plain_text(value))
    )


def authors(text: str) -> str:
    """Text of an author as part of a URL: what they encoded themselves stays."""
    text = _LONE_PERCENT.sub("%25", text)
    return "".join(chr(byte) if byte in _AS_IT_IS else f"%{byte:02X}" for byte in utf8(text))


def rendered(text: DollarText, values: Values) -> str:
    return "".join(
        encoded(values.get(part.name, ABSENT)) if isinstance(part, Name) else authors(part)
        for part in text.parts
    )


def path(segments: Iterable[DollarText], values: Values) -> str:
    """The path. Raises ValueRefused for a value that would make it another path.

    Percent-encoding does not help against `..`: servers take `%2E%2E` for the same.
    """
    found = []
    for segment in segments:
        if segment.names:
            raw = segment.text(values)
            name = next(part.name for part in segment.parts if isinstance(part, Name))
            if not raw:
                raise ValueRefused(name, "is empty, but it is a part of the path of the URL")
            if any(piece in {".", ".."} for piece in _PIECES.split(raw)):
                raise ValueRefused(name, "would lead to another path (`.` or `..`)")
        found.append(rendered(segment, values))
    return "/".join(found)


def is_absent(text: DollarText, values: Values) -> bool:
    """Whether it has names, and none of them was given."""
    names = text.names
    return bool(names) and all(values.get(name, ABSENT) is ABSENT for name in names)


def pairs(query: Iterable[tuple[str, Any]], values: Values) -> list[tuple[str, Any]]:
    """Keys with their values: an array repeats its key, what is absent is left out."""
    found: list[tuple[str, Any]] = []
    for key, entry in query:
        for each in entry if isinstance(entry, list) else [entry]:
            if isinstance(each, DollarText) and is_absent(each, values):
                continue
            value = each.value(values) if isinstance(each, DollarText) else each
            many = value if isinstance(value, list) else [value]
            found += [(key, item) for item in many if item is not None]
    return found


def form(found: Iterable[tuple[str, Any]]) -> str:
    """As in a query, or in the body of a form."""
    return "&".join(f"{encoded(key)}={encoded(value)}" for key, value in found)
