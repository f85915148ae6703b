"""A client that sends its request drip by drip, and those that it must not be taken for."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from tongs.surfaces.mcp import receiving
from tongs.surfaces.mcp.receiving import TimelyProtocol

LONGEST = 0.2
HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n"
CUT = b"HTTP/1.1 408 "
DONE = b"HTTP/1.1 200 "


async def slow_to_answer(scope: Any, receive: Any, send: Any) -> None:
    """Reads all of a request, and answers when it would have been cut; /refused reads nothing."""
    refuses = scope["path"] == "/refused"
    while not refuses:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        if not message["more_body"]:
            await asyncio.sleep(1.5 * LONGEST)
            break
    headers = [(b"content-length", b"2")]
    await send(
        {"type": "http.response.start", "status": 401 if refuses else 200, "headers": headers}
    )
    await send({"type": "http.response.body", "body": b"ok"})


@contextmanager
def served(protocol: type[asyncio.Protocol]) -> Iterator[socket.socket]:
    """A connection to a server that speaks so."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(
            slow_to_answer, http=protocol, lifespan="off", log_config=None, log_level="critical"
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=lambda: asyncio.run(server.serve([listening])))
        thread.start()
        try:
            with socket.create_connection(listening.getsockname()) as client:
                client.settimeout(20)
                yield client
        finally:
            server.should_exit = server.force_exit = True
            thread.join()


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    monkeypatch.setattr(receiving, "LONGEST", LONGEST)
    with served(TimelyProtocol) as connected:
        yield connected


def dripped(client: socket.socket, begin: bytes, drip: bytes, seconds: float = 20) -> bytes | None:
    """What comes back while a drip follows the other; None if nothing does. `b""`: it is closed."""
    client.sendall(begin)
    client.settimeout(LONGEST / 10)
    until = time.monotonic() + seconds
    try:
        while time.monotonic() < until:
            with suppress(TimeoutError):
                return client.recv(4096)
            client.sendall(drip)
    except ConnectionError:
        # By a drip that came too late; what was answered may be lost by it.
        return b""
    return None


@pytest.mark.parametrize(
    ("begin", "drip"),
    [
        (HEAD % 100_000, b"x"),
        (
            b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\nx\r\n",
        ),
        (b"POST / HTTP/1.1\r\n", b"X: y\r\n"),
        (b"P", b"O"),
        (b"", b""),
    ],
    ids=["body", "chunks", "headers", "first line", "nothing"],
)
def test_a_request_that_drips_is_cut(client: socket.socket, begin: bytes, drip: bytes) -> None:
    answer = dripped(client, begin, drip)

    assert answer is not None
    assert not answer or answer.startswith(CUT)


def test_without_the_limit_it_holds_its_connection() -> None:
    with served(H11Protocol) as client:
        assert dripped(client, HEAD % 100_000, b"x", 2 * LONGEST) is None


def test_a_body_that_nobody_wants_is_cut_too(client: socket.socket) -> None:
    refused = dripped(client, HEAD.replace(b"/ ", b"/refused ") % 100_000, b"x")
    assert refused is not None
    assert refused.startswith(b"HTTP/1.1 401 ")

    rest = dripped(client, b"", b"x")
    while rest == b"ok":
        rest = dripped(client, b"", b"x")
    assert rest == b""


def test_a_request_in_pieces_and_a_slow_answer_are_not_cut(client: socket.socket) -> None:
    for body in (b"hello", b"again"):
        client.sendall(HEAD % len(body))
        client.sendall(body[:2])
        client.sendall(body[2:])
        answer = b""
        while not answer.endswith(b"ok"):
            answer += client.recv(4096)
        assert answer.startswith(DONE)
