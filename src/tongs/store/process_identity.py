"""Who a process is, so that another one can tell later whether it is still there."""

from __future__ import annotations

import os


def own_identity() -> str:
    """Boot, number and start of this process: numbers are given again, this is not."""
    pid = os.getpid()
    return f"{_boot()}:{pid}:{_start(pid)}"


def is_alive(identity: str) -> bool:
    """Whether the process is there that `own_identity` told of; what follows a slash is its own.

    False may be wrong across namespaces of processes, so nothing may rest on it alone.
    """
    boot, _, rest = identity.partition("/")[0].partition(":")
    number, _, start = rest.partition(":")
    return boot == _boot() and number.isdigit() and bool(start) and start == _start(int(number))


def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return "-"


def _start(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name in brackets may hold anything, so the rest is cut off from the end.
            words = file.read().rpartition(b")")[2].split()
    except OSError:
        return _without_proc(pid)
    # A zombie does nothing any more.
    return "" if words[0] in (b"Z", b"X") else words[19].decode()


def _without_proc(pid: int) -> str:
    if os.path.isdir("/proc/self"):
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except OSError:
        return "?"
    return "?"
