"""Each layer of the sandbox by itself: what it is asked to do, and a look at whether it did.

Every trial runs in a process of its own, which it may spoil. In there nothing is imported: what
could be read a moment ago may be out of reach.
"""

from __future__ import annotations

import _socket  # the public module costs a whole interpreter start for its enums
import errno
import os
from collections.abc import Callable

from tongs.core.annotations import TYPE_CHECKING, TypeAlias
from tongs.core.record import dataclass
from tongs.sandbox import cgroups, confine, kernel, mounts, orders, rights
from tongs.sandbox.diagnosis import Wrong
from tongs.sandbox.syscalls import NUMBERS

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROOT_SIZE = 16 * 1024**2


@dataclass(frozen=True, slots=True)
class Ground:
    """A folder with something to see in it, and who looks: a new namespace knows no user yet."""

    folder: str
    user: int
    group: int
    ipc: str

    def path(self, name: str) -> bytes:
        return os.fsencode(os.path.join(self.folder, name))

    def shown(self, kind: str, name: str, *flags: int) -> tuple[object, ...]:
        """The step of a view that shows this folder at its own path."""
        path = self.path(name)
        facts = os.stat(path)
        return (kind, path, path, *flags, facts.st_dev, facts.st_ino)


Trial: TypeAlias = Callable[[Ground], str]


def furnished(folder: str) -> Ground:
    for name in ("inside", "scratch"):
        os.mkdir(os.path.join(folder, name))
    for name in ("inside/file", "outside", "scratch/old"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"here")
    return Ground(folder, os.geteuid(), os.getegid(), os.readlink("/proc/self/ns/ipc"))


def _system_calls(ground: Ground) -> str:
    if os.uname().machine not in NUMBERS:
        raise Wrong(f"the system calls of {os.uname().machine} are not known to Tongs")
    os.close(kernel.open_path(b"/"))
    spare = os.dup(0)
    kernel.syscall("close_range", spare, spare, 0)
    os.close(os.pidfd_open(os.getpid()))
    try:
        kernel.syscall("mount_setattr", -1, b"\0", 0, bytes(32), 32)
    except OSError as error:
        if error.errno == errno.ENOSYS:
            raise
    return "openat2, close_range, pidfd_open, mount_setattr"


def _no_new_privs(ground: Ground) -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    with open("/proc/self/status", "rb") as file:
        if b"\nNoNewPrivs:\t1\n" not in file.read():
            raise Wrong("it was set, and is not there")
    return "sudo and the like gain nothing inside"


def _seccomp(ground: Ground) -> str:
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    refused = NUMBERS[os.uname().machine]["getppid"]
    load, equal, answer = 0x20, 0x15, 0x06
    kernel.install_filter(
        b"".join(
            operation.to_bytes(2, "little") + bytes(jumps) + operand.to_bytes(4, "little")
            for operation, jumps, operand in (
                (load, (0, 0), 0),
                (equal, (0, 1), refused),
                (answer, (0, 0), 0x00050000 | errno.EPERM),
                (answer, (0, 0), 0x7FFF0000),
            )
        )
    )
    try:
        kernel.syscall("getppid")
    except OSError as error:
        if error.errno == errno.EPERM:
            return "a filter refuses what it was told to"
    raise Wrong("a filter was accepted, and does not filter")


def _landlock(ground: Ground) -> str:
    abi = kernel.syscall("landlock_create_ruleset", 0, 0, rights.CREATE_RULESET_VERSION)
    jail = orders.Jail(abi=abi, rules=[(ground.path("inside"), rights.reading(abi), 0, 0)])
    try:
        ruleset = confine.make_world(jail, ground.user, ground.group)
        confine.give_up_privileges(jail)
        confine.lock_ahead(jail, ruleset)
        confine.lock(jail, ruleset, ())
    except confine.Failed as failed:
        raise _cause(failed) from None
    _read(ground.path("inside/file"))
    if _reads(ground.path("outside")):
        raise Wrong(f"ABI {abi}, and what was not granted can be read")
    missing = [what for least, what in ((3, "truncation"), (6, "signals")) if abi < least]
    return f"ABI {abi}" + (f", without {' and '.join(missing)}" if missing else "")


def _user_namespace(ground: Ground) -> str:
    for name, text in (
        ("setgroups", "deny"),
        ("uid_map", f"{ground.user} {ground.user} 1"),
        ("gid_map", f"{ground.group} {ground.group} 1"),
    ):
        _write(f"/proc/self/{name}", text.encode())
    if (os.geteuid(), os.getegid()) != (ground.user, ground.group):
        raise Wrong("it was made, and nobody is known in it")
    return "made, and the user is known in it"


def _pid_namespace(ground: Ground) -> str:
    if os.getpid() != 1:
        raise Wrong("it was made, and its processes are counted with all others")
    return "other processes cannot be seen, and all of a call die together"


def _network_namespace(ground: Ground) -> str:
    if [name for _, name in _socket.if_nameindex()] != ["lo"]:
        raise Wrong("it was made, and the network is still there")
    return "nothing can be reached"


def _ipc_namespace(ground: Ground) -> str:
    if os.readlink("/proc/self/ns/ipc") == ground.ipc:
        raise Wrong("it was made, and is the same as before")
    return "shared memory and host name of its own"


def _private_root(ground: Ground) -> str:
    _enter(ground, (ground.shown(mounts.BIND, "inside", mounts.READ_ONLY), (mounts.PROC,)))
    _read(ground.path("inside/file"))
    _read(b"/proc/1/stat")
    if os.path.exists(ground.path("outside")):
        raise Wrong("what was not granted is there")
    try:
        os.unlink(ground.path("inside/file"))
    except OSError as error:
        if error.errno == errno.EROFS:
            return "what was not granted does not exist"
    raise Wrong("what may only be read can be changed")


def _scratch_view(ground: Ground) -> str:
    outside = os.open(ground.path("scratch"), os.O_RDONLY | os.O_DIRECTORY)
    _enter(ground, ((mounts.FOLDER, b"/run", 0o755), ground.shown(mounts.OVERLAY, "scratch")))
    os.unlink(ground.path("scratch/old"))
    with open(ground.path("scratch/new"), "wb"):
        pass
    if os.listdir(ground.path("scratch")) != [b"new"]:
        raise Wrong("what is written in it is not there")
    if os.listdir(outside) != ["old"]:
        raise Wrong("what is written in it stays")
    return "`read` tools may write, and nothing of it is kept"


def _cgroups(ground: Ground) -> str:
    found = cgroups.probe()
    if found is None:
        raise Wrong("no group can be made here")
    limited = [("memory", found.memory), ("processes", found.pids)]
    what = " and ".join(name for name, folder in limited if folder)
    return f"version {found.version}: {what} of a whole tree"


_NEW_USER = kernel.CLONE_NEWUSER
_NEW_ROOT = _NEW_USER | kernel.CLONE_NEWNS | kernel.CLONE_NEWPID
_NEW_IPC = _NEW_USER | kernel.CLONE_NEWIPC | kernel.CLONE_NEWUTS | kernel.CLONE_NEWCGROUP

# The namespaces a trial starts in, and the trial.
TRIALS: Mapping[str, tuple[int, Trial]] = {
    "system calls": (0, _system_calls),
    "no_new_privs": (0, _no_new_privs),
    "seccomp": (0, _seccomp),
    "landlock": (0, _landlock),
    "user namespaces": (_NEW_USER, _user_namespace),
    "pid namespaces": (_NEW_USER | kernel.CLONE_NEWPID, _pid_namespace),
    "network namespaces": (_NEW_USER | kernel.CLONE_NEWNET, _network_namespace),
    "ipc namespaces": (_NEW_IPC, _ipc_namespace),
    "private root": (_NEW_ROOT, _private_root),
    "scratch view": (_NEW_ROOT, _scratch_view),
    "cgroups": (0, _cgroups),
}


def _enter(ground: Ground, view: tuple[tuple[object, ...], ...]) -> None:
    jail = orders.Jail(namespaces=_NEW_ROOT, view=view, size=_ROOT_SIZE)
    try:
        confine.make_world(jail, ground.user, ground.group)
    except confine.Failed as failed:
        raise _cause(failed) from None


def _cause(failed: confine.Failed) -> OSError:
    cause = failed.__cause__
    return cause if isinstance(cause, OSError) else OSError(failed.number, "unknown reason")


def _read(path: bytes) -> None:
    with open(path, "rb") as file:
        file.read()


def _write(path: str, data: bytes) -> None:
    """Every failure names the path, also one that comes with the writing."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    except OSError as error:
        raise OSError(error.errno, error.strerror, path) from None
    finally:
        os.close(descriptor)


def _reads(path: bytes) -> bool:
    try:
        _read(path)
    except PermissionError:
        return False
    return True
