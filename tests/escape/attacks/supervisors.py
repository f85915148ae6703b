"""Turning on whoever is in charge of the call."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.escape.attack import OUT_WRITABLE, PLAIN, Attack
from tests.escape.scene import Scene

from tongs.core.execution import Session

TOPIC = "the supervisor"

PARENT = """
import signal, time
def state(pid):
    return read(f"/proc/{pid}/stat").rpartition(")")[2].split()[0]
def parent_of(pid):
    return int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1])
parent = os.getppid()
"""
STOP = """
os.kill({who}, signal.SIGSTOP)
until = time.monotonic() + 0.3
while time.monotonic() < until and state({who}) not in "Tt":
    time.sleep(0.01)
if state({who}) in "Tt":
    escaped("stopped")
    os.kill({who}, signal.SIGCONT)
"""


# A process that has none above it, as far as it can see, would stop itself.
ABOVE = """
above = parent_of(parent)
if above < 1:
    raise ProcessLookupError(errno.ESRCH, "nobody above")
"""


def _finished(scene: Scene) -> Iterable[str]:
    """Whether the call came to a proper end."""
    ran = scene.result
    if ran.error is not None:
        yield f"the call was lost: {ran.error.message}"


def _led_away(scene: Scene, session: Session) -> None:
    """Tongs hands the call another file, as it does for each step."""
    session.write("step", b"the next step\n")


def _scratch_outside(scene: Scene) -> Mapping[str, Any]:
    folder = scene.outside / "control"
    folder.mkdir()
    (folder / "precious").write_text("kept\n")
    scene.stack.callback(_remove_links, folder)
    return {"elsewhere": str(folder)}


def _remove_links(folder: Path) -> None:
    """What a control leaves of a scratch folder that it has moved away."""
    for path in Path(f"/tmp/tongs-{os.geteuid()}").glob("*"):
        if path.is_symlink() and path.readlink() == folder:
            path.unlink()
            shutil.rmtree(f"{path}.moved")


ATTACKS = (
    Attack("stopping it", TOPIC, PARENT + STOP.format(who="parent"), deadly=True),
    Attack(
        "stopping what started it", TOPIC, PARENT + ABOVE + STOP.format(who="above"), deadly=True
    ),
    Attack(
        "killing it",
        TOPIC,
        PARENT
        + """
os.kill(parent, signal.SIGKILL)
time.sleep(0.3)
if os.getppid() != parent:
    escaped("nobody is in charge any more")
""",
        control=PLAIN,
        deadly=True,
        evidence=_finished,
    ),
    Attack(
        "killing it by every signal",
        TOPIC,
        PARENT
        + """
for number in (1, 2, 3, 6, 10, 12, 15):
    attempt(os.kill, parent, number)
    time.sleep(0.02)
if os.getppid() != parent:
    escaped("nobody is in charge any more")
""",
        control=PLAIN,
        deadly=True,
        evidence=_finished,
    ),
    Attack(
        "a daemon after it was killed",
        TOPIC,
        PARENT
        + """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for fd in (0, 1, 2):
            os.close(fd)
        time.sleep(300)
    os._exit(0)
os.wait()
attempt(os.kill, parent, signal.SIGKILL)
""",
        control=PLAIN,
        deadly=True,
    ),
    Attack(
        "its descriptors, to speak in its name",
        TOPIC,
        """
parent = os.getppid()
for name in os.listdir(f"/proc/{parent}/fd"):
    for flags in (os.O_WRONLY, os.O_RDONLY):
        try:
            os.open(f"/proc/{parent}/fd/{name}", flags | os.O_NONBLOCK)
        except OSError as error:
            last = error
            continue
        escaped(os.readlink(f"/proc/{parent}/fd/{name}"))
""",
    ),
    Attack(
        "its descriptors, taken out of it",
        TOPIC,
        """
process = call("pidfd_open", os.getppid(), 0)
for number in range(16):
    fd = attempt(call, "pidfd_getfd", process, number, 0)
    if fd is not None:
        escaped(os.readlink(f"/proc/self/fd/{fd}"))
""",
    ),
    Attack(
        "its memory",
        TOPIC,
        """
with open(f"/proc/{os.getppid()}/mem", "r+b") as memory:
    escaped("opened for writing")
""",
    ),
    Attack(
        "tracing it",
        TOPIC,
        """
_libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
if _libc.ptrace(0x4206, os.getppid(), 0, 0):
    raise OSError(ctypes.get_errno(), "ptrace")
escaped("seized")
""",
    ),
    Attack(
        "its priority",
        TOPIC,
        """
before = os.getpriority(os.PRIO_PROCESS, os.getppid())
os.setpriority(os.PRIO_PROCESS, os.getppid(), 19)
if os.getpriority(os.PRIO_PROCESS, os.getppid()) != before:
    escaped("it is slow now")
""",
    ),
    Attack(
        "its scheduler",
        TOPIC,
        """
os.sched_setscheduler(os.getppid(), os.SCHED_IDLE, os.sched_param(0))
escaped("it comes last now")
""",
    ),
    Attack(
        "its processors",
        TOPIC,
        """
os.sched_setaffinity(os.getppid(), {0})
escaped("it has only one now")
""",
    ),
    Attack(
        "its time of the processor",
        TOPIC,
        """
import resource
parent = os.getppid()
resource.prlimit(parent, resource.RLIMIT_CPU, (1, resource.prlimit(parent, 0)[1]))
escaped("it dies after a second of work")
""",
        deadly=True,
    ),
    Attack(
        "its limits",
        TOPIC,
        """
import resource
parent = os.getppid()
resource.prlimit(parent, resource.RLIMIT_NOFILE, (5, resource.prlimit(parent, 7)[1]))
escaped("it can open nothing any more")
""",
    ),
    Attack(
        "its folder of files led outside",
        TOPIC,
        """
folder = os.path.dirname(W.scratch)
os.rename(folder, folder + ".moved")
os.symlink(W.elsewhere, folder)
""",
        arrange=_scratch_outside,
        between=_led_away,
        then="print('the next step')",
        deadly=True,
    ),
    Attack(
        "its cleaning led outside",
        TOPIC,
        """
import shutil
shutil.rmtree(W.scratch, ignore_errors=True)
os.symlink(W.elsewhere, W.scratch)
""",
        arrange=_scratch_outside,
        control=PLAIN,
    ),
    Attack(
        "the working directory gone before the next step",
        TOPIC,
        """
import shutil
shutil.rmtree(W.project + "/out")
os.symlink(W.outside, W.project + "/out")
""",
        permissions=OUT_WRITABLE,
        then='open(W.project + "/out/new", "w").write("changed")',
        deadly=True,
    ),
)
