"""Services that listen on a path or an abstract name: docker, an agent, the journal, X11."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterable, Mapping
from typing import Any

from tests.escape.attack import ONLINE, PROJECT_READABLE, PROJECT_WRITABLE, TIERS, Attack
from tests.escape.scene import Scene

TOPIC = "unix sockets"

STREAM = """
import socket
s = socket.socket(socket.AF_UNIX, {kind})
s.connect(W.{path})
s.sendall(b"stolen")
"""
DATAGRAM = """
import socket
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.sendto(b"stolen", W.{path})
"""
# A pair needs no path, so tools may have one; a datagram end of it can be sent anywhere, though.
PAIR = """
import socket
s, _ = socket.socketpair(socket.AF_UNIX, {kind})
s.{send}
"""


def _stream(path: str, kind: str = "SOCK_STREAM") -> str:
    return STREAM.format(path=path, kind=f"socket.{kind}")


def _pair(send: str, kind: str = "socket.SOCK_DGRAM") -> str:
    return PAIR.format(send=send, kind=kind)


NAME = "\0tongs-escape-squatted"


def _owner(scene: Scene) -> Mapping[str, Any]:
    """The service that the name belongs to starts a little later."""
    over = threading.Event()
    scene.kept["taken"] = taken = threading.Event()

    def start() -> None:
        while not over.wait(0.02):
            with socket.socket(socket.AF_UNIX) as made:
                try:
                    made.bind(NAME)
                except OSError:
                    taken.set()

    service = threading.Thread(target=start)
    service.start()
    scene.stack.callback(service.join)
    scene.stack.callback(over.set)
    return {"name": NAME}


def _taken(scene: Scene) -> Iterable[str]:
    if scene.kept["taken"].is_set():
        yield "the name of a service was taken"


# The service itself may hold the name for a moment.
SQUAT = """
import socket, time
ours, theirs = socket.socketpair()
for _ in range(20):
    if attempt(lambda: ours.bind(W.name) or True):
        break
    time.sleep(0.005)
time.sleep(0.2)
"""


def _inside(scene: Scene) -> Mapping[str, Any]:
    """Two services whose sockets lie in the granted project."""
    paths = {"inner": socket.SOCK_STREAM, "inner_journal": socket.SOCK_DGRAM}
    for name, kind in paths.items():
        scene.servers.add(name, kind, str(scene.project / f"{name}.sock"))
        scene.stack.callback(scene.servers.remove, name)
    return {f"{name}_path": str(scene.project / f"{name}.sock") for name in paths}


ATTACKS = (
    Attack("a service on a path, such as docker", TOPIC, _stream("docker_path")),
    Attack(
        "a service that keeps messages apart, such as an agent",
        TOPIC,
        _stream("agent_path", "SOCK_SEQPACKET"),
    ),
    Attack("a packet to a path, such as the journal", TOPIC, DATAGRAM.format(path="journal_path")),
    Attack("a service on an abstract name, such as X11", TOPIC, _stream("abstract_path")),
    Attack("a packet to an abstract name", TOPIC, DATAGRAM.format(path="abstract_journal_path")),
    Attack(
        "a service whose socket lies in a readable folder",
        TOPIC,
        _stream("inner_path"),
        permissions=PROJECT_READABLE,
        arrange=_inside,
    ),
    Attack(
        "a service whose socket lies in a writable folder",
        TOPIC,
        _stream("inner_path"),
        permissions=PROJECT_WRITABLE,
        arrange=_inside,
    ),
    Attack(
        "a packet to a path from one end of a pair",
        TOPIC,
        _pair('sendto(b"stolen", W.journal_path)'),
    ),
    Attack(
        "a packet to a path from one end of a pair, connected anew",
        TOPIC,
        _pair('connect(W.journal_path); s.send(b"stolen")'),
    ),
    Attack(
        "a packet to an abstract name from one end of a pair",
        TOPIC,
        _pair('sendto(b"stolen", W.abstract_journal_path)'),
    ),
    Attack(
        "a packet to a path from one end of a raw pair",
        TOPIC,
        _pair('sendto(b"stolen", W.journal_path)', "socket.SOCK_RAW"),
    ),
    Attack(
        "a packet to a path from one end of a pair asked for with high bits",
        TOPIC,
        """
import ctypes, socket
pair = (ctypes.c_int * 2)()
call("socketpair", (1 << 32) | 1, (1 << 32) | 2 | 0o2000000, 0, pair)
s = socket.socket(fileno=pair[0])
s.sendto(b"stolen", W.journal_path)
""",
    ),
    Attack(
        "a packet from one end of a pair to a readable folder",
        TOPIC,
        _pair('sendto(b"stolen", W.inner_journal_path)'),
        permissions=PROJECT_READABLE,
        arrange=_inside,
    ),
    Attack(
        "a packet from one end of a pair to a writable folder",
        TOPIC,
        _pair('sendto(b"stolen", W.inner_journal_path)'),
        permissions=PROJECT_WRITABLE,
        arrange=_inside,
    ),
    Attack(
        "an abstract name of one's own, for others to come to",
        TOPIC,
        _pair(r'bind("\0tongs-escape-own"); escaped("bound")'),
    ),
    Attack("the name of a service taken first", TOPIC, SQUAT, arrange=_owner, evidence=_taken),
    Attack(
        "online, the name of a service taken first",
        TOPIC,
        SQUAT,
        permissions=ONLINE,
        arrange=_owner,
        evidence=_taken,
        declared=dict.fromkeys(TIERS, "unix-names"),
    ),
    Attack("online, a service on a path", TOPIC, _stream("docker_path"), permissions=ONLINE),
    Attack(
        "online, a service on an abstract name", TOPIC, _stream("abstract_path"), permissions=ONLINE
    ),
    Attack(
        "online, a service whose socket lies in a readable folder",
        TOPIC,
        _stream("inner_path"),
        permissions=ONLINE,
        arrange=_inside,
    ),
    Attack(
        "online, a packet to a path from one end of a pair",
        TOPIC,
        _pair('sendto(b"stolen", W.journal_path)'),
        permissions=ONLINE,
    ),
    Attack(
        "online, a packet to an abstract name from one end of a pair",
        TOPIC,
        _pair('sendto(b"stolen", W.abstract_journal_path)'),
        permissions=ONLINE,
    ),
)
