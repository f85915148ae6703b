"""A real web server on the loopback interface that remembers what it was asked."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """One request, as it arrived; names of headers in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """`pieces` are written as they are, instead of a whole answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Iterable[bytes] | None = None

    @staticmethod
    def of(data: Any, status: int = 200) -> Reply:
        return Reply(status, json.dumps(data).encode(), {"Content-Type": "application/json"})

    @staticmethod
    def redirect(location: str, status: int = 302) -> Reply:
        return Reply(status, b"", {"Location": location})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 20
    # Small pieces go out as they come: else each may wait for the other side to confirm the last.
    disable_nagle_algorithm = True
    server: _Server

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except OSError:
            self.close_connection = True  # the other side has gone

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):
            return self._any
        raise AttributeError(name)

    def _any(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        headers = {key.lower(): value for key, value in self.headers.items()}
        asked = Asked(self.command, self.path, headers, body)
        self.server.web.asked.append(asked)
        reply = self.server.web.answer(asked)
        if reply.pieces is not None:
            self.close_connection = True
            for piece in reply.pieces:
                self.wfile.write(piece)
                self.wfile.flush()
            return
        self.send_response(reply.status)
        for key, value in reply.headers.items():
            self.send_header(key, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(reply.body)

    def log_message(self, *words: object) -> None:
        pass


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    web: Web

    def __init__(self, name: str, web: Web) -> None:
        self.address_family = socket.AF_INET6 if ":" in name else socket.AF_INET
        self.web = web
        super().__init__((name, 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a connection that ended early, as many here do


class Web:
    """Answers every request with what `answer` makes of it."""

    def __init__(
        self,
        answer: Callable[[Asked], Reply] = lambda asked: Reply.of({}),
        *,
        secured: ssl.SSLContext | None = None,
        name: str = "127.0.0.1",
    ) -> None:
        self.asked: list[Asked] = []
        self.answer = answer
        self._server = _Server(name, self)
        if secured is not None:
            self._server.socket = secured.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._name = name
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self._name}:{self.port}"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
