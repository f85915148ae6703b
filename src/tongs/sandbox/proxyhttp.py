"""Plain HTTP requests as the proxy reads them: strictly, and written anew.

Two readers who see different requests in the same bytes are how a request is smuggled past a check.
So whatever could be read in two ways is refused, and a host gets nothing that was not understood
here. `proxy.py` runs this file without the package around it, see there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongs.core import hosts
    from tongs.core.annotations import TypeAlias
elif __package__:
    from tongs.core import hosts
else:
    import hosts

TOKEN = frozenset(b"!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

_LINE_BYTES = 4096
_TRAILERS = 100
_HEXADECIMAL = frozenset(b"0123456789abcdefABCDEF")
_CONTROL = frozenset((*range(9), *range(10, 32), 127))
# They are about this connection, or we write them ourselves.
_DROPPED = frozenset(
    b"connection content-length host keep-alive proxy-authenticate proxy-authorization "
    b"proxy-connection te trailer transfer-encoding upgrade".split()
)
_REASONS = {
    400: "Bad Request",
    403: "Forbidden",
    408: "Request Timeout",
    431: "Request Header Fields Too Large",
    502: "Bad Gateway",
    504: "Gateway Timeout",
}


class Refusal(Exception):
    """Ends a connection with an answer. `report` is what the person hears of it."""

    def __init__(self, status: int, text: str, report: str = "") -> None:
        super().__init__(text)
        self.status = status
        self.text = text
        self.report = report

    def answer(self) -> bytes:
        body = f"tongs: {self.text}\n".encode("ascii", "backslashreplace")
        return (
            f"HTTP/1.1 {self.status} {_REASONS[self.status]}\r\nContent-Type: text/plain\r\n"
            f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        ).encode() + body


class Tunnel:
    """The body of a CONNECT: whatever comes, until its sender ends it."""

    __slots__ = ("done",)

    def __init__(self) -> None:
        self.done = False

    def fed(self, data: bytes) -> bytes:
        return data

    def end(self) -> None:
        self.done = True


class Counted:
    """A body of a known length; what follows it is dropped."""

    __slots__ = ("done", "left")

    def __init__(self, length: int) -> None:
        self.left = length
        self.done = length == 0

    def fed(self, data: bytes) -> bytes:
        data = data[: self.left]
        self.left -= len(data)
        self.done = self.left == 0
        return data

    def end(self) -> None:
        if not self.done:
            raise Refusal(400, "the body is shorter than its Content-Length")


class Chunked:
    """A body in chunks, written anew: without extensions and trailers, nothing to read in two ways.

    What follows the last chunk is dropped.
    """

    __slots__ = ("_left", "_rest", "_trailers", "done")

    def __init__(self) -> None:
        self._rest = b""
        # Bytes of the present chunk; -1 between two chunks, -2 after the last.
        self._left = -1
        self._trailers = 0
        self.done = False

    def fed(self, data: bytes) -> bytes:
        data = self._rest + data
        made = []
        at = 0
        while not self.done:
            if self._left > 0:
                piece = data[at : at + self._left]
                made.append(piece)
                at += len(piece)
                self._left -= len(piece)
                if self._left:
                    break
            end = data.find(b"\r\n", at)
            if end < 0 or end - at > _LINE_BYTES:
                self._check_unfinished(len(data) - at)
                break
            made.append(self._after(data[at:end]))
            at = end + 2
        self._rest = b"" if self.done else data[at:]
        return b"".join(made)

    def end(self) -> None:
        if not self.done:
            raise Refusal(400, "the body ends inside a chunk")

    def _check_unfinished(self, length: int) -> None:
        # After its bytes a chunk has nothing but the end of the line.
        if length > (1 if self._left == 0 else _LINE_BYTES):
            raise Refusal(400, "a chunk is malformed")

    def _after(self, line: bytes) -> bytes:
        """What to write for a line outside of the chunks' bytes."""
        if self._left == 0:
            if line:
                raise Refusal(400, "a chunk is longer than its size")
            self._left = -1
            return b"\r\n"
        if not _CONTROL.isdisjoint(line):
            raise Refusal(400, "a chunk is malformed")
        if self._left == -2:
            self._trailers += 1
            if self._trailers > _TRAILERS:
                raise Refusal(400, "the body has too many trailers")
            self.done = not line
            return b"\r\n" if self.done else b""
        size = line.partition(b";")[0]
        if not 0 < len(size) <= 15 or not _HEXADECIMAL.issuperset(size):
            raise Refusal(400, "the size of a chunk is malformed")
        self._left = int(size, 16) or -2
        return b"%x\r\n" % int(size, 16)


if TYPE_CHECKING:
    Body: TypeAlias = Tunnel | Counted | Chunked


class Request:
    """One request as far as the proxy has to know it; `head` is what the host gets to read."""

    __slots__ = ("body", "head", "host", "port")

    def __init__(self, host: str, port: int, head: bytes, body: Body) -> None:
        self.host = host
        self.port = port
        self.head = head
        self.body = body


def parse_request(head: bytes) -> Request:
    """A request from all bytes before its empty line. Raises Refusal where it is not clear."""
    lines = head.split(b"\r\n")
    words = lines[0].split(b" ")
    if any(not _CONTROL.isdisjoint(line) for line in lines) or len(words) != 3:
        raise Refusal(400, "the request is malformed")
    method, target, version = words
    if not method or not TOKEN.issuperset(method) or not target.isascii() or b"\t" in target:
        raise Refusal(400, "the request is malformed")
    if version not in {b"HTTP/1.0", b"HTTP/1.1"}:
        raise Refusal(400, "this proxy speaks HTTP/1.1 only")
    fields = [_field(line) for line in lines[1:]]
    if method == b"CONNECT":
        host, port = _authority(target.decode(), 0)
        return Request(host, port, b"", Tunnel())
    host, port, path = _divided(target.decode(), options=method == b"OPTIONS")
    if sum(name == b"host" for name, _, _ in fields) > 1:
        raise Refusal(400, "the request has two Host headers")
    body, framing = _body(fields, version)
    dropped = _DROPPED.union(
        token.strip(b" \t").lower()
        for name, _, value in fields
        if name == b"connection"
        for token in value.split(b",")
    )
    named = hosts.bracketed(host) + (f":{port}" if port != 80 else "")
    made = [b"%s %s %s" % (method, path.encode(), version), b"Host: " + named.encode()]
    made += [line for name, line, _ in fields if name not in dropped]
    made += [*framing, b"Connection: close", b"", b""]
    return Request(host, port, b"\r\n".join(made), body)


def _field(line: bytes) -> tuple[bytes, bytes, bytes]:
    """Name in lower case, the line itself, and the value. A folded line has no name."""
    name, colon, value = line.partition(b":")
    if not colon or not name or not TOKEN.issuperset(name):
        raise Refusal(400, "a header is malformed")
    return name.lower(), line, value.strip(b" \t")


def _divided(target: str, *, options: bool) -> tuple[str, int, str]:
    """Host, port and path of a request line with a whole address in it."""
    scheme, _, rest = target.partition("://")
    if scheme.lower() != "http" or "#" in target:
        raise Refusal(400, "this is a proxy: ask for http://host/path, or CONNECT to host:port")
    end = min((rest + mark).find(mark) for mark in "/?")
    path = rest[end:]
    if not path.startswith("/"):
        path = "*" if options and not path else "/" + path
    return *_authority(rest[:end], 80), path


def _authority(text: str, default: int) -> tuple[str, int]:
    """Host and port; the port may be left out where there is a default."""
    name, colon, port = text.rpartition(":")
    if not colon or "]" in port:
        name, port = text, ""
    try:
        number = hosts.port_number(port) if port or not default else default
        if name.startswith("[") and name.endswith("]") and ":" in name:
            name = name[1:-1]
            if not hosts.is_address(name):
                raise ValueError("inside the brackets comes an IPv6 address")
        elif ":" in name:
            raise ValueError("write an IPv6 address in brackets")
        return hosts.canonical(name), number
    except ValueError as error:
        # Only this text has not been through the grammar of hosts.
        shown = ascii(text[:80])
        raise Refusal(400, f"{shown} is no host: {error}", f"{shown} is no host") from None


def _body(fields: Sequence[tuple[bytes, bytes, bytes]], version: bytes) -> tuple[Body, list[bytes]]:
    """The body that the headers announce, and the headers that announce it to the host."""
    lengths = [value for name, _, value in fields if name == b"content-length"]
    codings = [value.lower() for name, _, value in fields if name == b"transfer-encoding"]
    if codings:
        if lengths or codings != [b"chunked"] or version != b"HTTP/1.1":
            raise Refusal(400, "the length of the body is not announced in one clear way")
        return Chunked(), [b"Transfer-Encoding: chunked"]
    if not lengths:
        return Counted(0), []
    if len(lengths) > 1 or not lengths[0].isdigit() or len(lengths[0]) > 18:
        raise Refusal(400, "Content-Length is malformed")
    return Counted(int(lengths[0])), [b"Content-Length: %d" % int(lengths[0])]
