"""What the kernel tells of the processes of the soak, and who buries them."""

from __future__ import annotations

import ctypes
import os
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tongs.sandbox import tree

# In the environment of every call, with its number.
MARK = "SOAK"
# A process that is being killed takes its time where the machine is busy.
PATIENCE = 20.0

_SUBREAPER = 36


def is_marked(pid: int, number: int | None = None) -> bool:
    """Whether a process belongs to a call, or to this one."""
    mark = f"{MARK}=" if number is None else f"{MARK}={number}."
    return mark.encode() in read(f"/proc/{pid}/environ")


def described(pid: int) -> str:
    variables = read(f"/proc/{pid}/environ").decode(errors="replace").split("\0")
    marks = [word for word in variables if word.startswith(f"{MARK}=")]
    return " ".join([str(pid), name_of(pid).decode(), state_of(pid), *marks])


def name_of(pid: int) -> bytes:
    return read(f"/proc/{pid}/comm").strip()


def state_of(pid: int) -> str:
    return read(f"/proc/{pid}/stat").rpartition(b") ")[2][:1].decode()


def memory_of(pid: int) -> int:
    pages = int((read(f"/proc/{pid}/statm") or b"0 0").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1024


def descriptors_of(pid: str) -> list[str]:
    """What they stand for, without the numbers of pipes and sockets."""
    found = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            found.append(os.readlink(f"/proc/{pid}/fd/{name}").partition(":[")[0])
        except OSError:
            continue  # the one that listed the folder
    return found


def read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def adopting(work: Callable[[], None]) -> dict[str, Any]:
    """Run it in a child, bury all that comes to this process, and tell what is alive in the end."""
    if ctypes.CDLL(None, use_errno=True).prctl(_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - this copy of the process ends here, whatever it was
            traceback.print_exc()
        finally:
            os._exit(status)
    buried = [os.waitpid(-1, 0)]
    while buried[-1][0] != child:
        buried.append(os.waitpid(-1, 0))
    deadline = time.monotonic() + PATIENCE
    while (left := tree.children_of_this_process()) and time.monotonic() < deadline:
        tree.reap({})
        time.sleep(0.02)
    return {
        "status": buried[-1][1],
        "orphans": len(buried) - 1,
        "alive": [described(pid) for pid in left],
    }
