"""A process outside, of the same user, with secrets in its environment, memory and descriptors."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
from pathlib import Path

# Anybody of the same user may trace it, whatever the system's default.
PROGRAM = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, ctypes.c_ulong(-1), 0, 0, 0)
libc.sigaltstack  # keep the library loaded
kept = ctypes.create_string_buffer(os.environ["VICTIM_SECRET"].encode(), 64)
reading, writing = os.pipe()
os.write(writing, kept.value)
deleted = os.open("deleted", os.O_RDWR | os.O_CREAT, 0o600)
os.write(deleted, kept.value)
os.unlink("deleted")
print(ctypes.addressof(kept), deleted, reading, flush=True)
sys.stdin.read()
"""

_KILLED = 1 << (signal.SIGKILL - 1)


class Victim:
    """`changed` tells what was done to it since it started."""

    def __init__(self, python: str, folder: Path, secret: str) -> None:
        self._process = subprocess.Popen(
            [python, "-I", "-S", "-c", PROGRAM, "victim", secret],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={"VICTIM_SECRET": secret},
            cwd=folder,
            start_new_session=True,
        )
        assert self._process.stdout is not None
        self.pid = self._process.pid
        self.address, self.deleted, self.pipe = map(int, self._process.stdout.readline().split())
        self._first = self._facts()

    def known(self) -> dict[str, int]:
        return {
            "victim": self.pid,
            "victim_address": self.address,
            "victim_descriptor": self.deleted,
            "victim_pipe": self.pipe,
        }

    def changed(self) -> list[str]:
        try:
            now = self._facts() if self._process.poll() is None else {}
        except ProcessLookupError:  # it is dying: its memory is gone before it can be waited for
            now = {}
        if not now:
            return [f"the victim ended with {self._process.wait(10)}"]
        return [
            f"the victim's {name} was {self._first[name]} and is {value}"
            for name, value in now.items()
            if value != self._first[name]
        ]

    def close(self) -> None:
        self._process.kill()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def _facts(self) -> dict[str, object]:
        proc = Path(f"/proc/{self.pid}")
        status = dict(line.split(":", 1) for line in (proc / "status").read_text().splitlines())
        if (int(status["SigPnd"], 16) | int(status["ShdPnd"], 16)) & _KILLED:
            raise ProcessLookupError
        state = status["State"].split()[0]
        stat = (proc / "stat").read_text().rpartition(")")[2].split()
        return {
            # It may be just on its way to sleep, or on its way through a signal it ignores.
            "state": "alive" if state in "RSD" else state,
            "tracer": status["TracerPid"].strip(),
            "affinity": sorted(os.sched_getaffinity(self.pid)),
            "scheduler": os.sched_getscheduler(self.pid),
            "niceness": os.getpriority(os.PRIO_PROCESS, self.pid),
            "group": stat[2],
            "open files limit": resource.prlimit(self.pid, resource.RLIMIT_NOFILE),
            "core limit": resource.prlimit(self.pid, resource.RLIMIT_CORE),
            "oom score": (proc / "oom_score_adj").read_text().strip(),
            "disk priority": _disk_priority(self.pid),
            "cgroups": (proc / "cgroup").read_text(),
            "memory": _memory(self.pid, self.address),
        }


def _disk_priority(pid: int) -> int:
    import ctypes

    number = {"x86_64": 252, "aarch64": 31}[os.uname().machine]
    return int(ctypes.CDLL(None).syscall(number, 1, pid))


def _memory(pid: int, address: int) -> bytes:
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(64)
