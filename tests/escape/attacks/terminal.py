"""Typing into, or writing to, the terminal of the person who started Tongs."""

from __future__ import annotations

import os
import select
import termios
import tty
from collections.abc import Iterable, Mapping
from typing import Any

from tests.escape.attack import DIRECT, KERNEL, PLAIN, Attack
from tests.escape.scene import Scene

TOPIC = "terminal"


def _terminal(scene: Scene) -> Mapping[str, Any]:
    master, slave = os.openpty()
    tty.setraw(slave, termios.TCSANOW)
    for descriptor in (master, slave):
        scene.stack.callback(os.close, descriptor)
    scene.kept["terminal"] = (master, slave)
    return {"terminal": os.ttyname(slave)}


def _on_terminal(scene: Scene) -> Mapping[str, Any]:
    """Tongs was started on that terminal."""
    known = _terminal(scene)
    own = os.dup(0)
    os.dup2(scene.kept["terminal"][1], 0)
    scene.stack.callback(os.close, own)
    scene.stack.callback(os.dup2, own, 0)
    return known


def _typed(scene: Scene) -> Iterable[str]:
    master, slave = scene.kept["terminal"]
    for descriptor, what in ((slave, "typed"), (master, "shown")):
        if select.select([descriptor], (), (), 0)[0]:
            yield f"{os.read(descriptor, 100)!r} was {what} on the terminal"


TYPE = """
import fcntl
# The payload leads a session, so the first terminal it opens becomes its own.
terminal = os.open(W.terminal, os.O_RDWR)
for letter in b"rm":
    {ioctl}
"""

ATTACKS = (
    Attack(
        "typing on the terminal",
        TOPIC,
        TYPE.format(ioctl="fcntl.ioctl(terminal, 0x5412, bytes([letter]))"),
        arrange=_terminal,
        evidence=_typed,
        needs=KERNEL,
        otherwise=("EIO",),
    ),
    Attack(
        "typing on the terminal with bits set where the kernel does not look",
        TOPIC,
        TYPE.format(ioctl='call("ioctl", terminal, (1 << 32) | 0x5412, bytes([letter]))'),
        arrange=_terminal,
        evidence=_typed,
        needs=KERNEL,
        otherwise=("EIO",),
    ),
    Attack(
        "writing on the terminal",
        TOPIC,
        'os.write(os.open(W.terminal, os.O_WRONLY | os.O_NOCTTY), b"look")',
        arrange=_terminal,
        evidence=_typed,
    ),
    Attack(
        "writing on the terminal that Tongs was started on",
        TOPIC,
        """
for fd in (0, 1, 2):
    if os.isatty(fd):
        os.write(fd, b"look")
""",
        arrange=_on_terminal,
        evidence=_typed,
        control=PLAIN,
        launch=DIRECT,
    ),
    Attack(
        "the terminal of the session",
        TOPIC,
        """
os.close(os.open(W.terminal, os.O_RDWR))
escaped(os.open("/dev/tty", os.O_RDWR))
""",
        arrange=_terminal,
    ),
    Attack(
        "a terminal of one's own to type on",
        TOPIC,
        """
import fcntl
master = os.open("/dev/ptmx", os.O_RDWR)
escaped("terminal", fcntl.ioctl(master, 0x80045430, bytes(4)))
""",
    ),
    Attack(
        "the screens of the machine",
        TOPIC,
        """
for name in ("tty0", "tty1", "console", "vcs1", "vcsa1"):
    fd = attempt(os.open, "/dev/" + name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if fd is not None:
        escaped(name)
""",
        needs=KERNEL,
        otherwise=("EACCES", "ENOENT", "ENXIO", "EPERM"),
    ),
)
