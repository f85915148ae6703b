"""Sockets outside that listen, on the loopback interface and on paths."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path
from typing import Any


class Servers:
    """The kernel accepts for them, so nobody has to run: `reached` tells who came meanwhile."""

    def __init__(self, folder: Path) -> None:
        unique = f"tongs-escape-{os.getpid()}"
        loopback = {
            "tcp": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
            "tcp6": (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 0)),
            "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
            "udp6": (socket.AF_INET6, socket.SOCK_DGRAM, ("::1", 0)),
        }
        paths = {
            "docker": (socket.SOCK_STREAM, str(folder / "docker.sock")),
            "agent": (socket.SOCK_SEQPACKET, str(folder / "agent.sock")),
            "journal": (socket.SOCK_DGRAM, str(folder / "journal.sock")),
            "abstract": (socket.SOCK_STREAM, f"\0{unique}-stream"),
            "abstract_journal": (socket.SOCK_DGRAM, f"\0{unique}-dgram"),
        }
        self._sockets: dict[str, socket.socket] = {}
        self.known: dict[str, object] = {"folder_of_sockets": str(folder)}
        for name, (family, kind, address) in loopback.items():
            port = self._listen(name, family, kind, address).getsockname()[1]
            self.known[f"{name}_port"] = port
        for name, (kind, path) in paths.items():
            self._listen(name, socket.AF_UNIX, kind, path)
            self.known[f"{name}_path"] = path

    def add(self, name: str, kind: int, path: str) -> None:
        """One more unix socket, such as one inside a granted folder."""
        self._listen(name, socket.AF_UNIX, kind, path)

    def remove(self, name: str) -> None:
        self._sockets.pop(name).close()

    def reached(self) -> list[str]:
        """Which were reached since they were asked last, and with what."""
        found = []
        ready, _, _ = select.select(self._sockets.values(), (), (), 0)
        for name, listening in self._sockets.items():
            if listening in ready:
                found.append(f"{name} was reached from outside its world: {_taken(listening)!r}")
        return found

    def close(self) -> None:
        for listening in self._sockets.values():
            listening.close()

    def _listen(self, name: str, family: int, kind: int, address: Any) -> socket.socket:
        made = socket.socket(family, kind)
        made.bind(address)
        if kind != socket.SOCK_DGRAM:
            made.listen(16)
        made.setblocking(False)
        self._sockets[name] = made
        return made


def _taken(listening: socket.socket) -> bytes:
    said = b""
    try:
        while True:
            if listening.type == socket.SOCK_DGRAM:
                said += listening.recv(4096)
                continue
            connection, _ = listening.accept()
            with connection:
                connection.settimeout(0.2)
                try:
                    said += connection.recv(4096) or b"(nothing)"
                except OSError:
                    said += b"(connected)"
    except BlockingIOError:
        return said
