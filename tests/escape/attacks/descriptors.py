"""What a process inherits: descriptors, environment, keys."""

from __future__ import annotations

import ctypes
import os
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from tests.escape.attack import FORKED, FRESH, KERNEL, PLAIN, Attack
from tests.escape.scene import Scene

TOPIC = "descriptors"
KEYS = "keys"


def _left_open(scene: Scene) -> Mapping[str, Any]:
    """Tongs itself has a secret, a folder and a socket open, and lets its children have them."""
    given, kept = socket.socketpair()
    opened = [
        os.open(scene.outside / "secret.txt", os.O_RDONLY),
        os.open(scene.outside, os.O_RDONLY | os.O_DIRECTORY),
        given.detach(),
    ]
    for descriptor in opened:
        os.set_inheritable(descriptor, True)
        scene.stack.callback(os.close, descriptor)
    scene.stack.callback(kept.close)
    scene.kept["inherited"] = opened
    scene.kept["end"] = kept
    return {}


def _heard(scene: Scene) -> Iterable[str]:
    kept: socket.socket = scene.kept["end"]
    kept.setblocking(False)
    try:
        yield f"it was told {kept.recv(100)!r}"
    except BlockingIOError:
        return


# Descriptor 255 is not looked at: a shell moves its own script there.
INHERITED = """
for fd in range(3, 250):
    try:
        os.fstat(fd)
    except OSError:
        continue
    print("open", fd, os.readlink(f"/proc/self/fd/{fd}"))
    for act in (lambda: print(os.pread(fd, 100, 0).decode()),
                lambda: print(read(os.open("secret.txt", os.O_RDONLY, dir_fd=fd))),
                lambda: os.write(fd, b"stolen")):
        attempt(act)
"""


def _secret_variable(scene: Scene) -> Mapping[str, Any]:
    """Tongs has a secret in its environment that nobody declared."""
    os.environ["ESCAPE_SECRET"] = scene.secret()
    scene.stack.callback(os.environ.pop, "ESCAPE_SECRET")
    return {}


# Looks for the text of a secret in all memory of the process that started this one.
PARENTS_MEMORY = """
import re
parent = os.getppid()
with open(f"/proc/{parent}/maps") as maps, open(f"/proc/{parent}/mem", "rb", buffering=0) as memory:
    for line in maps:
        start, _, end = line.split()[0].partition("-")
        if line.split()[1].startswith("rw") and int(end, 16) - int(start, 16) < 1 << 28:
            try:
                memory.seek(int(start, 16))
                content = memory.read(int(end, 16) - int(start, 16))
            except OSError:
                continue
            # Secrets of other attacks may still lie around.
            for found in set(re.findall(rb"secret-[0-9a-f]{24}", content)):
                print(found.decode())
"""


def _key(scene: Scene) -> Mapping[str, Any]:
    """The person keeps a secret in a key ring of the kernel."""
    libc = ctypes.CDLL(None, use_errno=True)
    numbers = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
    secret = scene.secret().encode()
    # -4: the ring of the user.
    key = libc.syscall(numbers[0], b"user", b"tongs-escape", secret, len(secret), -4)
    scene.stack.callback(libc.syscall, numbers[1], 9, key, -4)
    return {"key": key}


def _planted_key(scene: Scene) -> Iterable[str]:
    libc = ctypes.CDLL(None, use_errno=True)
    number = {"x86_64": 250, "aarch64": 219}[os.uname().machine]
    found = libc.syscall(number, 10, -4, b"user", b"tongs-planted", 0)
    if found > 0:
        libc.syscall(number, 9, found, -4)
        yield "a key was left in the ring of the user"


ATTACKS = (
    Attack(
        "descriptors that Tongs has open",
        TOPIC,
        INHERITED,
        arrange=_left_open,
        evidence=_heard,
        control=PLAIN,
        launch=FORKED,
    ),
    Attack(
        "descriptors that the fork server has open",
        TOPIC,
        INHERITED,
        arrange=_left_open,
        evidence=_heard,
        control=PLAIN,
        launch=FRESH,
    ),
    Attack(
        "a secret in the environment of Tongs",
        "environment",
        "print(dict(os.environ))",
        arrange=_secret_variable,
        control=PLAIN,
    ),
    Attack(
        "a secret in the environment of Tongs, forked by itself",
        "environment",
        "print(dict(os.environ), read('/proc/self/environ'))",
        arrange=_secret_variable,
        control=PLAIN,
        launch=FORKED,
    ),
    Attack(
        "a secret in the memory of what started the payload",
        "environment",
        PARENTS_MEMORY,
        arrange=_secret_variable,
        launch=FORKED,
    ),
    Attack(
        "a secret in a key ring",
        KEYS,
        """
key = call("keyctl", 10, -4, b"user", b"tongs-escape", 0)
content = ctypes.create_string_buffer(100)
call("keyctl", 11, key, content, 99)
print(content.value.decode())
""",
        arrange=_key,
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "a secret in a key ring, asked for by name",
        KEYS,
        """
key = call("request_key", b"user", b"tongs-escape", 0, 0)
escaped("key", key)
""",
        arrange=_key,
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "a key left behind for a later call",
        KEYS,
        'call("add_key", b"user", b"tongs-planted", b"text", 4, -4)',
        evidence=_planted_key,
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "a new key ring of one's own",
        KEYS,
        'escaped(call("keyctl", 1, 0))',
        needs=KERNEL,
        otherwise=("ENOSYS",),
    ),
    Attack(
        "the names of all keys",
        KEYS,
        """
if "tongs-escape" in read("/proc/keys"):
    escaped("they are listed")
""",
        arrange=_key,
        needs=KERNEL,
        otherwise=("ENOENT",),
    ),
)
