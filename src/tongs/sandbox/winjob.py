"""The back end `winjob`: Windows, by a Job Object. Experimental.

We have never run it on a real machine; what is tested are the bytes of the limits. A Job Object
bounds memory, processes and CPU time, and ends the whole tree. It knows neither files nor network,
so a call is refused that asks for either to be confined, which is every call with less than all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from tongs.core.annotations import TYPE_CHECKING, Any
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.permissions import Limits, Permissions

if TYPE_CHECKING:
    import subprocess

    from tongs.core.execution import Command, Policy, Session, SpoolOpener, Waiter
    from tongs.sandbox.host import Host

ENFORCED = ("environment", "descriptors", "limits", "processes", "tree-memory", "tree-kill")
NOT_ENFORCED = ("network", "fs.read", "fs.write", "protected-paths", "scratch-view")

# Of winnt.h.
JOB_TIME = 0x4
ACTIVE_PROCESS = 0x8
JOB_MEMORY = 0x200
DIE_ON_UNHANDLED_EXCEPTION = 0x400
KILL_ON_JOB_CLOSE = 0x2000

EXTENDED_LIMIT_INFORMATION = 9

CREATE_SUSPENDED = 0x4
CREATE_NO_WINDOW = 0x08000000

# Of time, in a second: Windows counts in steps of 100 ns.
_TICKS = 10_000_000


def limit_flags(limits: Limits) -> int:
    """Which limits the job gets. No breakaway: what is in the job stays in it."""
    flags = KILL_ON_JOB_CLOSE | DIE_ON_UNHANDLED_EXCEPTION | ACTIVE_PROCESS | JOB_MEMORY
    return flags | JOB_TIME if limits.cpu is not None else flags


def limit_information(limits: Limits, *, pointer: int = 8) -> bytes:
    """JOBOBJECT_EXTENDED_LIMIT_INFORMATION, for a system with pointers of so many bytes.

    Zero would mean "none" to some of these fields and "at once" to others, so every limit is at
    least one, and at most what its field can hold.
    """
    import struct  # noqa: PLC0415 - a shared library that no other system needs

    word = "Q" if pointer == 8 else "I"
    largest = (1 << 8 * pointer) - 1
    ticks = 0 if limits.cpu is None else max(1, min(int(limits.cpu * _TICKS), (1 << 63) - 1))
    memory = max(1, min(limits.memory, largest))
    processes = max(1, min(limits.processes, (1 << 32) - 1))
    # In "=" nothing is aligned, so the gaps that C leaves are written out.
    gap = "4x" if pointer == 8 else ""
    basic = struct.pack(
        f"=qqI{gap}{word}{word}I{gap}{word}II",
        *(0, ticks, limit_flags(limits), 0, 0, processes, 0, 0, 0),
    )
    if pointer == 4:
        basic += bytes(4)  # the counters after it are aligned to 8
    return basic + struct.pack(f"=6Q4{word}", *(0,) * 6, *(0, memory, 0, 0))


def create(*, direct: bool, spool: SpoolOpener | None, temp_root: str, host: Host) -> JobSandbox:
    return JobSandbox(spool=spool, temp_root=temp_root)


class JobSandbox:
    """Opens sessions whose processes all lie in a Job Object."""

    def __init__(self, *, spool: SpoolOpener | None, temp_root: str) -> None:
        self._spool = spool
        self._temp_root = temp_root

    def open(self, policy: Policy, waiter: Waiter) -> Session:
        if sys.platform != "win32":
            raise ToolError(
                ErrorCode.SANDBOX_UNAVAILABLE,
                f"Job Objects are part of Windows; this is {sys.platform}",
            )
        check(policy.permissions)
        return in_job(policy, waiter, self._spool, self._temp_root)

    def cannot_enforce(self, policy: Policy) -> Sequence[str]:
        return NOT_ENFORCED

    def expect_threads(self) -> None:
        """Nothing here forks this process as it is."""

    def close(self) -> None:
        """Nothing is kept between calls."""


def check(permissions: Permissions) -> None:
    """ToolError where these permissions promise something that only Linux can keep."""
    broken = []
    if permissions.network is not True:
        broken.append("network")
    if "/" not in permissions.write:
        broken += ["fs.read", "fs.write"]
    if broken:
        raise ToolError(
            ErrorCode.SANDBOX_UNAVAILABLE,
            f"Windows cannot enforce what the tool is bound to: {', '.join(broken)}",
            details={"notEnforced": broken},
            hint="run tongs inside WSL 2 (not WSL 1)",
        )


def in_job(policy: Policy, waiter: Waiter, spool: SpoolOpener | None, temp_root: str) -> Session:
    from tongs.sandbox.portable import Manner, PortableSession  # noqa: PLC0415 - never on Linux

    def words(asked: Command, base: str) -> Sequence[str]:
        return asked.argv

    def adopt(process: subprocess.Popen[bytes]) -> Callable[[], None]:
        return adopted(process, limit_information(policy.limits))

    # It starts suspended, since what it starts before it is in the job would stay outside.
    options = {"creationflags": CREATE_SUSPENDED | CREATE_NO_WINDOW}
    manner = Manner(words, adopt, options, ENFORCED, NOT_ENFORCED)
    return PortableSession(policy, waiter, manner, spool=spool, temp_root=temp_root)


def adopted(process: subprocess.Popen[bytes], information: bytes) -> Callable[[], None]:
    """Put a suspended process into a job of its own and let it go on; what ends the job."""
    import ctypes  # noqa: PLC0415 - heavy, and of no use elsewhere

    system: Any = ctypes  # its part for Windows is unknown to type checkers elsewhere
    kernel = system.WinDLL("kernel32", use_last_error=True)
    handle = ctypes.c_void_p
    kernel.CreateJobObjectW.argtypes = (handle, ctypes.c_wchar_p)
    kernel.CreateJobObjectW.restype = handle
    kernel.SetInformationJobObject.argtypes = (handle, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
    kernel.AssignProcessToJobObject.argtypes = (handle, handle)
    kernel.CloseHandle.argtypes = (handle,)
    resume = system.WinDLL("ntdll").NtResumeProcess
    resume.argtypes = (handle,)
    started: Any = process
    own = int(started._handle)  # noqa: SLF001 - Popen keeps it, and has no other name for it
    job = kernel.CreateJobObjectW(None, None)
    kept = [job]

    def end() -> None:
        while kept:
            kernel.CloseHandle(kept.pop())

    size = len(information)
    held = (
        job
        and kernel.SetInformationJobObject(job, EXTENDED_LIMIT_INFORMATION, information, size)
        and kernel.AssignProcessToJobObject(job, own)
        and resume(own) == 0
    )
    if not held:
        end()
        reason = system.FormatError(system.get_last_error())
        raise ToolError(ErrorCode.SANDBOX_UNAVAILABLE, f"no Job Object could be set up: {reason}")
    return end
