"""Running real commands in a session, and looking at real processes."""

from __future__ import annotations

import asyncio
import fcntl
import os
import select
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from tongs.core.execution import (
    Command,
    Completed,
    Event,
    Observer,
    Policy,
    Session,
    SpoolOpener,
    Waiter,
)
from tongs.core.permissions import Limits, Permissions
from tongs.sandbox import create
from tongs.sandbox.host import Host
from tongs.sandbox.waiting import BlockingWaiter, LoopWaiter

T = TypeVar("T")

PATH = "/usr/local/bin:/usr/bin:/bin"

# Starts a daemon that holds a lock on the file named by $1, says so, and waits for "$1.seen".
LOCKING_DAEMON = """
setsid bash -c 'exec 9> "$0"; flock 9; touch "$0.held"; exec sleep 300' "$1" \
    </dev/null >/dev/null 2>&1 &
until [ -e "$1.held" ]; do sleep 0.01; done
echo ready
until [ -e "$1.seen" ]; do sleep 0.01; done
"""

# Starts a daemon in a session of its own, writes its pid to the file named by $1, and says so.
DAEMON = """
setsid bash -c 'echo $$ > "$0.new"; mv "$0.new" "$0"; exec sleep 300' "$1" \
    </dev/null >/dev/null 2>&1 &
until [ -e "$1" ]; do sleep 0.01; done
echo ready
"""


def driven(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that never suspends, as the command line does."""
    try:
        work.send(None)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # the coroutine's own type
    raise AssertionError("it suspended")


def command(*argv: str, **changes: Any) -> Command:
    return replace(Command(argv, {"PATH": PATH}, "/"), **changes)


def bash(script: str, *arguments: str, **changes: Any) -> Command:
    return command("bash", "-c", script, "bash", *arguments, **changes)


def without_duration(completed: Completed) -> Completed:
    return replace(completed, duration=0.0)


# How processes are started: by a fork of this one, and by the two fork servers.
MODES = ("direct", "server", "native")


@dataclass
class World:
    """A sandbox of one kind, with everything it opened."""

    key: str = "limits"
    direct: bool = True
    # Whether the compiled fork server is used, which stands in for a direct fork, too.
    native: bool = False
    loop: bool = False
    temp_root: str = "/tmp"
    spool: SpoolOpener | None = None
    permissions: Permissions = field(default_factory=Permissions)
    _opened: list[Session] = field(default_factory=list)
    _sandbox: Any = None

    @classmethod
    def of(cls, mode: str, key: str = "limits", **rest: Any) -> World:
        return cls(key, direct=mode == "direct", native=mode == "native", **rest)

    def session(self, limits: Limits | None = None, waiter: Waiter | None = None) -> Session:
        if self._sandbox is None:
            self._sandbox = create(
                self.key,
                direct=self.direct,
                spool=self.spool,
                temp_root=self.temp_root,
                host=Host(native=self.native),
            )
        policy = Policy(self.permissions, limits or Limits(), "/", "call-1")
        chosen = waiter or (LoopWaiter() if self.loop else BlockingWaiter())
        session: Session = self._sandbox.open(policy, chosen)
        self._opened.append(session)
        return session

    def run(
        self, wanted: Command, limits: Limits | None = None, observe: Observer | None = None
    ) -> Completed:
        """One command in a session of its own, as a call is."""
        session = self.session(limits)
        try:
            return self.step(session, wanted, observe)
        finally:
            session.close()

    def step(self, session: Session, wanted: Command, observe: Observer | None = None) -> Completed:
        """One command among others of the same session."""
        work = session.run(wanted, observe or ignore)
        return asyncio.run(work) if self.loop else driven(work)

    @property
    def fork_server(self) -> Any:
        return self._sandbox._kept._launcher

    def close(self) -> None:
        for session in self._opened:
            session.close()
        if self._sandbox is not None:
            self._sandbox.close()


def ignore(event: Event) -> None:
    """For tests that look at the end only."""


def pid_in(file: Path) -> int:
    return int(file.read_text())


def is_alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def is_locked(file: Path) -> bool:
    """Whether a process holds a lock on it: unlike a pid, a lock means the same everywhere."""
    with file.open("rb") as opened:
        try:
            fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False


def dies_within(pid: int, seconds: float) -> bool:
    try:
        process = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poller = select.poll()
        poller.register(process, select.POLLIN)
        return bool(poller.poll(seconds * 1000))
    finally:
        os.close(process)


def children() -> list[int]:
    me = os.getpid()
    return [
        int(pid)
        for thread in os.listdir(f"/proc/{me}/task")
        for pid in Path(f"/proc/{me}/task/{thread}/children").read_text().split()
    ]


def open_descriptors() -> Sequence[str]:
    return sorted(os.listdir("/proc/self/fd"))


def resident() -> int:
    """Bytes of memory this process has now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
