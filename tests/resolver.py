"""Runs a command where names have the addresses one wants: in a network of its own.

    unshare -rmn python tests/resolver.py NAME=ADDRESS[,ADDRESS…] … -- CMD…

A real name server on the loopback interface answers the first question for a name with the first
address, the second with the second, and so on; the last one stays. How often each name was asked
for is written to stderr at the end, as `asked NAME N`. Nothing outside can be reached from there.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading
from collections import Counter

_UP = 0x1
_SIOCSIFFLAGS = 0x8914
_MS_BIND = 0x1000
_A, _IN = 1, 1


def loopback_up() -> None:
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _UP))


def use_name_server(address: str) -> None:
    with tempfile.NamedTemporaryFile("w", delete=False) as file:
        file.write(f"nameserver {address}\noptions attempts:1 timeout:2\n")
    libc = ctypes.CDLL(None, use_errno=True)
    target = os.path.realpath("/etc/resolv.conf")
    if libc.mount(file.name.encode(), target.encode(), None, _MS_BIND, None) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def answer(question: bytes, names: dict[str, list[str]], asked: Counter[str]) -> bytes:
    labels, at = [], 12
    while question[at]:
        labels.append(question[at + 1 : at + 1 + question[at]].decode())
        at += 1 + question[at]
    kind, _ = struct.unpack(">HH", question[at + 1 : at + 5])
    name = ".".join(labels).lower()
    records = b""
    if kind == _A and name in names:
        address = names[name][min(asked[name], len(names[name]) - 1)]
        asked[name] += 1
        # A pointer to the name in the question, and a time to live of nothing.
        records = struct.pack(">HHHIH", 0xC00C, _A, _IN, 0, 4) + socket.inet_aton(address)
    code = 0 if name in names else 3
    head = question[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, bool(records), 0, 0)
    return head + question[12 : at + 5] + records


def main(arguments: list[str]) -> int:
    at = arguments.index("--")
    names = {
        name: addresses.split(",")
        for name, _, addresses in (w.partition("=") for w in arguments[:at])
    }
    asked: Counter[str] = Counter()
    loopback_up()
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.53", 53))
    use_name_server("127.0.0.53")

    def serve() -> None:
        while True:
            question, sender = server.recvfrom(512)
            server.sendto(answer(question, names, asked), sender)

    threading.Thread(target=serve, daemon=True).start()
    code = subprocess.run(arguments[at + 1 :], check=False).returncode
    for name, count in sorted(asked.items()):
        print("asked", name, count, file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
