"""Taking more than one's share: memory, processes, files, time, output."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.escape.attack import DIRECT, LANDLOCK, OUT_WRITABLE, PLAIN, TIERS, Attack
from tests.escape.scene import Scene

from tongs.core.permissions import Limits

TOPIC = "limits"

MIB = 1024**2
SMALL = Limits(memory=64 * MIB, processes=24, file_size=MIB, open_files=64, cpu=1, output=64 * 1024)
# Files may be large here, so that it is not their size that stops a flood of memory.
SMALL_MEMORY = Limits(memory=64 * MIB)

TREE_MEMORY = dict.fromkeys(TIERS, "tree-memory")


def _takes(name: str, script: str, limits: Limits = SMALL, **how: Any) -> Attack:
    how = {"permissions": OUT_WRITABLE, "deadly": True, "control": PLAIN, **how}
    return Attack(name, TOPIC, script, limits=limits, **how)


def _flooded(scene: Scene) -> Iterable[str]:
    kept = sum(len(one.stdout) + len(one.stderr) for one in scene.result.completed)
    if kept > 1024 * 1024:
        yield f"{kept} bytes of output are held in memory"


# Each waits until all are there: what counts is how many live at once.
FORKS = """
import time
reading, writing = os.pipe()
alive = 0
for _ in range(200):
    child = attempt(os.fork)
    if child is None:
        break
    if child == 0:
        os.close(writing)
        os.read(reading, 1)
        os._exit(0)
    alive += 1
# Long enough for whoever counts from outside.
time.sleep(0.4)
if alive > 100:
    escaped(alive, "processes at once")
os.close(writing)
"""
THREADS = """
import threading, time
over = threading.Event()
alive = 0
for _ in range(200):
    try:
        threading.Thread(target=over.wait, daemon=True).start()
    except RuntimeError:
        print("REFUSED EAGAIN")
        break
    alive += 1
time.sleep(0.4)
if alive > 100:
    escaped(alive, "threads at once")
over.set()
"""
# Half a second with all of it in hand, for whoever looks from outside.
HOLD = """
import time
time.sleep(0.5)
escaped("had it")
"""
# Some of the children may be killed for it: what counts is how much the living have all at once.
TREE = """
import time
telling, tell = os.pipe()
children = []
for _ in range(8):
    child = os.fork()
    if child == 0:
        os.close(telling)
        held = bytearray(48 * 1024 * 1024)
        held[::4096] = b"x" * (len(held) // 4096)
        os.write(tell, b"x")
        os.close(tell)
        time.sleep(300)
    children.append(child)
os.close(tell)
# Until each has it, or is dead.
had = 0
while had < 8 and os.read(telling, 1):
    had += 1
# For whoever looks from outside.
time.sleep(0.5)
alive = 0
for child in children:
    if os.waitpid(child, os.WNOHANG)[0] == 0:
        alive += 1
        os.kill(child, 9)
if alive * 48 > 128:
    escaped(alive * 48, "MiB in", alive, "processes")
else:
    raise OSError(errno.ENOMEM, f"only {alive} processes are left")
"""
# What lies on a disk takes no memory: no attack there. A control only shows that it can be done.
FILES = """
import tempfile, time
with tempfile.TemporaryDirectory(dir={folder}) as folder:
    device = os.stat(folder).st_dev
    number = f"{{os.major(device)}}:{{os.minor(device)}}"
    mounts = read("/proc/self/mountinfo").splitlines()
    kind = [line.partition(" - ")[2].split()[0] for line in mounts if line.split()[2] == number]
    for count in range(8):
        with open(f"{{folder}}/{{count}}", "wb") as file:
            file.write(bytes(32 * 1024 * 1024))
    time.sleep(0.3)
    if W.control or "tmpfs" in kind:
        escaped("256 MiB of files in memory")
"""

ATTACKS = (
    _takes("a fork bomb", FORKS),
    _takes("a fork bomb of a single command", FORKS, launch=DIRECT),
    _takes("a bomb of threads", THREADS),
    _takes(
        "much memory in one process",
        """
held = bytearray(256 * 1024 * 1024)
held[::4096] = b"x" * (len(held) // 4096)
escaped("256 MiB")
""",
    ),
    _takes(
        "much memory in small pieces",
        """
held = [bytes(65536) for _ in range(4096)]
held = [bytearray(piece) for piece in held]
escaped("256 MiB")
""",
    ),
    _takes(
        "much memory in a mapping that is shared",
        """
import mmap
memory = mmap.mmap(-1, 256 * 1024 * 1024)
for at in range(0, len(memory), 4096):
    memory[at] = 1
"""
        + HOLD,
        declared=TREE_MEMORY,
        watched=True,
        limits=SMALL_MEMORY,
    ),
    _takes(
        "much memory in a file without a name",
        """
fd = os.memfd_create("held")
for _ in range(64):
    os.write(fd, bytes(4 * 1024 * 1024))
"""
        + HOLD,
        declared=TREE_MEMORY,
        watched=True,
        limits=SMALL_MEMORY,
    ),
    _takes(
        "much memory in files of the scratch folder",
        FILES.format(folder="W.scratch"),
        # Without a private root it lies where temporary files lie: on a disk, or in memory.
        declared={LANDLOCK: "tree-memory"},
        watched=True,
        limits=SMALL_MEMORY,
    ),
    _takes(
        "much memory in files that lie in memory",
        FILES.format(folder="'/dev/shm'"),
        limits=SMALL_MEMORY,
    ),
    _takes("much memory over many processes", TREE, declared=TREE_MEMORY, watched=True),
    _takes(
        "much memory over many processes of a single command",
        TREE,
        declared=TREE_MEMORY,
        watched=True,
        launch=DIRECT,
    ),
    _takes(
        "a large file",
        """
with open("out/large", "wb") as file:
    file.write(bytes(4 * 1024 * 1024))
escaped("4 MiB")
""",
    ),
    _takes(
        "a large file made by its length",
        """
with open("out/large", "wb") as file:
    file.truncate(1 << 32)
escaped("4 GiB")
""",
    ),
    _takes(
        "a large file made by reserving it",
        """
fd = os.open("out/large", os.O_RDWR | os.O_CREAT)
os.posix_fallocate(fd, 0, 4 * 1024 * 1024)
escaped("4 MiB")
""",
    ),
    _takes(
        "a large file in the scratch folder",
        """
with open(W.scratch + "/large", "wb") as file:
    file.write(bytes(4 * 1024 * 1024))
escaped("4 MiB")
""",
    ),
    _takes(
        "many open files",
        """
held = [os.open("/dev/null", os.O_RDONLY) for _ in range(200)]
escaped(len(held), "open at once")
""",
    ),
    _takes(
        "much time of the processor",
        """
import time
while time.process_time() < 1.4:
    pass
escaped(time.process_time(), "seconds")
""",
    ),
    _takes(
        "more output than anybody reads",
        """
for _ in range(64):
    os.write(1, b"x" * 65535 + b"\\n")
""",
        evidence=_flooded,
    ),
    _takes(
        "more output than anybody reads, as errors",
        """
for _ in range(64):
    os.write(2, b"x" * 65535 + b"\\n")
""",
        evidence=_flooded,
    ),
)
