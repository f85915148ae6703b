"""The hosts a tool may reach: how they are written, which names match, which addresses are barred.

An entry is `api.github.com`, `*.example.org:443`, `example.org:*`, `192.0.2.7` or `[2001:db8::7]`.
Names match by their text. What a name resolves to is judged apart, by `address_problem`: a name in
the list must not lead to this machine, its network or a cloud's metadata service, unless a person
granted that. The sandbox's proxy runs this file without the package around it: standard library
only, and of that only what an interpreter loads cheaply.
"""

from __future__ import annotations

from _socket import AF_INET, AF_INET6, inet_ntop, inet_pton

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tongs.core.annotations import TypeAlias

# Where an entry names no port: HTTP and HTTPS.
DEFAULT_PORTS = (80, 443)

_LETTERS_DIGITS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789")
# No host name by the book has an underscore, but many in use have one.
_INNER = _LETTERS_DIGITS | {"-", "_"}
_HEXADECIMAL = frozenset("0123456789abcdef")
# The two versions of IDNA lead to different domains here, and Python knows only the older one.
_AMBIGUOUS = frozenset("ßẞς\u200c\u200d")

_METADATA_NAMES = frozenset(
    "instance-data instance-data.ec2.internal metadata metadata.goog "
    "metadata.google.internal".split()
)


class Entry:
    """One entry of a host list. `ports` is None where every port is meant."""

    __slots__ = ("host", "ports", "subdomains")

    def __init__(self, host: str, subdomains: bool, ports: tuple[int, ...] | None) -> None:
        self.host = host
        self.subdomains = subdomains
        self.ports = ports

    def matches(self, host: str) -> bool:
        return host.endswith("." + self.host) if self.subdomains else host == self.host

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        """The entry in its one canonical spelling; `parse` gives the same entry back."""
        name = ("*." if self.subdomains else "") + bracketed(self.host)
        if self.ports == DEFAULT_PORTS:
            return name
        return f"{name}:*" if self.ports is None else f"{name}:{self.ports[0]}"

    __repr__ = __str__


class Range:
    """The addresses whose first `bits` bits are those of `address`."""

    __slots__ = ("address", "bits")

    def __init__(self, address: str, bits: int) -> None:
        self.address = address
        self.bits = bits

    def __contains__(self, address: str) -> bool:
        mine, theirs = _packed(self.address), _packed(address)
        if len(mine) != len(theirs):
            return False
        spare = 8 * len(mine) - self.bits
        return int.from_bytes(mine, "big") >> spare == int.from_bytes(theirs, "big") >> spare

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Range) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    __repr__ = __str__


if TYPE_CHECKING:
    Grant: TypeAlias = Entry | Range


def parse(entry: str) -> Entry:
    """One entry of `permissions.network`. Raises ValueError with a text for its author."""
    try:
        host, port = _divided(entry)
        subdomains = host.startswith("*.")
        if subdomains:
            host = host[2:]
        if "*" in host:
            raise ValueError(
                "`*` stands only as the whole first label, as in `*.example.org`"
                if host != "*"
                else "for every host, say `network: true`"
            )
        host = canonical(host)
        if subdomains and is_address(host):
            raise ValueError("an address has no subdomains")
        ports = DEFAULT_PORTS if port is None else None if port == "*" else (port_number(port),)
        return Entry(host, subdomains, ports)
    except ValueError as error:
        raise ValueError(f"{_shown(entry)} is no host: {error}") from None


def parse_grant(entry: str) -> Grant:
    """One entry of `security.allow_private_hosts`: a name, an address, or a range like 10.0.0.0/8.

    Raises ValueError with a text for the person.
    """
    address, slash, bits = entry.partition("/")
    if address.startswith("[") and address.endswith("]"):
        address = address[1:-1]
    if not is_address(address):
        made = parse(entry)
        if made.ports != DEFAULT_PORTS:
            raise ValueError(f"{_shown(entry)} must not name a port: it is about addresses")
        return made
    address = canonical(address)
    if _unmapped(address) != address:
        raise ValueError(f"{_shown(entry)}: write the IPv4 address itself, {_unmapped(address)}")
    width = 8 * len(_packed(address))
    if slash and not (_is_number(bits) and int(bits) <= width):
        raise ValueError(f"{_shown(entry)} is no range: after `/` comes a number up to {width}")
    made_range = Range(address, int(bits) if slash else width)
    first = _first(made_range)
    if first != address:
        raise ValueError(f"{_shown(entry)} is no range: it starts at {first}, so write that")
    return made_range


def allowed(entries: Iterable[Entry], host: str, port: int) -> bool:
    """Whether a canonical host and a port are in the list. An empty list has nothing in it."""
    return any(
        entry.matches(host) and (entry.ports is None or port in entry.ports) for entry in entries
    )


def granted(grants: Iterable[Grant], host: str, address: str = "") -> bool:
    """Whether a person lets this host, or the address it has, be private."""
    address = _unmapped(address)
    return any(
        grant.matches(host) if isinstance(grant, Entry) else bool(address) and address in grant
        for grant in grants
    )


def private_name(grants: Iterable[Grant], host: str) -> str:
    """What a name stands for that only a person may grant, and nobody has; else empty."""
    problem = name_problem(host)
    return problem if problem and not granted(grants, host) else ""


def private_address(
    grants: Iterable[Grant], host: str, addresses: Iterable[str], is_own: Callable[[str], bool]
) -> str:
    """As `private_name`, for what the name was resolved to. `is_own` knows this machine.

    All of them, since the next answer of the same server may hold another mixture.
    """
    for address in addresses:
        if granted(grants, host, address):
            continue
        problem = address_problem(address)
        if not problem and is_own(address):
            problem = "this machine itself"
        if problem:
            return problem if address == host else f"{address}, {problem}"
    return ""


def canonical(host: str) -> str:
    """A host name or an address in its one spelling. Raises ValueError.

    Lower case, non-ASCII labels as `xn--`, no dot at the end; IPv6 without brackets.
    """
    if is_address(host):
        family = AF_INET6 if ":" in host else AF_INET
        return inet_ntop(family, inet_pton(family, host))
    if len(host) > 254:
        raise ValueError("a host name has at most 253 characters")
    name = (host if host.isascii() else _ascii(host)).lower().removesuffix(".")
    if not name:
        raise ValueError("the host name is missing")
    if len(name) > 253:
        raise ValueError("a host name has at most 253 characters")
    labels = name.split(".")
    for label in labels:
        _check_label(label)
    last = labels[-1]
    if last.isdigit() or (last.startswith("0x") and _HEXADECIMAL.issuperset(last[2:])):
        raise ValueError("write an IPv4 address as four decimal numbers, like 192.0.2.7")
    return name


def is_address(host: str) -> bool:
    """Whether it is an IPv4 address in its usual form, or an IPv6 address without brackets."""
    try:
        packed = _packed(host)
    except (OSError, ValueError):
        return False
    # Some systems read `010` as eight, others as ten.
    return len(packed) == 16 or host == inet_ntop(AF_INET, packed)


def bracketed(host: str) -> str:
    """The host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def port_number(text: str) -> int:
    if not _is_number(text) or not 1 <= int(text) <= 65535:
        raise ValueError("a port is a number from 1 to 65535")
    return int(text)


def name_problem(host: str) -> str:
    """Why a name is barred whatever it resolves to, or an empty text."""
    return "the name of a cloud's metadata service" if host in _METADATA_NAMES else ""


def address_problem(address: str) -> str:
    """Why an address is no public one, or an empty text. Raises ValueError if it is no address."""
    try:
        packed = _packed(_unmapped(address))
    except (OSError, ValueError):
        raise ValueError(f"{_shown(address)} is no address") from None
    if len(packed) == 4:
        return _kind(packed, _BARRED_4)
    if inside := _embedded(packed):
        kind = _kind(inside, _BARRED_4)
        return f"{kind}: {inet_ntop(AF_INET, inside)} is inside it" if kind else ""
    # Of all IPv6 only this eighth is given out for the public internet.
    return _kind(packed, _BARRED_6) or ("" if packed[0] >> 5 == 1 else "reserved")


def _networks(table: str) -> tuple[tuple[int, int, str], ...]:
    """Value, number of bits, and what the addresses are."""
    made = []
    for line in table.split("\n"):
        network, _, kind = line.strip().partition(" ")
        address, _, bits = network.partition("/")
        packed = _packed(address)
        value = int.from_bytes(packed, "big") >> (8 * len(packed) - int(bits))
        made.append((value, int(bits), kind))
    return tuple(made)


def _packed(address: str) -> bytes:
    return inet_pton(AF_INET6 if ":" in address else AF_INET, address)


_BARRED_4 = _networks(
    """0.0.0.0/8 unspecified
    10.0.0.0/8 private
    100.64.0.0/10 shared
    127.0.0.0/8 loopback
    168.63.129.16/32 a cloud's metadata service
    169.254.0.0/16 link-local
    172.16.0.0/12 private
    192.0.0.0/24 reserved
    192.0.2.0/24 reserved
    192.88.99.0/24 reserved
    192.168.0.0/16 private
    198.18.0.0/15 reserved
    198.51.100.0/24 reserved
    203.0.113.0/24 reserved
    224.0.0.0/4 multicast
    240.0.0.0/4 reserved"""
)
_BARRED_6 = _networks(
    """::/128 unspecified
    ::1/128 loopback
    fc00::/7 private
    fe80::/10 link-local
    fec0::/10 private
    ff00::/8 multicast
    2001::/23 reserved
    2001:db8::/32 reserved
    3fff::/20 reserved"""
)
_NAT64 = inet_pton(AF_INET6, "64:ff9b::")[:12]
_MAPPED = inet_pton(AF_INET6, "::ffff:0.0.0.0")[:12]
_6TO4 = b"\x20\x02"


def _kind(packed: bytes, networks: tuple[tuple[int, int, str], ...]) -> str:
    value, width = int.from_bytes(packed, "big"), 8 * len(packed)
    for network, bits, kind in networks:
        if value >> (width - bits) == network:
            return kind
    return ""


def _embedded(packed: bytes) -> bytes:
    """The IPv4 address that a translator or a tunnel takes out of an IPv6 one."""
    if packed.startswith(_NAT64):
        return packed[12:]
    return packed[2:6] if packed.startswith(_6TO4) else b""


def _unmapped(address: str) -> str:
    """The address without a zone; and one of IPv4 in the clothes of IPv6 is one of IPv4."""
    if ":" not in address:
        return address
    address = address.partition("%")[0]
    packed = _packed(address)
    return inet_ntop(AF_INET, packed[12:]) if packed.startswith(_MAPPED) else address


def _first(found: Range) -> str:
    packed = _packed(found.address)
    spare = 8 * len(packed) - found.bits
    value = int.from_bytes(packed, "big") >> spare << spare
    family = AF_INET if len(packed) == 4 else AF_INET6
    return inet_ntop(family, value.to_bytes(len(packed), "big"))


def _divided(entry: str) -> tuple[str, str | None]:
    """Host and port of an entry, as far as it has the shape of one."""
    if "://" in entry:
        raise ValueError("give the host only, without `https://` or the like")
    if any(character in entry for character in "/?#\\"):
        raise ValueError("give the host only, without a path")
    if "@" in entry:
        raise ValueError("give the host only, without a user name")
    if entry.startswith("["):
        host, closed, port = entry[1:].partition("]")
        if not closed or ":" not in host or not is_address(host) or port[:1] not in {"", ":"}:
            raise ValueError("inside the brackets comes an IPv6 address, after them `:` and a port")
        return host, port[1:] if port else None
    if entry.count(":") > 1:
        raise ValueError("write an IPv6 address in brackets, like [2001:db8::7]:443")
    host, colon, port = entry.partition(":")
    return host, port if colon else None


def _check_label(label: str) -> None:
    if not label:
        raise ValueError("between two dots a label is missing")
    if len(label) > 63:
        raise ValueError("a label has at most 63 characters")
    if not _INNER.issuperset(label):
        raise ValueError("a host name has letters, digits, `-` and dots only")
    if label[0] == "-" or label[-1] == "-":
        raise ValueError("a label neither starts nor ends with `-`")


def _ascii(host: str) -> str:
    if _AMBIGUOUS.isdisjoint(host):
        try:
            return host.encode("idna").decode("ascii")
        except UnicodeError:
            pass
    raise ValueError("write it in its `xn--` form, since its letters have no single one")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 5 and str(int(text)) == text


def _shown(entry: str) -> str:
    """Text of somebody else inside a message: one short line."""
    return f"`{entry[:80]}`" if entry.isprintable() else ascii(entry[:80])
