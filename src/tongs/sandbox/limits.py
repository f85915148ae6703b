"""The back end `limits`: a clean start, bounded resources, and the death of the whole tree.

It asks nothing special of the kernel, and confines neither files nor network.
"""

from __future__ import annotations

import math
import os
import sys

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Limits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongs.core.execution import Policy, Session, SpoolOpener, Waiter
    from tongs.sandbox.launch import Launcher

ENFORCED = ("environment", "descriptors", "no-new-privileges", "limits", "tree-kill")
NOT_ENFORCED = ("network", "fs.read", "fs.write", "tree-memory")


def create(*, direct: bool, spool: SpoolOpener | None, temp_root: str) -> LimitsSandbox:
    return LimitsSandbox(direct=direct, spool=spool, temp_root=temp_root)


class LimitsSandbox:
    """Opens sessions. `direct` forks from this process, which must then have only one thread."""

    def __init__(
        self, *, direct: bool = False, spool: SpoolOpener | None = None, temp_root: str = "/tmp"
    ) -> None:
        self._direct = direct
        self._spool = spool
        self._temp_root = temp_root
        self._launcher: Launcher | None = None

    def open(self, policy: Policy, waiter: Waiter) -> Session:
        if sys.platform != "linux":
            raise ToolError(
                ErrorCode.SANDBOX_UNAVAILABLE,
                f"tools cannot be run on {sys.platform} yet",
                hint="run tongs on Linux (on Windows: inside WSL 2)",
            )
        from tongs.sandbox.session import Confinement, TreeSession  # noqa: PLC0415 - Linux only

        root = os.geteuid() == 0
        confinement = Confinement(
            # Counted when a process is started: many calls start none.
            limits=lambda: resource_limits(policy.limits, root=root),
            enforced=ENFORCED,
            # The kernel does not count the processes of root.
            not_enforced=(*NOT_ENFORCED, "processes") if root else NOT_ENFORCED,
        )
        return TreeSession(
            policy,
            waiter,
            self._launch_by(),
            confinement,
            spool=self._spool,
            temp_root=self._temp_root,
        )

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        # The kernel does not count the processes of root.
        return (*NOT_ENFORCED, "processes") if os.geteuid() == 0 else NOT_ENFORCED

    def close(self) -> None:
        """End what is kept between calls. The sandbox can be used again afterwards."""
        if self._launcher is not None:
            self._launcher.close()

    def _launch_by(self) -> Launcher:
        if self._launcher is None:
            self._launcher = _direct() if self._direct else _fork_server()
        return self._launcher


def resource_limits(limits: Limits, *, root: bool) -> list[tuple[int, int]]:
    """What setrlimit gets, in the order to apply it: memory last, since exec itself needs some."""
    import resource  # noqa: PLC0415 - does not exist on Windows

    found = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ]
    if limits.cpu is not None:
        found.append((resource.RLIMIT_CPU, max(1, math.ceil(limits.cpu))))
    if not root:
        # The kernel counts all threads of the user, so the limit starts from what runs already.
        found.append((resource.RLIMIT_NPROC, threads_of(os.getuid()) + limits.processes))
    # Not RLIMIT_AS: runtimes such as node reserve many times the address space they use.
    found.append((resource.RLIMIT_DATA, limits.memory))
    return found


def threads_of(user: int) -> int:
    """How many threads run for this user."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                if os.stat(f"/proc/{name}").st_uid == user:
                    # One link per thread, and the folder's own two; cheaper than listing it.
                    total += os.stat(f"/proc/{name}/task").st_nlink - 2
            except OSError:
                continue
    return total


def _direct() -> Launcher:
    from tongs.sandbox.launch import Direct  # noqa: PLC0415 - Linux only

    return Direct()


def _fork_server() -> Launcher:
    from tongs.sandbox.forkclient import ForkServer  # noqa: PLC0415 - sockets and threads

    return ForkServer()
