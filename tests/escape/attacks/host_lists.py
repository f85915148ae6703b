"""A tool that may reach a few hosts, and tries to reach others: first of all this machine."""

from __future__ import annotations

from typing import Any

from tests.escape.attack import LANDLOCK, Attack

from tongs.core.errors import ErrorCode
from tongs.core.permissions import Permissions

TOPIC = "host lists"

# The second one is granted by name, but leads to this machine, which nobody granted.
LISTED = Permissions(network=("example.org:*", "localhost:*"), read=(".",))

# Without a network namespace there is no proxy that could not be walked round.
REFUSED = {LANDLOCK: ErrorCode.SANDBOX_UNAVAILABLE}

# Without a proxy, as in a control, the request goes straight to where it is meant to get.
ASK = r"""
import socket
proxy = os.environ.get("http_proxy", "")
def ask(request, then=b"stolen"):
    address = ("127.0.0.1", W.tcp_port)
    if proxy:
        host, _, port = proxy.rpartition("/")[2].rpartition(":")
        address = (host, int(port))
    s = socket.create_connection(address, 5)
    s.settimeout(2)
    s.sendall(request.replace("\n", "\r\n").encode())
    if proxy:
        print(s.recv(200).decode(errors="replace").split("\r\n")[0])
    attempt(s.sendall, then)
"""


def _asks(name: str, request: str, **how: Any) -> Attack:
    script = f"{ASK}\nask(f{request!r})"
    return Attack(name, TOPIC, script, permissions=LISTED, refused=REFUSED, **how)


def _direct(name: str, script: str) -> Attack:
    return Attack(name, TOPIC, "import socket\n" + script, permissions=LISTED, refused=REFUSED)


ATTACKS = (
    _asks("this machine by its address", "CONNECT 127.0.0.1:{W.tcp_port} HTTP/1.1\n\n"),
    _asks("this machine by a name that is granted", "CONNECT localhost:{W.tcp_port} HTTP/1.1\n\n"),
    _asks("this machine by a number", "CONNECT 2130706433:{W.tcp_port} HTTP/1.1\n\n"),
    _asks("this machine by a short number", "CONNECT 0x7f.1:{W.tcp_port} HTTP/1.1\n\n"),
    _asks("this machine by no address", "CONNECT 0.0.0.0:{W.tcp_port} HTTP/1.1\n\n"),
    _asks(
        "this machine by its newer address", "CONNECT [::ffff:127.0.0.1]:{W.tcp_port} HTTP/1.1\n\n"
    ),
    _asks("this machine behind a name", "CONNECT example.org@127.0.0.1:{W.tcp_port} HTTP/1.1\n\n"),
    _asks(
        "this machine by a whole address",
        "GET http://127.0.0.1:{W.tcp_port}/ HTTP/1.1\nHost: example.org\n\n",
    ),
    _asks(
        "this machine by a name that is granted, without a tunnel",
        "GET http://localhost:{W.tcp_port}/ HTTP/1.1\nHost: localhost\n\n",
    ),
    _asks(
        "this machine by a second header",
        "GET / HTTP/1.1\nHost: example.org\nHost: 127.0.0.1:{W.tcp_port}\n\n",
    ),
    _direct(
        "this machine without the proxy",
        """
s = socket.create_connection(("127.0.0.1", W.tcp_port), 3)
s.sendall(b"stolen")
""",
    ),
    _direct(
        "this machine by packets without the proxy",
        """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"stolen", ("127.0.0.1", W.udp_port))
""",
    ),
    _direct(
        "a service on a path without the proxy",
        """
s = socket.socket(socket.AF_UNIX)
s.connect(W.docker_path)
s.sendall(b"stolen")
""",
    ),
)
