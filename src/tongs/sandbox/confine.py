"""The walls around a payload, put up step by step. A step that fails is named, and nothing runs.

Two processes of a call come through here: the supervisor, which makes the world (namespaces, root,
rules), and the payload, which locks itself in. Runs without the package around it.
"""

from __future__ import annotations

import _socket  # the public module costs a whole interpreter start for its enums
import fcntl  # here, since in a private root there may be no interpreter to load it from
import os
import resource
import stat

if __package__:
    from tongs.sandbox import kernel, mounts, rights
    from tongs.sandbox.orders import PROXY_PORT
else:
    import kernel  # type: ignore[import-not-found,no-redef]  # the same files
    import mounts  # type: ignore[import-not-found,no-redef]
    import rights  # type: ignore[import-not-found,no-redef]
    from orders import PROXY_PORT  # type: ignore[import-not-found,no-redef]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from tongs.sandbox.orders import Jail

# Steps that can fail; a report of failure names one of them.
NAMESPACES = b"namespaces"
GROUPS = b"cgroup"
IDENTITY = b"identity"
ROOT = b"root"
PROXY = b"proxy"
LANDLOCK = b"landlock"
LIMITS = b"limits"
PRIVILEGES = b"privileges"
FILTER = b"filter"

_SIOCSIFFLAGS = 0x8914
# What a process may read about itself where /proc is everybody's.
_OF_ITSELF = b"status stat statm maps cmdline comm limits cgroup mounts mountinfo fd".split()


class Failed(Exception):
    """A wall could not be put up."""

    def __init__(self, step: bytes, error: OSError) -> None:
        super().__init__(step, error.errno)
        self.step = step
        self.number = error.errno or 0


def make_world(jail: Jail, user: int, group: int) -> int:
    """Everything before the payload: who it is, what it sees, what it may touch.

    A descriptor of the Landlock rules, -1 without. `user` and `group` are those of the caller.
    """
    if jail.namespaces:
        step = IDENTITY
        try:
            _map_identity(user, group)
            step = NAMESPACES
            # Only now, so that the call's own cgroup is the root of what it can see.
            kernel.syscall("unshare", kernel.CLONE_NEWCGROUP)
            step = ROOT
            mounts.enter(jail.view, jail.size)
        except OSError as error:
            raise Failed(step, error) from error
    if not jail.abi:
        return -1
    try:
        return _ruleset(jail)
    except OSError as error:
        raise Failed(LANDLOCK, error) from error


def enter_groups(groups: Sequence[str]) -> None:
    """Become a member of cgroups, and so all that will be started from here."""
    try:
        for members in groups:
            _write(os.fsencode(members), b"0")
    except OSError as error:
        raise Failed(GROUPS, error) from error


def give_up_privileges(jail: Jail) -> None:
    """For the supervisor and everything it will ever start."""
    try:
        kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
        if jail.filter:
            kernel.drop_capabilities()
    except OSError as error:
        raise Failed(PRIVILEGES, error) from error


def lock_ahead(jail: Jail, ruleset: int) -> None:
    """The walls around a payload that can stand before it knows what it will be."""
    step = LANDLOCK
    try:
        if ruleset >= 0 and not jail.files:
            _lock_files(jail, ruleset)
        if jail.filter:
            step = FILTER
            kernel.install_filter(jail.filter)
    except OSError as error:
        raise Failed(step, error) from error


def lock(jail: Jail, ruleset: int, limits: Sequence[tuple[int, int]]) -> None:
    """The last walls, just before its program starts."""
    step = LANDLOCK
    try:
        if ruleset >= 0 and jail.files:
            _lock_files(jail, ruleset)
        step = LIMITS
        for limit, value in limits:
            _lower(limit, value)
        # Nothing of ours survives the start of the program, whatever is open here.
        kernel.syscall("close_range", 3, 0xFFFFFFFF, kernel.CLOSE_RANGE_CLOEXEC)
    except (OSError, ValueError) as error:
        raise Failed(step, error if isinstance(error, OSError) else OSError(22, "")) from error


def _lock_files(jail: Jail, ruleset: int) -> None:
    if not jail.namespaces:
        # Of the shared /proc only what is about this very process, and not its `net`.
        for name in _OF_ITSELF:
            _add_rule(ruleset, b"/proc/self/" + name, rights.reading(jail.abi))
    kernel.syscall("landlock_restrict_self", ruleset, rights.restrict_flags(jail.abi))


def listen_inside() -> int:
    """A socket that listens in this network namespace, where nothing else can be reached."""
    try:
        listening = _socket.socket(_socket.AF_INET, _socket.SOCK_STREAM | _socket.SOCK_CLOEXEC)
        # struct ifreq: the loopback device, up.
        fcntl.ioctl(listening.fileno(), _SIOCSIFFLAGS, b"lo".ljust(16, b"\0") + b"\1" + bytes(23))
        listening.bind(("127.0.0.1", PROXY_PORT))
        listening.listen(128)
    except OSError as error:
        raise Failed(PROXY, error) from error
    return listening.detach()


def _map_identity(user: int, group: int) -> None:
    """The same numbers inside as outside, and no others."""
    _write(b"/proc/self/setgroups", b"deny")
    _write(b"/proc/self/uid_map", b"%d %d 1" % (user, user))
    _write(b"/proc/self/gid_map", b"%d %d 1" % (group, group))


def _write(path: bytes, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)


def _ruleset(jail: Jail) -> int:
    attribute = rights.ruleset_attribute(jail.abi, network=jail.network)
    ruleset = kernel.syscall("landlock_create_ruleset", attribute, len(attribute), 0)
    for rule in (*jail.rules, *jail.own):
        _add_rule(ruleset, *rule)
    return ruleset


def _add_rule(ruleset: int, path: bytes, mask: int, device: int = 0, inode: int = 0) -> None:
    if inode:
        descriptor = mounts.opened(path, device, inode)
    else:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            return  # a system folder that this system does not have
    is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
    rule = rights.path_rule(mask if is_folder else rights.for_file(mask), descriptor)
    kernel.syscall("landlock_add_rule", ruleset, 1, rule, 0)
    os.close(descriptor)


def _lower(limit: int, value: int) -> None:
    """Set a resource limit, never above what this process was itself given."""
    hard = resource.getrlimit(limit)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    resource.setrlimit(limit, (value, value))
