"""Memory and processes where whoever counts them may not look."""

from __future__ import annotations

from typing import Any

from tests.escape.attack import NAMESPACES, PLAIN, TIERS, Attack
from tests.escape.attacks.limits import TREE

from tongs.core.permissions import Limits

TOPIC = "hidden memory"

MIB = 1024**2
SMALL = Limits(memory=64 * MIB)

TREE_MEMORY = dict.fromkeys(TIERS, "tree-memory")

# Long enough for whoever looks from time to time.
HOLD = """
import time
time.sleep(0.5)
escaped("had it")
"""
# In pieces, so that never much of it can be seen.
FILES = """
import array, mmap, socket
kept = []
for _ in range(64):
    fd = os.memfd_create("held")
    os.write(fd, bytes(4 * 1024 * 1024))
    {hide}
    os.close(fd)
"""


def _takes(name: str, script: str, **how: Any) -> Attack:
    how = {"declared": TREE_MEMORY, **how}
    return Attack(
        name, TOPIC, script, limits=SMALL, control=PLAIN, deadly=True, watched=True, **how
    )


def _holds(name: str, script: str, after: str = "", **how: Any) -> Attack:
    return _takes(name, script + HOLD + after, **how)


ATTACKS = (
    _holds(
        "files without a name, of a process that cannot be looked at",
        "_libc.prctl(4, 0, 0, 0, 0)\n" + FILES.format(hide="kept.append(os.dup(fd))"),
    ),
    _holds(
        "files without a name, mapped and closed",
        # Python's own mapping would keep a descriptor.
        FILES.format(hide='call("mmap", 0, 4 << 20, 1, 1, fd, 0)'),
    ),
    _holds(
        "files without a name, on their way to somebody",
        FILES.format(
            hide="""pair = socket.socketpair()
    kept.append(pair)
    rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))
    pair[0].sendmsg([b"x"], [rights])"""
        ),
    ),
    _holds(
        "segments of System V that nobody has attached",
        """
size = 4 * 1024 * 1024
segments = []
for _ in range(64):
    segments.append(call("shmget", 0, size, 0o1600))
    address = call("shmat", segments[-1], 0, 0)
    ctypes.memset(address, 1, size)
    _libc.shmdt(ctypes.c_void_p(address))
""",
        after="for segment in segments: _libc.shmctl(segment, 0, 0)",
        # Without a namespace for them there are none at all.
        declared={NAMESPACES: "tree-memory"},
    ),
    _holds(
        "buffers of sockets",
        """
import socket
pairs = []
sent = 0
while len(pairs) < 450:
    ours, theirs = socket.socketpair()
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    ours.setblocking(False)
    pairs.append((ours, theirs))
    try:
        while True:
            sent += ours.send(bytes(65536))
    except BlockingIOError:
        pass
if sent < 128 * 1024 * 1024:
    raise OSError(errno.ENOBUFS, f"only {sent} bytes")
""",
    ),
    _holds(
        "tables of pages",
        """
import mmap
space = 128 << 30
kind = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000
memory = mmap.mmap(-1, space, flags=kind, prot=mmap.PROT_READ)
for at in range(0, space, 2 << 20):
    memory[at]
""",
    ),
    _takes(
        "many processes, while others end all the time",
        """
# Each end of an orphan wakes whoever is in charge.
import time
until = time.monotonic() + 1.2
if os.fork() == 0:
    while time.monotonic() < until:
        if os.fork() == 0:
            os.fork()
            os._exit(0)
        os.wait()
        # A control leaves them to the first process of the machine: not too many of them.
        time.sleep(0.01 * W.control)
    os._exit(0)
time.sleep(0.1)
"""
        + TREE,
    ),
    _takes(
        "many processes, while the supervisor can open nothing",
        """
import resource
try:
    resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3))
except OSError as error:
    refused(error)
"""
        + TREE,
    ),
    _takes(
        "many processes, while the supervisor comes last",
        """
import time
for act in (
    lambda: os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.setpriority(os.PRIO_PROCESS, os.getppid(), 19),
    lambda: os.sched_setaffinity(os.getppid(), {0}),
):
    attempt(act)
until = time.monotonic() + 1.2
for _ in range(4):
    if os.fork() == 0:
        os.sched_setaffinity(0, {0})
        while time.monotonic() < until:
            pass
        os._exit(0)
"""
        + TREE,
    ),
)
