"""What the back ends for Linux share: limits per process, and how sessions are opened."""

from __future__ import annotations

import math
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Limits
from tongs.sandbox.roots import KnownRoots

if TYPE_CHECKING:
    from tongs.core.execution import Policy, Session, SpoolOpener, Waiter
    from tongs.sandbox.cgroups import Found, Group
    from tongs.sandbox.channel import Pool
    from tongs.sandbox.groups import Groups
    from tongs.sandbox.host import Host
    from tongs.sandbox.orders import Jail
    from tongs.sandbox.session import Confinement
    from tongs.sandbox.system import System
    from tongs.sandbox.warm import Templates

# Every back end starts a program with a clean environment and the death of its tree arranged.
ALWAYS = ("environment", "descriptors", "no-new-privileges", "limits", "tree-kill")
# The Landlock that keeps processes of one world apart: since then it scopes signals.
WARM_FROM = 6
# Policies whose walls are kept in memory.
_MOST_KEPT = 64


class LinuxSandbox(ABC):
    """Opens sessions. `direct` forks from this process, which must then have only one thread."""

    def __init__(
        self, *, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host
    ) -> None:
        self._direct = direct
        # Whether this process itself may fork, which is right only while it has one thread.
        self._forks = direct
        self._spool = spool
        self._temp_root = temp_root
        self._host = host
        self._system: System | None = None
        self._asked_abi: int | None = None
        self._roots = KnownRoots()
        self._jails: dict[Hashable, Jail] = {}
        self._kept: Pool | None = None
        self._places: list[Found | None] = []
        self._groups: Groups | None = None
        self._templates: Templates | None = None

    def open(self, policy: Policy, waiter: Waiter) -> Session:
        if sys.platform != "linux":
            raise ToolError(
                ErrorCode.SANDBOX_UNAVAILABLE,
                f"tools cannot be run on {sys.platform} yet",
                hint="run tongs on Linux (on Windows: inside WSL 2)",
            )
        from tongs.sandbox.session import TreeSession  # noqa: PLC0415 - Linux only

        confinement = self._confined(policy)
        return TreeSession(
            policy,
            waiter,
            self._pool(),
            confinement,
            spool=self._spool,
            templates=self._kept_templates() if confinement.warmth is not None else None,
        )

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        return self._confined(policy).not_enforced

    def expect_threads(self) -> None:
        """Have a fork server from here on. Sessions that are open keep what they were given."""
        if self._forks:
            self._forks, self._kept = False, None

    def close(self) -> None:
        """End what is kept between calls. The sandbox can be used again afterwards."""
        if self._templates is not None:
            self._templates.close()
        if self._kept is not None:
            self._kept.close()
        if self._groups is not None:
            self._groups.close()

    @abstractmethod
    def _confined(self, policy: Policy) -> Confinement:
        """The walls of a back end around a call under this policy. Raises ToolError."""

    def _known_system(self) -> System:
        """What programs need of this host; looked up again when a part of it was replaced."""
        if self._system is None or not self._system.current:
            from tongs.sandbox.system import system_of  # noqa: PLC0415 - Linux only

            self._system = system_of(self._host)
            # Their walls show what is no longer there.
            self._jails.clear()
        return self._system

    @property
    def _abi(self) -> int:
        """The Landlock of this kernel, asked for once; 0 where there is none."""
        if self._asked_abi is None:
            from tongs.sandbox import kernel  # noqa: PLC0415 - Linux only

            self._asked_abi = kernel.landlock_abi()
        return self._asked_abi

    def _kept_jail(self, key: Hashable, make: Callable[[], Jail]) -> Jail:
        jail = self._jails.get(key)
        if jail is None:
            if len(self._jails) >= _MOST_KEPT:
                self._jails.clear()
            jail = self._jails[key] = make()
        return jail

    def _over_the_tree(self, *, counted: bool) -> tuple[list[str], list[str]]:
        """What holds for all processes of a call together, and what only a watchdog looks at.

        A watchdog does not see what no process holds: buffers of sockets, files in flight.
        """
        place = self._place()
        memory = place is not None and place.memory is not None
        processes = counted or (place is not None and place.pids is not None)
        enforced = [
            "processes" if processes else "processes:watchdog",
            "tree-memory" if memory else "tree-memory:watchdog",
        ]
        return enforced, [] if memory else ["tree-memory"]

    def _watched(self, limits: Limits) -> tuple[int, int]:
        """What a watchdog has to look at because no cgroup does."""
        place = self._place()
        if place is not None and place.memory and place.pids:
            return (0, 0)
        memory = sys.maxsize if place is not None and place.memory else limits.memory
        return memory, sys.maxsize if place is not None and place.pids else limits.processes

    def _group(self, limits: Limits) -> Callable[[], Group] | None:
        place = self._place()
        if place is None:
            return None
        if self._groups is None:
            from tongs.sandbox.groups import Groups  # noqa: PLC0415 - where there are any

            self._groups = Groups(place)
        groups = self._groups

        def make() -> Group:
            try:
                return groups.take(limits.memory, limits.processes)
            except OSError as error:
                raise ToolError(
                    ErrorCode.SANDBOX_UNAVAILABLE,
                    f"the cgroup of the call cannot be made: {error}",
                    hint="it could be when this process began; start it again",
                ) from error

        return make

    def _place(self) -> Found | None:
        """Where cgroups can be made, looked up once.

        To move a process into one takes the kernel up to 16 ms: nothing beside the life of a
        server, which does it ahead of its calls, and half of all that a single command takes.
        """
        if self._direct:
            return None
        if not self._places:
            from tongs.sandbox.cgroups import probe  # noqa: PLC0415 - servers only

            self._places.append(probe())
        return self._places[0]

    def _kept_templates(self) -> Templates | None:
        """None for a process that makes one call, which has nothing to keep one for."""
        if self._direct:
            return None
        if self._templates is None:
            from tongs.sandbox.warm import Templates  # noqa: PLC0415 - servers only

            self._templates = Templates(self._pool())
        self._templates.sweep()
        return self._templates

    def _pool(self) -> Pool:
        if self._kept is None:
            from tongs.sandbox.channel import Pool  # noqa: PLC0415 - Linux only
            from tongs.sandbox.compiled import program  # noqa: PLC0415 - as above

            native = program() if self._host.native else ""
            if self._forks and not native:
                from tongs.sandbox.launch import Direct  # noqa: PLC0415 - as above

                self._kept = Pool(Direct())
            else:
                from tongs.sandbox.forkclient import ForkServer  # noqa: PLC0415 - as above

                self._kept = Pool(ForkServer(native, ahead=not self._direct))
        return self._kept


def seccomp_filter(*, network: bool, strict: bool, writes: bool, truncate: bool) -> bytes:
    """The filter for this machine. Raises ToolError where none was ever written."""
    from tongs.sandbox import bpf  # noqa: PLC0415 - calls only

    machine = os.uname().machine
    try:
        return bpf.program(
            machine,
            families=bpf.NETWORK_FAMILIES if network else (),
            strict=strict,
            writes=writes,
            truncate=truncate,
        )
    except KeyError:
        raise ToolError(
            ErrorCode.SANDBOX_UNAVAILABLE,
            f"there is no seccomp filter for this machine ({machine})",
            hint="tools can be confined on x86_64 and aarch64",
        ) from None


def resource_limits(limits: Limits, *, started: int | None) -> list[tuple[int, int]]:
    """What setrlimit gets, in the order to apply it: memory last, since exec itself needs some.

    `started` processes count already; None where the kernel does not count.
    """
    import resource  # noqa: PLC0415 - does not exist on Windows

    found = [
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, limits.file_size),
        (resource.RLIMIT_NOFILE, limits.open_files),
    ]
    if limits.cpu is not None:
        found.append((resource.RLIMIT_CPU, max(1, math.ceil(limits.cpu))))
    if started is not None:
        found.append((resource.RLIMIT_NPROC, started + limits.processes))
    # Not RLIMIT_AS: runtimes such as node reserve many times the address space they use.
    found.append((resource.RLIMIT_DATA, limits.memory))
    return found


def threads_of(user: int) -> int:
    """How many threads run for this user: the kernel counts all of them for RLIMIT_NPROC."""
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
