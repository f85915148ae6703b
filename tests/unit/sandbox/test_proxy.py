"""The proxy for host lists: a real process between real clients and real servers on loopback."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from tests.unit.sandbox.running import children, dies_within, is_alive, open_descriptors

from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import proxy
from tongs.sandbox.proxy import Configuration
from tongs.sandbox.proxyclient import HostProxy, environment
from tongs.sandbox.proxyhttp import Chunked, Counted, Refusal, parse_request

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"
# Long enough for a loaded machine; nothing waits for its end.
PATIENCE = 30.0


class Exchange:
    """What a server was sent on one connection, and the connection."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.data = b""
        self.ended = ""

    def more(self) -> bytes:
        try:
            piece = self.connection.recv(65536)
        except ConnectionResetError:
            self.ended = "broken off"
            raise
        self.data += piece
        if not piece:
            self.ended = "properly"
        return piece

    def answer(self, data: bytes = OK) -> None:
        self.connection.sendall(data)
        self.connection.shutdown(socket.SHUT_WR)

    def break_off(self) -> None:
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.close()


Behaviour = Callable[[Exchange], None]


class Upstream:
    """A server that keeps what it was sent, and after each first head behaves as it is told."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.exchanges: list[Exchange] = []
        self.accepted = threading.Semaphore(0)
        self._behaviour = behaviour
        self._listening = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.port: int = self._listening.getsockname()[1]
        self._threads = [threading.Thread(target=self._serve)]
        self._threads[0].start()

    @property
    def received(self) -> list[bytes]:
        return [exchange.data for exchange in self.exchanges]

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.exchanges.append(Exchange(connection))
            self._threads.append(threading.Thread(target=self._one, args=self.exchanges[-1:]))
            self._threads[-1].start()
            self.accepted.release()

    def _one(self, exchange: Exchange) -> None:
        # A client that leaves is part of many tests.
        with exchange.connection, contextlib.suppress(OSError):
            exchange.connection.settimeout(PATIENCE)
            while b"\r\n\r\n" not in exchange.data and exchange.more():
                pass
            self._behaviour(exchange)
            while exchange.more():
                pass

    def close(self) -> None:
        """Accept nothing more, and wait until all connections have ended."""
        with contextlib.suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for thread in self._threads:
            thread.join(PATIENCE)


def ok(exchange: Exchange) -> None:
    exchange.answer()


def ok_after(end: bytes) -> Behaviour:
    """Takes a body, and answers when it ends so."""

    def behaviour(exchange: Exchange) -> None:
        if b"Expect: 100-continue" in exchange.data:
            exchange.connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while not exchange.data.endswith(end):
            exchange.more()
        exchange.answer()

    return behaviour


def echo(exchange: Exchange) -> None:
    exchange.connection.sendall(exchange.data)
    while piece := exchange.more():
        exchange.connection.sendall(piece)
    exchange.answer(b"<end>")


class Proxied:
    """A proxy that accepts on a loopback port of this machine."""

    def __init__(
        self, entries: Sequence[str], private: Sequence[str] = (), **seconds: float
    ) -> None:
        with socket.create_server(("127.0.0.1", 0), backlog=256) as listening:
            self.port: int = listening.getsockname()[1]
            self.process = HostProxy(listening.fileno(), entries, private, seconds=seconds)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE)

    def ask(self, request: bytes) -> bytes:
        with self.connect() as client:
            client.sendall(request)
            return read_all(client)

    def get(self, authority: str) -> bytes:
        return self.ask(f"GET http://{authority}/ HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def tunnel(self, authority: str) -> socket.socket:
        client = self.connect()
        client.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
        answer = client.recv(len(proxy.ESTABLISHED), socket.MSG_WAITALL)
        assert answer == proxy.ESTABLISHED
        return client

    @property
    def folder(self) -> Path:
        return Path(f"/proc/{self.process.pid}")


def read_all(client: socket.socket) -> bytes:
    data = b""
    while piece := client.recv(65536):
        data += piece
    return data


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


Start = Callable[..., Proxied]
Serve = Callable[..., Upstream]


@pytest.fixture
def serve() -> Iterator[Serve]:
    with contextlib.ExitStack() as opened:

        def made(behaviour: Behaviour = ok) -> Upstream:
            upstream = Upstream(behaviour)
            opened.callback(upstream.close)
            return upstream

        yield made


@pytest.fixture
def start(serve: Serve) -> Iterator[Start]:
    """Depends on `serve`, so that proxies end before the servers they hold open."""
    with contextlib.ExitStack() as opened:

        def made(entries: Sequence[str], private: Sequence[str] = (), **seconds: float) -> Proxied:
            proxied = Proxied(entries, private, **seconds)
            opened.callback(proxied.process.close)
            return proxied

        yield made


# --- the list -------------------------------------------------------------------------------------


def test_a_host_in_the_list_is_reached(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])

    answer = proxied.get(f"localhost:{upstream.port}")

    assert answer == OK
    assert proxied.process.refusals() == []


@pytest.mark.parametrize("request_line", ["GET http://{}/ HTTP/1.1", "CONNECT {} HTTP/1.1"])
@pytest.mark.parametrize("entries", [[], ["other.test:*"], ["*.localhost:*"], ["localhost"]])
def test_a_host_or_a_port_that_is_not_in_the_list_is_refused(
    start: Start, serve: Serve, request_line: str, entries: list[str]
) -> None:
    upstream = serve()
    named = f"localhost:{upstream.port}"
    proxied = start(entries, ["localhost"])

    answer = proxied.ask(f"{request_line.format(named)}\r\n\r\n".encode())

    assert status(answer) == 403
    assert f"add `{named}` to permissions.network".encode() in answer
    assert proxied.process.refusals() == [f"{named} is not in permissions.network"]
    assert upstream.received == []


def test_case_and_the_last_dot_of_a_name_do_not_matter(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"LOCALHOST.:{upstream.port}"], ["LocalHost"])

    answer = proxied.get(f"lOcAlHoSt.:{upstream.port}")

    assert answer == OK
    assert b"Host: localhost:%d\r\n" % upstream.port in upstream.received[0]


@pytest.mark.parametrize(
    ("host", "problem", "grants"),
    [
        ("localhost", "127.0.0.1, loopback", ["localhost", "127.0.0.1", "127.0.0.0/8"]),
        ("127.0.0.1", "loopback", ["127.0.0.1"]),
        ("0.0.0.0", "unspecified", ["0.0.0.0"]),
        ("[::ffff:127.0.0.1]", "loopback", ["127.0.0.0/8"]),
    ],
)
def test_a_private_address_needs_the_grant_of_a_person(
    start: Start, serve: Serve, host: str, problem: str, grants: list[str]
) -> None:
    upstream = serve()
    named = f"{host}:{upstream.port}"
    without = start([named], ["other.test", "10.0.0.0/8"])

    refused = without.get(named)
    reached = [start([named], [grant]).get(named) for grant in grants]

    assert status(refused) == 403
    assert b"security.allow_private_hosts" in refused
    assert without.process.refusals() == [
        f"{named} is {problem}: not in security.allow_private_hosts"
    ]
    assert reached == [OK] * len(grants)
    assert len(upstream.received) == len(grants)


@pytest.mark.parametrize(
    "host", ["127.1", "2130706433", "0x7f.1", "0x7f000001", "0177.0.0.1", "[::1%lo]", "[127.0.0.1]"]
)
def test_an_address_in_disguise_is_no_host(start: Start, serve: Serve, host: str) -> None:
    upstream = serve()
    proxied = start([f"127.0.0.1:{upstream.port}"], ["127.0.0.0/8"])

    answer = proxied.get(f"{host}:{upstream.port}")

    assert status(answer) == 400
    assert proxied.process.refusals() == [f"'{host}:{upstream.port}' is no host"]
    assert upstream.received == []


def test_one_bad_address_among_good_ones_is_enough() -> None:
    configuration = Configuration("allow a.test\nprivate 10.0.0.0/8")

    proxy.check_addresses(configuration, "a.test", 443, ["8.8.8.8", "2606:4700::1", "10.1.1.1"])
    with pytest.raises(Refusal) as refused:
        proxy.check_addresses(configuration, "a.test", 443, ["8.8.8.8", "10.1.1.1", "fd00::1"])

    assert refused.value.status == 403
    assert refused.value.report.startswith("a.test:443 is fd00::1, private: ")


def test_a_public_address_of_this_machine_is_told_from_others() -> None:
    assert proxy._is_own("127.0.0.1")
    assert not proxy._is_own("203.0.113.1")
    assert not proxy._is_own("2001:db8::1")


def test_the_name_of_a_metadata_service_is_refused_before_it_is_resolved() -> None:
    name = "metadata.google.internal"

    proxy.check_name(Configuration(f"allow {name}\nprivate {name}"), name, 80)
    with pytest.raises(Refusal) as refused:
        proxy.check_name(Configuration(f"allow {name}"), name, 80)

    assert "metadata" in refused.value.report


def test_an_entry_that_cannot_be_read_starts_nothing() -> None:
    before = children()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        for entries, private in ((["a b"], []), ([], ["a b"])):
            with pytest.raises(ValueError, match="is no host"):
                HostProxy(listening.fileno(), entries, private)

    assert children() == before


# --- plain requests -------------------------------------------------------------------------------


def test_a_plain_request_is_written_anew(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])

    proxied.ask(
        f"GET HTTP://LocalHost:{upstream.port}?q=1 HTTP/1.1\r\n"
        "Host: metadata.google.internal\r\nAccept:  */* \r\nConnection: close, X-Secret\r\n"
        "x-secret: 1\r\nProxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n"
        "TE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nX-Name: Ü\r\n\r\n".encode()
    )

    assert upstream.received[0].decode() == (
        f"GET /?q=1 HTTP/1.1\r\nHost: localhost:{upstream.port}\r\n"
        "Accept:  */* \r\nX-Name: Ü\r\nConnection: close\r\n\r\n"
    )


def test_nothing_follows_the_announced_body(start: Start, serve: Serve) -> None:
    upstream = serve(ok_after(b"body!"))
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    line = f"POST http://localhost:{upstream.port}/ HTTP/1.1\r\n"

    answer = proxied.ask(
        f"{line}Content-Length: 5\r\n\r\nbody!GET http://other.test/ HTTP/1.1\r\n\r\n".encode()
    )

    upstream.close()
    assert status(answer) == 200
    assert upstream.received[0].endswith(b"Content-Length: 5\r\nConnection: close\r\n\r\nbody!")


def test_a_chunked_body_is_written_anew(start: Start, serve: Serve) -> None:
    upstream = serve(ok_after(b"\r\n0\r\n\r\n"))
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    line = f"POST http://localhost:{upstream.port}/ HTTP/1.1\r\n"

    answer = proxied.ask(
        f"{line}transfer-encoding: CHUNKED\r\nTrailer: X\r\n\r\n"
        "005;name=value\r\nhello\r\n1\r\n!\r\n0\r\nX: 1\r\n\r\nGET / HTTP/1.1\r\n\r\n".encode()
    )

    upstream.close()
    head, _, body = upstream.received[0].partition(b"\r\n\r\n")
    assert status(answer) == 200
    assert head.endswith(b"Transfer-Encoding: chunked\r\nConnection: close")
    assert body == b"5\r\nhello\r\n1\r\n!\r\n0\r\n\r\n"


CHUNKS = b"5;x=y\r\nhello\r\nA\r\n0123\r\n6789\r\n00\r\nTrailer: 1\r\n\r\n"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_chunks_are_the_same_in_pieces_of_any_size(size: int) -> None:
    body = Chunked()

    made = b"".join(body.fed(CHUNKS[at : at + size]) for at in range(0, len(CHUNKS), size))

    assert made == b"5\r\nhello\r\na\r\n0123\r\n6789\r\n0\r\n\r\n"
    assert body.done


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n",
        b"x\r\n",
        b"-1\r\n",
        b"0x5\r\nhello\r\n",
        b"5 \r\nhello\r\n",
        b"5\nhello\r\n",
        b"5;a\nb\r\nhello\r\n",
        b"5;a\rb\r\nhello\r\n",
        b"5\r\nhello!\r\n",
        b"5\r\nhelloXX",
        b"5\r\nhello0\r\n\r\n",
        b"f" * 16 + b"\r\n",
        b"5;" + b"x" * 5000,
        b"5;" + b"x" * 5000 + b"\r\nhello\r\n",
        b"0\r\n" + b"X: 1\r\n" * 200 + b"\r\n",
        b"0\r\nX\0: 1\r\n\r\n",
    ],
)
def test_malformed_chunks_are_refused(data: bytes) -> None:
    with pytest.raises(Refusal):
        Chunked().fed(data)


def test_a_body_that_ends_too_early_is_refused() -> None:
    for body in (Counted(2), Chunked()):
        body.fed(b"1")
        with pytest.raises(Refusal):
            body.end()


@pytest.mark.parametrize("framing", ["Content-Length: 10", "Transfer-Encoding: chunked"])
def test_half_a_body_does_not_look_like_a_whole_one(
    start: Start, serve: Serve, framing: str
) -> None:
    upstream = serve(ok_after(b"never"))
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.connect() as client:
        line = f"POST http://localhost:{upstream.port}/ HTTP/1.1\r\n{framing}\r\n\r\n5\r\nhe"
        client.sendall(line.encode())
        client.shutdown(socket.SHUT_WR)

        answer = read_all(client)

    assert upstream.accepted.acquire(timeout=PATIENCE)
    upstream.close()
    assert status(answer) == 400
    assert [exchange.ended for exchange in upstream.exchanges] == ["broken off"]


GOOD = b"POST http://localhost:%d/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Host: localhost", b"Host: localhost\r\nHost: other.test"),
        (b"Host: localhost", b"X: 1\r\n folded: 2"),
        (b"Host: localhost", b"X: 1\r\n\tfolded: 2"),
        (b"Host: localhost", b"X: 1\nHost: other.test"),
        (b"Host: localhost", b"X: 1\rHost: other.test"),
        (b"Host: localhost", b"X: \0"),
        (b"Host: localhost", b"X\0: 1"),
        (b"Host: localhost", b"X : 1"),
        (b"Host: localhost", b": 1"),
        (b"Host: localhost", b"no colon"),
        (b"Host: localhost", b"X-\xc3\x9c: 1"),
        (b"Host: localhost", b"Content-Length: 0"),
        (b"Host: localhost", b"Transfer-Encoding: chunked"),
        (b"Content-Length: 0", b"Transfer-Encoding: chunked, chunked"),
        (b"Content-Length: 0", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked"),
        (b"Content-Length: 0", b"Transfer-Encoding: gzip, chunked"),
        (b"Content-Length: 0", b"Transfer-Encoding: xchunked"),
        (b"Content-Length: 0", b"Transfer-Encoding:\x0bchunked"),
        (b"Content-Length: 0", b"Content-Length: +1"),
        (b"Content-Length: 0", b"Content-Length: -1"),
        (b"Content-Length: 0", b"Content-Length: 1, 1"),
        (b"Content-Length: 0", b"Content-Length: 0x1"),
        (b"Content-Length: 0", b"Content-Length:"),
        (b"Content-Length: 0", b"Content-Length: 9999999999999999999"),
        (b"HTTP/1.1", b"HTTP/2.0"),
        (b"HTTP/1.1", b"http/1.1"),
        (b" HTTP/1.1", b""),
        (b" HTTP/1.1", b"  HTTP/1.1"),
        (b" http", b"\thttp"),
        (b"/ HTTP", b"/\tHTTP/1.0 HTTP"),
        (b"POST ", b"PO(ST "),
        (b"POST ", b" "),
        (b"POST ", b"\r\nPOST "),
        (b"POST ", b"\x16\x03\x01 "),
        (b"http:", b"https:"),
        (b"http:", b"ftp:"),
        (b"http://localhost:%d", b""),
        (b"http://localhost:%d", b"*"),
        (b"http://", b"http://user@"),
        (b"http://", b"http://other.test\\@"),
        (b"http://", b"http://other.test#@"),
        (b"http://", b"http://%%6cocal"),
        (b"http://localhost", b"http://l\xc3\xb6calhost"),
        (b"http://localhost", b"http://[localhost]"),
        (b"http://localhost", b"http://::1"),
        (b"http://localhost", b"http://"),
        (b":%d/", b":%d0000/"),
        (b":%d/", b":x%d/"),
        (b"\r\n", b"\n"),
    ],
)
def test_a_request_that_two_readers_may_read_differently_is_refused(
    start: Start, serve: Serve, old: bytes, new: bytes
) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}", "other.test"], ["localhost"])

    def filled(request: bytes) -> bytes:
        return request % ((upstream.port,) if b"%d" in request else ())

    refused = proxied.ask(filled(GOOD.replace(old, new)))
    nothing = list(upstream.received)
    reached = proxied.ask(filled(GOOD))

    assert status(refused) == 400
    assert nothing == []
    assert reached == OK
    with pytest.raises(Refusal):
        parse_request(filled(GOOD.replace(old, new)).partition(b"\r\n\r\n")[0])


def test_an_old_client_may_not_send_chunks() -> None:
    with pytest.raises(Refusal):
        parse_request(b"POST http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked")


def test_options_without_a_path_asks_about_the_host_itself() -> None:
    request = parse_request(b"OPTIONS http://a.test HTTP/1.1")

    assert request.head.startswith(b"OPTIONS * HTTP/1.1\r\nHost: a.test\r\n")


@pytest.mark.parametrize(
    "target", [b"a.test", b"a.test:", b":443", b"a.test:443/", b"http://a:443"]
)
def test_connect_takes_a_host_and_a_port(target: bytes) -> None:
    with pytest.raises(Refusal):
        parse_request(b"CONNECT %s HTTP/1.1" % target)


def test_a_head_that_is_too_long_is_refused(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    request = GOOD % upstream.port

    def padded(size: int) -> bytes:
        return request.replace(b"X", b"").replace(b"Host", b"X: %b\r\nHost" % (b"x" * size))

    refused = proxied.ask(padded(proxy.HEAD_BYTES))
    reached = proxied.ask(padded(proxy.HEAD_BYTES - 1000))

    assert status(refused) == 431
    assert reached == OK
    assert len(upstream.received) == 1


def test_a_head_that_comes_byte_by_byte_runs_out_of_time(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost"], head=0.3)
    with proxied.connect() as client:
        for byte in iter(lambda: b"G", None):
            client.sendall(byte)
            if select.select([client], [], [], 0.02)[0]:
                break

        answer = read_all(client)

    assert status(answer) == 408
    assert upstream.received == []


def test_a_large_refused_upload_still_gets_its_answer(start: Start) -> None:
    proxied = start([])
    size = 8 << 20
    with proxied.connect() as client:
        client.sendall(b"POST http://a.test/ HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % size)
        client.sendall(bytes(size))

        answer = read_all(client)

    assert status(answer) == 403


# --- servers that fail ----------------------------------------------------------------------------


def test_a_host_that_does_not_listen_is_a_bad_gateway(start: Start, serve: Serve) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    reached = proxied.get(f"localhost:{upstream.port}")
    upstream.close()

    refused = proxied.get(f"localhost:{upstream.port}")

    assert reached == OK
    assert status(refused) == 502
    assert proxied.process.refusals() == []


def test_a_name_that_does_not_exist_is_a_bad_gateway(start: Start) -> None:
    assert status(start(["does-not-exist.invalid"]).get("does-not-exist.invalid")) == 502


def test_a_host_that_does_not_answer_is_a_gateway_timeout(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as held:
        port = full.getsockname()[1]
        for _ in range(4):
            waiting = held.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(("127.0.0.1", port))
        proxied = start([f"localhost:{port}"], ["localhost"], connect=0.3)

        answer = proxied.get(f"localhost:{port}")

    assert status(answer) == 504


@pytest.mark.parametrize("ending", ["properly", "broken off"])
def test_a_server_that_dies_before_its_answer_is_a_bad_gateway(
    start: Start, serve: Serve, ending: str
) -> None:
    def die(exchange: Exchange) -> None:
        if ending == "broken off":
            exchange.break_off()
        exchange.connection.close()

    upstream = serve(die)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])

    assert status(proxied.get(f"localhost:{upstream.port}")) == 502


def test_half_an_answer_does_not_look_like_a_whole_one(start: Start, serve: Serve) -> None:
    passed_on = threading.Event()

    def die_in_the_middle(exchange: Exchange) -> None:
        exchange.connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nhalf")
        passed_on.wait(PATIENCE)
        exchange.break_off()

    upstream = serve(die_in_the_middle)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.connect() as client:
        client.sendall(GOOD % upstream.port)
        started = client.recv(65536)
        passed_on.set()

        with pytest.raises(ConnectionResetError):
            read_all(client)

    assert started.startswith(b"HTTP/1.0 200")


def test_a_server_that_never_answers_runs_out_of_time(start: Start, serve: Serve) -> None:
    upstream = serve(lambda exchange: None)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"], idle=0.3)

    assert status(proxied.get(f"localhost:{upstream.port}")) == 504


# --- tunnels --------------------------------------------------------------------------------------


def test_a_tunnel_carries_bytes_both_ways_and_each_end_by_itself(
    start: Start, serve: Serve
) -> None:
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.tunnel(f"localhost:{upstream.port}") as client:
        client.sendall(b"one\r\n\r\n")
        first = client.recv(7, socket.MSG_WAITALL)
        client.sendall(b"two\n\0")
        client.shutdown(socket.SHUT_WR)

        rest = read_all(client)

    assert first == b"one\r\n\r\n"
    assert rest == b"two\n\0<end>"


def test_a_tunnel_stays_open_for_the_client_after_the_server_has_ended(
    start: Start, serve: Serve
) -> None:
    upstream = serve(ok)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.tunnel(f"localhost:{upstream.port}") as client:
        client.sendall(b"\r\n\r\n")
        answer = read_all(client)
        client.sendall(b"later")
        client.shutdown(socket.SHUT_WR)
        upstream.close()

    assert answer == OK
    assert upstream.received == [b"\r\n\r\nlater"]


def test_bytes_sent_together_with_connect_belong_to_the_tunnel(start: Start, serve: Serve) -> None:
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.connect() as client:
        client.sendall(f"CONNECT localhost:{upstream.port} HTTP/1.1\r\n\r\nx\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)

        assert read_all(client) == proxy.ESTABLISHED + b"x\r\n\r\n<end>"


def test_a_reader_that_does_not_read_costs_no_memory(start: Start, serve: Serve) -> None:
    size = 64 << 20
    stuck = threading.Event()

    def send_much(exchange: Exchange) -> None:
        connection = exchange.connection
        connection.settimeout(0.5)
        sent = 0
        piece = bytes(1 << 20)
        while sent < size:
            try:
                sent += connection.send(piece[: size - sent])
            except TimeoutError:
                stuck.set()
                connection.settimeout(PATIENCE)
        connection.shutdown(socket.SHUT_WR)

    def resident() -> int:
        pages = int((proxied.folder / "statm").read_text().split()[1])
        return pages * resource.getpagesize()

    upstream = serve(send_much)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    with proxied.tunnel(f"localhost:{upstream.port}") as client:
        before = resident()
        client.sendall(b"\r\n\r\n")
        assert stuck.wait(PATIENCE)
        grown = resident() - before
        received = 0
        while piece := client.recv(1 << 20):
            received += len(piece)

    assert received == size
    assert grown < 4 << 20


def test_an_idle_tunnel_ends(start: Start, serve: Serve) -> None:
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"], idle=0.3)
    with (
        proxied.tunnel(f"localhost:{upstream.port}") as client,
        pytest.raises(ConnectionResetError),
    ):
        read_all(client)


def test_many_clients_at_once_are_all_served(start: Start, serve: Serve) -> None:
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    answers: list[bytes] = []

    def one(number: int) -> None:
        with proxied.tunnel(f"localhost:{upstream.port}") as client:
            client.sendall(b"%d\r\n\r\n" % number)
            client.shutdown(socket.SHUT_WR)
            answers.append(read_all(client))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(200)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert sorted(answers) == sorted(b"%d\r\n\r\n<end>" % number for number in range(200))


def test_a_connection_too_many_waits_until_another_has_ended(start: Start, serve: Serve) -> None:
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    named = f"localhost:{upstream.port}"
    with contextlib.ExitStack() as held:
        tunnels = [held.enter_context(proxied.tunnel(named)) for _ in range(proxy.CONNECTIONS)]
        late = held.enter_context(proxied.connect())
        late.sendall(f"CONNECT {named} HTTP/1.1\r\n\r\n".encode())
        threads = len(list((proxied.folder / "task").iterdir()))
        early = select.select([late], [], [], 0.2)[0]
        tunnels[0].close()

        answer = late.recv(len(proxy.ESTABLISHED), socket.MSG_WAITALL)

    assert threads == proxy.CONNECTIONS + 1
    assert early == []
    assert answer == proxy.ESTABLISHED


# --- real clients ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["-sS", "-sSp"])
def test_curl_reaches_a_host_in_the_list_and_no_other(
    start: Start, serve: Serve, mode: str
) -> None:
    upstream = serve()
    proxied = start([f"localhost:{upstream.port}"], ["localhost", "127.0.0.1"])

    def curl(host: str) -> tuple[bool, str]:
        command = ["curl", mode, "-f", "-m", "30", f"http://{host}:{upstream.port}/"]
        variables = environment(proxied.port)
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stdout

    assert curl("localhost") == (True, "ok")
    assert curl("127.0.0.1") == (False, "")
    assert proxied.process.refusals() == [
        f"127.0.0.1:{upstream.port} is not in permissions.network"
    ]


@pytest.mark.parametrize("chunked", [False, True])
def test_curl_uploads_a_large_body(
    start: Start, serve: Serve, tmp_path: Path, chunked: bool
) -> None:
    upstream = serve(ok_after(b"end\r\n0\r\n\r\n" if chunked else b"end"))
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    file = tmp_path / "body"
    file.write_bytes(bytes(4 << 20) + b"end")
    options = ["-x", f"http://127.0.0.1:{proxied.port}", "--data-binary", f"@{file}"]
    if chunked:
        options += ["-H", "Transfer-Encoding: chunked"]

    done = subprocess.run(
        ["curl", "-sSf", "-m", "60", *options, f"http://localhost:{upstream.port}/"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert len(upstream.received[0]) > 4 << 20


def test_the_variables_lead_every_common_client_to_the_proxy() -> None:
    address = "http://127.0.0.1:3128"

    assert environment(3128) == {
        "HTTP_PROXY": address,
        "HTTPS_PROXY": address,
        "ALL_PROXY": address,
        "http_proxy": address,
        "https_proxy": address,
        "all_proxy": address,
        "NO_PROXY": "",
        "no_proxy": "",
        "NODE_USE_ENV_PROXY": "1",
    }


# Runs in a network namespace of its own: what it connects to must come through the socket that it
# hands out. Prints what the proxy answers, and what a direct connection gives.
INSIDE = """
import array, ctypes, fcntl, os, socket, struct, sys
outside, upstream = socket.socket(fileno=int(sys.argv[1])), int(sys.argv[2])
libc = ctypes.CDLL(None, use_errno=True)
if libc.unshare(0x10000000 | 0x40000000):
    sys.exit("unshare: " + os.strerror(ctypes.get_errno()))
control = socket.socket()
fcntl.ioctl(control, 0x8914, struct.pack("16sh22x", b"lo", 1))
listening = socket.create_server(("127.0.0.1", 0))
port = listening.getsockname()[1]
socket.send_fds(outside, [str(port).encode()], [listening.fileno()])
listening.close()
outside.recv(1)
client = socket.create_connection(("127.0.0.1", port))
client.sendall(b"GET http://localhost:%d/ HTTP/1.1\\r\\n\\r\\n" % upstream)
print(client.recv(65536).split()[1].decode())
try:
    socket.create_connection(("127.0.0.1", upstream))
    print("reached")
except OSError as error:
    print(error.strerror)
"""


def test_a_network_namespace_reaches_a_host_through_its_own_socket_only(serve: Serve) -> None:
    upstream = serve()
    ours, theirs = socket.socketpair()
    with ours, theirs:
        inside = subprocess.Popen(
            [sys.executable, "-c", INSIDE, str(theirs.fileno()), str(upstream.port)],
            pass_fds=[theirs.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        )
        _, descriptors, _, _ = socket.recv_fds(ours, 100, 1)
        made = HostProxy(descriptors[0], [f"localhost:{upstream.port}"], ["localhost"])
        os.close(descriptors[0])
        ours.sendall(b".")

        said, _ = inside.communicate(timeout=PATIENCE)

        made.close()
    assert said.splitlines() == ["200", "Connection refused"]


# --- the process ----------------------------------------------------------------------------------


def test_it_keeps_nothing_of_the_process_that_started_it(
    start: Start, serve: Serve, tmp_path: Path
) -> None:
    upstream = serve(echo)
    secret = os.open(tmp_path / "secret", os.O_RDWR | os.O_CREAT)
    os.set_inheritable(secret, True)
    try:
        proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    finally:
        os.close(secret)

    folder = proxied.folder
    with proxied.tunnel(f"localhost:{upstream.port}"):  # by then it has settled
        opened = {int(name.name): os.readlink(name) for name in (folder / "fd").iterdir()}
    limits = (folder / "limits").read_text().splitlines()
    assert (folder / "environ").read_bytes() == b""
    assert os.getsid(proxied.process.pid) == proxied.process.pid
    assert os.readlink(folder / "cwd") == "/"
    assert [line.split()[4:6] for line in limits if "core file" in line] == [["0", "0"]]
    # What it was given, the pipe by which its threads tell their end, and both ends of the tunnel.
    assert [opened[number].partition(":")[0] for number in sorted(opened)] == [
        *["/dev/null"] * 3,
        *["socket", "pipe", "pipe"],
        *["pipe", "pipe"],
        *["socket", "socket"],
    ]


def test_closing_ends_it_with_all_its_connections(start: Start, serve: Serve) -> None:
    before, descriptors = children(), open_descriptors()
    upstream = serve(echo)
    proxied = start([f"localhost:{upstream.port}"], ["localhost"])
    client = proxied.tunnel(f"localhost:{upstream.port}")
    pid = proxied.process.pid

    started = time.monotonic()
    proxied.process.close()
    took = time.monotonic() - started
    proxied.process.close()

    with client, contextlib.suppress(ConnectionResetError):
        assert read_all(client) == b""
    with pytest.raises(ConnectionRefusedError):
        proxied.connect()
    upstream.close()
    assert took < 0.9  # the time after which it would be killed is longer
    assert not is_alive(pid)
    assert children() == before
    assert set(open_descriptors()) <= set(descriptors)


def test_closing_does_not_hang_on_one_that_is_stopped(start: Start) -> None:
    proxied = start([])
    proxied.get("a.test")
    os.kill(proxied.process.pid, signal.SIGSTOP)

    proxied.process.close()

    assert not is_alive(proxied.process.pid)
    assert proxied.process.refusals() == ["a.test:80 is not in permissions.network"]


def test_it_dies_with_a_tongs_process_that_was_killed() -> None:
    script = (
        "import socket, sys\n"
        "from tongs.sandbox.proxyclient import HostProxy\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "made = HostProxy(listening.fileno(), [], [])\n"
        "print(made.pid, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        alive = is_alive(pid)

        owner.kill()

    assert alive
    assert dies_within(pid, PATIENCE)


def test_a_forked_copy_of_its_owner_neither_ends_it_nor_keeps_it_alive() -> None:
    script = (
        "import os, socket, sys\n"
        "from tongs.sandbox.proxyclient import HostProxy\n"
        "listening = socket.create_server(('127.0.0.1', 0))\n"
        "made = HostProxy(listening.fileno(), [], [])\n"
        "if os.fork() == 0:\n"
        "    made.close()\n"
        "    print(made.pid, os.getpid(), flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        pid, copy = map(int, owner.stdout.readline().split())
        alive = is_alive(pid)

        owner.kill()
        owner.wait()

        assert alive
        assert dies_within(pid, PATIENCE)
        assert is_alive(copy)


def test_an_object_that_is_dropped_ends_its_process() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        made = HostProxy(listening.fileno(), [], [])
    pid = made.pid

    del made

    assert not is_alive(pid)


def test_refusals_are_told_once_each_and_not_without_end(start: Start) -> None:
    proxied = start([])
    for number in range(proxy.REPORTS + 20):
        proxied.get(f"host-{number}.test")
        proxied.get("host-0.test")

    told = proxied.process.refusals()

    assert told == [
        f"host-{number}.test:80 is not in permissions.network" for number in range(proxy.REPORTS)
    ]
    assert proxied.process.refusals() == told


def test_a_hostile_name_is_told_as_harmless_text(start: Start) -> None:
    proxied = start([])

    answer = proxied.ask(b"CONNECT <script>`\x24(id)'\"%s:443 HTTP/1.1\r\n\r\n" % (b"x" * 500))

    told = proxied.process.refusals()
    assert status(answer) == 400
    assert len(told) == 1
    assert told[0].isprintable()
    assert len(told[0]) < 120


def test_an_interpreter_that_cannot_be_started_is_an_unavailable_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    descriptors = open_descriptors()
    monkeypatch.setattr(sys, "executable", "/nowhere/python")

    with socket.create_server(("127.0.0.1", 0)) as listening, pytest.raises(ToolError) as failed:
        HostProxy(listening.fileno(), [], [])

    assert failed.value.code == ErrorCode.SANDBOX_UNAVAILABLE
    assert set(open_descriptors()) <= set(descriptors)


def test_a_setting_that_is_unknown_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown"):
        Configuration("deny example.org")
