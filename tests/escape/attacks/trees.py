"""Outliving the call: daemons, and whatever else would go on when everybody thinks it is over."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any

from tests.escape.attack import OUT_WRITABLE, PLAIN, Attack
from tests.escape.scene import Scene

TOPIC = "outliving the call"

SHORT = 1.0

# A process whose parent is gone, in a session of its own, that no usual signal ends.
DAEMON = """
import signal, time
reading, writing = os.pipe()
def daemon(act):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            for number in set(range(1, 32)) - {9, 17, 19}:
                signal.signal(number, signal.SIG_IGN)
            act()
        os._exit(0)
    os.wait()
"""
SLEEP = """
def sleep():
    for fd in (0, 1, 2):
        os.close(fd)
    os.write(writing, b"x")
    time.sleep(300)
"""
# A control leaves the dead to the first process of the machine: not too many of them.
CHAIN = """
def chain():
    for fd in (0, 1, 2):
        os.close(fd)
    beats = os.open("out/beats", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.write(writing, b"x")
    until = time.monotonic() + 2
    while time.monotonic() < until:
        os.write(beats, b"x")
        if os.fork():
            os._exit(0)
        time.sleep(0.02 * W.control)
"""


def _outlives(name: str, script: str, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, "control": PLAIN, "deadly": True, **how}
    return Attack(name, TOPIC, script, **how)


def _slow(scene: Scene) -> Iterable[str]:
    took = max((one.duration for one in scene.result.completed), default=0)
    # A loaded machine takes its time, but what is waited for here takes minutes.
    if took > 15:
        yield f"the call took {took:.0f} seconds"


def _beats(scene: Scene) -> Iterable[str]:
    """Nobody finds a process that is another one each time, but what it writes shows it."""
    beats = scene.project / "out/beats"
    if beats.exists():
        first = beats.stat().st_size
        time.sleep(0.1)
        if beats.stat().st_size > first:
            yield "it still beats"


def _hung(scene: Scene) -> Iterable[str]:
    if any(one.timed_out for one in scene.result.completed):
        yield "the call hung until its time was over"


ATTACKS = (
    _outlives("a daemon", DAEMON + SLEEP + "daemon(sleep); os.read(reading, 1)"),
    _outlives(
        "a daemon whose call runs out of time",
        DAEMON + SLEEP + "daemon(sleep); os.read(reading, 1); time.sleep(300)",
        timeout=SHORT,
    ),
    _outlives(
        "a daemon that adopts its own children",
        DAEMON
        + SLEEP
        + """
def adopt():
    _libc.prctl(36, 1, 0, 0, 0)
    for _ in range(3):
        daemon(sleep)
    sleep()
daemon(adopt)
for _ in range(4):
    os.read(reading, 1)
""",
    ),
    _outlives(
        "a process that forks and ends all the time",
        DAEMON
        + CHAIN
        + """
daemon(chain)
os.read(reading, 1)
""",
        evidence=_beats,
    ),
    _outlives(
        "many processes that fork and end all the time",
        DAEMON
        + CHAIN
        + """
for _ in range(12):
    daemon(chain)
    os.read(reading, 1)
time.sleep(300)
""",
        evidence=_beats,
        timeout=SHORT,
    ),
    _outlives(
        "a process that is stopped",
        DAEMON
        + """
def stop():
    for fd in (0, 1, 2):
        os.close(fd)
    os.write(writing, b"x")
    os.kill(os.getpid(), signal.SIGSTOP)
    time.sleep(300)
daemon(stop)
os.read(reading, 1)
""",
    ),
    _outlives(
        "a process that is traced by another",
        DAEMON
        + SLEEP
        + """
def traced():
    child = os.fork()
    if child == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        _libc.ptrace(0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(300)
    sleep()
daemon(traced)
os.read(reading, 1)
""",
    ),
    _outlives(
        "a child that is given to the parent's parent",
        DAEMON
        + """
# CLONE_PARENT: it never was a child of the payload.
if call("clone", 0x8000 | 17, 0, 0, 0, 0) == 0:
    for fd in (0, 1, 2):
        os.close(fd)
    os.setsid()
    os.write(writing, b"x")
    time.sleep(300)
os.read(reading, 1)
""",
    ),
    _outlives(
        "a process that waits in the kernel for another",
        DAEMON
        + """
def wait():
    for fd in (0, 1, 2):
        os.close(fd)
    os.write(writing, b"x")
    # CLONE_VFORK: the parent sleeps, deaf to signals, until the child is done.
    if call("clone", 0x4000 | 17, 0, 0, 0, 0) == 0:
        time.sleep(300)
daemon(wait)
os.read(reading, 1)
""",
    ),
    _outlives(
        "a background process that holds the output",
        DAEMON
        + """
def hold():
    os.write(writing, b"x")
    time.sleep(300)
daemon(hold)
os.read(reading, 1)
""",
        evidence=_hung,
        timeout=SHORT,
    ),
    _outlives(
        "a payload that stops itself",
        """
import signal
print("stopping", flush=True)
os.kill(os.getpid(), signal.SIGSTOP)
""",
        evidence=_slow,
        timeout=SHORT,
    ),
    _outlives(
        "a payload that ignores being ended",
        """
import signal, time
for number in set(range(1, 32)) - {9, 17, 19}:
    signal.signal(number, signal.SIG_IGN)
time.sleep(300)
""",
        timeout=SHORT,
    ),
    _outlives(
        "many daemons at once",
        DAEMON
        + SLEEP
        + """
for _ in range(20):
    daemon(sleep)
for _ in range(20):
    os.read(reading, 1)
""",
    ),
)
