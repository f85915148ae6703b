"""The proxy: the only way from a sandbox with a host list to the network.

    payload ──▶ 127.0.0.1 inside the sandbox ──▶ this process, in the host's network ──▶ host

`proxyclient.py` starts this file as a program of its own, with an empty environment and without the
package around it. It accepts on a socket that was made inside the sandbox's network namespace,
speaks HTTP (CONNECT, and plain requests, one per connection), and dies when the lifetime pipe ends.
A name is resolved here and once; the connection goes to the very address that was checked.
"""

from __future__ import annotations

import _socket  # the public modules of both cost a whole interpreter start
import _thread
import errno
import os
import resource
import select
import sys
import time

if __name__ == "__main__":
    # At the end: the names of our modules must not hide those of the standard library.
    _folder = os.path.dirname(os.path.abspath(__file__))
    sys.path += [_folder, os.path.join(os.path.dirname(_folder), "core")]

TYPE_CHECKING = False
if TYPE_CHECKING or __package__:
    from tongs.core import hosts
    from tongs.sandbox.proxyhttp import TOKEN, Refusal, Tunnel, parse_request
else:  # the same files, without their package
    import hosts
    from proxyhttp import TOKEN, Refusal, Tunnel, parse_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tongs.core.annotations import Any, TypeAlias
    from tongs.sandbox.proxyhttp import Body

    # As getaddrinfo gives them: family, and what connect takes.
    Address: TypeAlias = tuple[int, tuple[Any, ...]]

# Descriptors of this process.
LISTENING = 3
LIFETIME = 4
REPORT = 5
CONFIGURATION = 6

CONNECTIONS = 128
HEAD_BYTES = 64 * 1024
# Of one name; more would only be tried in vain.
ADDRESSES = 8
# So many reports fit the pipe even if nobody ever reads it.
REPORTS = 100
REPORT_BYTES = 400
ESTABLISHED = b"HTTP/1.1 200 Connection established\r\n\r\n"

# Most that is held of one direction of one connection.
_PIECE = 64 * 1024
# How long the other side may take to end after a refusal.
_LINGER = 2.0
_STACK = 512 * 1024


class Configuration:
    """What one proxy lets through, and how long it waits, in seconds."""

    __slots__ = ("connect", "entries", "grants", "head", "idle")

    def __init__(self, text: str) -> None:
        """From lines like `allow example.org`, `private 10.0.0.0/8` and `head 10`."""
        self.entries: list[hosts.Entry] = []
        self.grants: list[hosts.Grant] = []
        self.head, self.connect, self.idle = 10.0, 20.0, 300.0
        for line in text.splitlines():
            word, _, value = line.partition(" ")
            if word == "allow":
                self.entries.append(hosts.parse(value))
            elif word == "private":
                self.grants.append(hosts.parse_grant(value))
            elif word in {"head", "connect", "idle"}:
                setattr(self, word, float(value))
            else:
                raise ValueError(f"unknown setting: {word}")


def check_name(configuration: Configuration, host: str, port: int) -> None:
    named = f"{hosts.bracketed(host)}:{port}"
    if not hosts.allowed(configuration.entries, host, port):
        wanted = hosts.bracketed(host) if port in hosts.DEFAULT_PORTS else named
        raise Refusal(
            403,
            f"{named} is not in the hosts of this tool; to let it, add `{wanted}` to "
            "permissions.network",
            f"{named} is not in permissions.network",
        )
    if problem := hosts.private_name(configuration.grants, host):
        raise _private(named, problem)


def check_addresses(
    configuration: Configuration, host: str, port: int, addresses: Iterable[str]
) -> None:
    if problem := hosts.private_address(configuration.grants, host, addresses, _is_own):
        raise _private(f"{hosts.bracketed(host)}:{port}", problem)


def _private(named: str, problem: str) -> Refusal:
    return Refusal(
        403,
        f"{named} is {problem}; besides permissions.network it needs an entry in "
        "security.allow_private_hosts, which only a person can give",
        f"{named} is {problem}: not in security.allow_private_hosts",
    )


def _is_own(address: str) -> bool:
    """Whether a public address is one of ours: from it, what listens here on all is reached."""
    family = _socket.AF_INET6 if ":" in address else _socket.AF_INET
    probe = _socket.socket(family, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC)
    try:
        probe.connect((address, 9))  # sends nothing
        return bool(probe.getsockname()[0] == address)
    except OSError:
        return False
    finally:
        probe.close()


def resolve(host: str, port: int) -> list[Address]:
    try:
        # As bytes: text would load the codec for international names.
        found = _socket.getaddrinfo(host.encode(), port, 0, _socket.SOCK_STREAM)
    except OSError:
        raise Refusal(502, f"{host} cannot be resolved") from None
    return [(int(family), address) for family, _, _, _, address in found]


def connected(addresses: Sequence[Address], named: str, seconds: float) -> _socket.socket:
    """A connection to the first address that answers; each gets its share of the time."""
    deadline = time.monotonic() + seconds
    failed = Refusal(502, f"{named} cannot be reached")
    for at, (family, address) in enumerate(addresses):
        made = _socket.socket(family, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        try:
            made.settimeout(max(0.01, (deadline - time.monotonic()) / (len(addresses) - at)))
            made.connect(address)
            made.setblocking(False)
            made.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
            return made
        except OSError as error:
            made.close()
            if isinstance(error, TimeoutError):
                failed = Refusal(504, f"{named} does not answer")
            elif error.strerror:
                failed = Refusal(502, f"{named} cannot be reached: {error.strerror}")
    raise failed


class Flow:
    """One direction of a connection. At most one piece of it is held here."""

    __slots__ = ("body", "ended", "moved", "pending", "sink", "source", "tells_end")

    def __init__(
        self,
        source: _socket.socket,
        sink: _socket.socket,
        body: Body,
        pending: bytes,
        *,
        tells_end: bool,
    ) -> None:
        self.source = source
        self.sink = sink
        self.body = body
        self.pending = pending
        # A plain request tells its own end; some hosts take a half-close for a client that left.
        self.tells_end = tells_end
        self.moved = False
        self.ended = False

    def waits(self) -> tuple[_socket.socket, int]:
        return (self.sink, select.POLLOUT) if self.pending else (self.source, select.POLLIN)

    def move(self) -> None:
        try:
            if self.pending:
                self._write()
            else:
                self._read()
        except BlockingIOError:
            pass

    def _read(self) -> None:
        data = self.source.recv(_PIECE)
        if data:
            self.moved = True
            if not self.body.done:
                self.pending = self.body.fed(data)
            return
        self.body.end()
        self.ended = True
        if self.tells_end:
            _shut(self.sink)

    def _write(self) -> None:
        try:
            self.pending = self.pending[self.sink.send(self.pending) :]
        except (BrokenPipeError, ConnectionResetError):
            # Its reader is gone. What that one has said before comes the other way.
            self.pending = b""
            self.ended = True


def relay(up: Flow, down: Flow, idle: float) -> None:
    """Move bytes both ways until both have ended, or the answer to a plain request has."""
    while not (down.ended and (up.ended or not up.tells_end)):
        wanted: dict[int, int] = {}
        for flow in (up, down):
            if not flow.ended:
                socket, event = flow.waits()
                wanted[socket.fileno()] = wanted.get(socket.fileno(), 0) | event
        poller = select.poll()
        for number, events in wanted.items():
            poller.register(number, events)
        ready = dict(poller.poll(idle * 1000))
        if not ready:
            raise TimeoutError
        for flow in (up, down):
            if not flow.ended and flow.waits()[0].fileno() in ready:
                flow.move()


def read_head(client: _socket.socket, seconds: float) -> tuple[bytes, bytes]:
    """All bytes before the first empty line, and those already there after it."""
    deadline = time.monotonic() + seconds
    data = b""
    while len(data) <= HEAD_BYTES:
        try:
            client.settimeout(max(0.001, deadline - time.monotonic()))
            piece = client.recv(_PIECE)
        except TimeoutError:
            raise Refusal(408, "the request did not come in time") from None
        if not piece:
            raise ConnectionResetError
        data += piece
        head, end, rest = data.partition(b"\r\n\r\n")
        # At once, since such a head may never end in the way awaited here.
        if data[0] not in TOKEN or head.count(b"\n") != head.count(b"\r\n"):
            raise Refusal(400, "the request is malformed")
        if end and len(head) <= HEAD_BYTES:
            return head, rest
    raise Refusal(431, "the head of the request is too long")


def converse(client: _socket.socket, configuration: Configuration) -> None:
    """Serve one connection. Raises Refusal, or OSError where it has to break off."""
    head, rest = read_head(client, configuration.head)
    request = parse_request(head)
    host, port = request.host, request.port
    named = f"{hosts.bracketed(host)}:{port}"
    check_name(configuration, host, port)
    addresses = resolve(host, port)
    check_addresses(configuration, host, port, [address[0] for _, address in addresses])
    server = connected(addresses[:ADDRESSES], named, configuration.connect)
    plain = bool(request.head)
    down = Flow(server, client, Tunnel(), b"" if plain else ESTABLISHED, tells_end=not plain)
    try:
        first = request.head + request.body.fed(rest)
        up = Flow(client, server, request.body, first, tells_end=not plain)
        client.setblocking(False)
        client.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        relay(up, down, configuration.idle)
        if plain and not down.moved:
            raise ConnectionResetError
    except (OSError, Refusal) as error:
        # Half a request must not look like a whole one, nor half an answer.
        _reset(server)
        if down.moved or not plain:
            raise ConnectionResetError from None
        if isinstance(error, Refusal):
            raise
        if isinstance(error, TimeoutError):
            raise Refusal(504, f"{named} does not answer") from None
        raise Refusal(502, f"{named} has closed the connection without an answer") from None
    finally:
        server.close()


class Reports:
    """Tells refusals to Tongs: each once, and not more of them than the pipe holds."""

    __slots__ = ("_lock", "_said")

    def __init__(self) -> None:
        self._lock = _thread.allocate_lock()
        self._said: set[str] = set()

    def add(self, text: str) -> None:
        with self._lock:
            if text and text not in self._said and len(self._said) < REPORTS:
                self._said.add(text)
                try:  # noqa: SIM105 - contextlib is slow to load
                    os.write(REPORT, text.encode("ascii", "replace")[:REPORT_BYTES] + b"\n")
                except OSError:
                    pass  # nobody listens any more


def _shut(socket: _socket.socket) -> None:
    try:  # noqa: SIM105 - as above
        socket.shutdown(_socket.SHUT_WR)
    except OSError:
        pass


def _reset(socket: _socket.socket) -> None:
    """Let its closing be an error at the other side."""
    now = (1).to_bytes(4, sys.byteorder) + bytes(4)
    socket.setsockopt(_socket.SOL_SOCKET, _socket.SO_LINGER, now)


def _part(client: _socket.socket) -> None:
    """Close so that the last answer arrives: unread bytes would turn it into an error."""
    _shut(client)
    deadline = time.monotonic() + _LINGER
    while time.monotonic() < deadline:
        client.settimeout(max(0.001, deadline - time.monotonic()))
        if not client.recv(_PIECE):
            return


def _work(
    client: _socket.socket, configuration: Configuration, reports: Reports, left: int
) -> None:
    try:
        try:
            converse(client, configuration)
        except Refusal as refusal:
            reports.add(refusal.report)
            client.settimeout(_LINGER)
            client.sendall(refusal.answer())
        except OSError:
            _reset(client)
            return
        _part(client)
    except OSError:
        pass  # the client is gone
    finally:
        client.close()
        os.write(left, b".")


def _accepted(listening: _socket.socket) -> _socket.socket:
    number: int
    number, _ = listening._accept()  # type: ignore[attr-defined]  # noqa: SLF001 - as `socket` does
    return _socket.socket(fileno=number)


def _settle() -> None:
    """Keep nothing of the process that started this one."""
    os.chdir("/")
    os.setsid()
    for name in os.listdir("/proc/self/fd"):
        if int(name) > CONFIGURATION:
            try:  # noqa: SIM105 - as above
                os.close(int(name))
            except OSError:
                pass  # the one that listed the folder
    os.set_blocking(REPORT, False)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    enough = 8 * CONNECTIONS
    wanted = enough if hard == resource.RLIM_INFINITY else min(enough, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    _thread.stack_size(_STACK)


def serve() -> None:
    """Serve until the lifetime pipe or the listening socket ends."""
    _settle()
    with open(CONFIGURATION, encoding="ascii") as file:
        configuration = Configuration(file.read())
    reports = Reports()
    listening = _socket.socket(fileno=LISTENING)
    listening.setblocking(False)
    gone, left = os.pipe()
    poller = select.poll()
    poller.register(LIFETIME, select.POLLIN)
    poller.register(gone, select.POLLIN)
    busy = 0
    short = False
    while True:
        # Those beyond the limit wait where the kernel queues them.
        takes = busy < CONNECTIONS and not short
        poller.register(LISTENING, select.POLLIN if takes else 0)
        # What ran short may come back without one of ours ending.
        ready = dict(poller.poll(100 if short else None))
        short = False
        if LIFETIME in ready:
            return
        if gone in ready:
            busy -= len(os.read(gone, CONNECTIONS))
        if LISTENING in ready:
            try:
                client = _accepted(listening)
                _thread.start_new_thread(_work, (client, configuration, reports, left))
                busy += 1
            except (BlockingIOError, ConnectionAbortedError):
                pass
            except (OSError, RuntimeError) as error:
                if isinstance(error, OSError) and error.errno in {errno.EINVAL, errno.EBADF}:
                    return
                short = True


if __name__ == "__main__":
    try:
        serve()
    finally:
        # Without waiting for a thread.
        os._exit(0)
