"""The seccomp filter of a payload: what no call may ask of the kernel, whatever it is permitted.

A filter is classic BPF over `struct seccomp_data`. Here it is one decision tree: every block ends
by giving its answer, so a block can be put anywhere and no jump goes backwards. The kernel sees
arguments as 64 bits; every argument tested here is an `int` to it, so the low half decides and
whatever stands in the upper half must not matter.
"""

from __future__ import annotations

import struct

from tongs.core.annotations import TYPE_CHECKING
from tongs.sandbox.syscalls import AUDIT_ARCH, NEWEST, NUMBERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tongs.core.annotations import TypeAlias

    # Operation, jump if true, jump if false, operand.
    Instruction: TypeAlias = tuple[int, int, int, int]
    Block: TypeAlias = tuple[Instruction, ...]

AF_UNIX = 1
AF_INET = 2
AF_INET6 = 10
AF_NETLINK = 16

# What `socket` may open for a call with `network: true`: resolvers ask the routing tables too.
NETWORK_FAMILIES = (AF_INET, AF_INET6, AF_NETLINK)

# --- calls ----------------------------------------------------------------------------------------

_REFUSED = """
ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp
migrate_pages move_pages perf_event_open bpf userfaultfd
add_key request_key keyctl
mount umount2 pivot_root chroot open_tree open_tree_attr move_mount mount_setattr
fsopen fsconfig fsmount fspick unshare setns
open_by_handle_at name_to_handle_at lookup_dcookie fanotify_init fanotify_mark
reboot kexec_load kexec_file_load init_module finit_module delete_module swapon swapoff
iopl ioperm modify_ldt settimeofday clock_settime clock_adjtime adjtimex
sethostname setdomainname acct quotactl quotactl_fd syslog vhangup nfsservctl
""".split()

# Programs do without these when the kernel is too old for them. The filter cannot see into them:
# io_uring opens files and sockets by itself, clone3 keeps its flags in memory.
_MISSING = "io_uring_setup io_uring_enter io_uring_register clone3".split()

# Without namespaces these reach what others on the machine share.
_SHARED_WITH_OTHERS = """
shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr inotify_add_watch
""".split()

# The first argument is the process to act on, 0 the caller itself. Landlock has no right for these,
# and even a pid namespace leaves the process that watches over the payload within reach.
_ON_A_PROCESS = """
prlimit64 sched_setparam sched_setscheduler sched_setaffinity sched_setattr
""".split()

# Landlock has no right for any of these.
_METADATA = """
chmod fchmod fchmodat fchmodat2 chown lchown fchown fchownat utime utimes futimesat utimensat
setxattr lsetxattr fsetxattr setxattrat removexattr lremovexattr fremovexattr removexattrat
file_setattr
""".split()

# --- control codes: each works on a descriptor that was opened for reading only -------------------

_REFUSED_CODES: tuple[int, ...] = (
    0x5412,  # TIOCSTI: type into a terminal
    0x541C,  # TIOCLINUX: paste into a console
    # Btrfs: a snapshot of the whole subvolume would appear inside a folder the call may read.
    0x50009401,  # BTRFS_IOC_SNAP_CREATE
    0x50009417,  # BTRFS_IOC_SNAP_CREATE_V2
    0x5000940E,  # BTRFS_IOC_SUBVOL_CREATE
    0x50009418,  # BTRFS_IOC_SUBVOL_CREATE_V2
    0x5000940F,  # BTRFS_IOC_SNAP_DESTROY
    0x5000943F,  # BTRFS_IOC_SNAP_DESTROY_V2
    0x4008941A,  # BTRFS_IOC_SUBVOL_SETFLAGS
    # The keys of encrypted folders belong to the file system, as keyrings do to the session.
    0xC0506617,  # FS_IOC_ADD_ENCRYPTION_KEY
    0xC0406618,  # FS_IOC_REMOVE_ENCRYPTION_KEY
)

# Landlock asks no right for either, and neither can be undone.
_SEALING_CODES: tuple[int, ...] = (
    0x40806685,  # FS_IOC_ENABLE_VERITY: nobody writes the file ever again
    0x800C6613,  # FS_IOC_SET_ENCRYPTION_POLICY
)

_METADATA_CODES: tuple[int, ...] = (
    0x40086602,  # FS_IOC_SETFLAGS
    0x401C5820,  # FS_IOC_FSSETXATTR
    0x40087602,  # FS_IOC_SETVERSION
    0x40086604,  # EXT4_IOC_SETVERSION
    0x40047211,  # FAT_IOCTL_SET_ATTRIBUTES
)

# A lease holds up whoever opens the file to write, and needs no more than a file to read.
_LEASES: tuple[int, ...] = (
    1024,  # F_SETLEASE
    1040,  # F_SETDELEG
)

# CLONE_NEWNS, CGROUP, UTS, IPC, USER, PID, NET. CLONE_NEWTIME is 0x80, which clone reads as part of
# the signal number: only unshare and clone3 know it.
_NEW_NAMESPACE = 0x7E020000

# --- the machine ----------------------------------------------------------------------------------

_NUMBER_AT, _ARCHITECTURE_AT, _ARGUMENTS_AT = 0, 4, 16

_LOAD = 0x20
_AND = 0x54
_EQUAL = 0x15
_AT_LEAST = 0x35
_ANY_BIT = 0x45
_RETURN = 0x06

_ALLOW: Block = ((_RETURN, 0, 0, 0x7FFF0000),)
_KILL: Block = ((_RETURN, 0, 0, 0x80000000),)
# The lower half is the error number, as Linux counts.
_EPERM: Block = ((_RETURN, 0, 0, 0x00050001),)
_ENOSYS: Block = ((_RETURN, 0, 0, 0x00050026),)


def program(
    machine: str, *, families: Sequence[int], strict: bool, writes: bool, truncate: bool
) -> bytes:
    """The filter as an array of `struct sock_filter`; KeyError for a machine without a table.

    `families` are the address families `socket` may open. `strict` closes what namespaces would
    close; only then the last two count: `writes` leaves the calls on metadata open, `truncate` says
    that Landlock watches truncation.
    """
    numbers = NUMBERS[machine]
    rules = dict.fromkeys(_REFUSED, _EPERM) | dict.fromkeys(_MISSING, _ENOSYS)
    rules["clone"] = _argument(0, _when(_ANY_BIT, _NEW_NAMESPACE, _EPERM, _ALLOW))
    rules["socket"] = _socket_rule(families)
    rules["socketpair"] = _socketpair_rule(families)
    if not families:
        # There is nothing to bind but an end of a pair, which would take a name for all to see.
        rules["bind"] = _EPERM
    rules["fcntl"] = _argument(1, _among(_LEASES, _EPERM, _ALLOW))
    rules |= _own_process_rules()
    codes = _REFUSED_CODES
    if strict:
        rules |= _strict_rules(writes=writes, truncate=truncate)
        codes += _SEALING_CODES if writes else _SEALING_CODES + _METADATA_CODES
    rules["ioctl"] = _argument(1, _among(codes, _EPERM, _ALLOW))
    by_number = {numbers[name]: block for name, block in rules.items() if name in numbers}
    calls = _load(_NUMBER_AT, _search(_ranges(by_number)))
    whole = _load(_ARCHITECTURE_AT, _unless(AUDIT_ARCH[machine], _KILL, calls))
    # A jump longer than 255 does not fit, and packing it fails.
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in whole)


def _own_process_rules() -> dict[str, Block]:
    myself = _argument(0, _unless(0, _EPERM, _ALLOW))
    rules = dict.fromkeys(_ON_A_PROCESS, myself)
    # Here 0 is the caller only for a process; as a group or a user it is more than the call.
    one_process = {"setpriority": 0, "ioprio_set": 1}
    for name, which in one_process.items():
        itself = _argument(1, _unless(0, _EPERM, _ALLOW))
        rules[name] = _argument(0, _unless(which, _EPERM, itself))
    return rules


def _strict_rules(*, writes: bool, truncate: bool) -> dict[str, Block]:
    rules = dict.fromkeys(_SHARED_WITH_OTHERS, _EPERM)
    if not writes:
        rules |= dict.fromkeys(_METADATA, _EPERM)
    if not truncate:
        # Landlock before TRUNCATE lets a file that is opened for reading be emptied by O_TRUNC.
        rules |= {"truncate": _EPERM, "openat2": _ENOSYS}
        rules |= {"open": _opening(flags_at=1), "openat": _opening(flags_at=2)}
    return rules


def _opening(*, flags_at: int) -> Block:
    # O_WRONLY and O_RDWR need the right to write; the fourth access mode needs none, as O_RDONLY.
    by_mode = _masked(0o3, _among((0o1, 0o2), _ALLOW, _EPERM))
    return _argument(flags_at, _when(_ANY_BIT, 0o1000, by_mode, _ALLOW))


def _socket_rule(families: Sequence[int]) -> Block:
    """Raw sockets stay closed; netlink calls its own so, and opens the routing tables only."""
    raw_types = (3, 10)  # SOCK_RAW, SOCK_PACKET
    cooked = _argument(1, _masked(0xF, _among(raw_types, _EPERM, _ALLOW)))
    routing = _argument(2, _unless(0, _EPERM, _ALLOW))
    block = _EPERM
    for family in families:
        inside = routing if family == AF_NETLINK else cooked
        block = _when(_EQUAL, family, inside, block)
    return _argument(0, block)


def _socketpair_rule(families: Sequence[int]) -> Block:
    """Pairs only, and of a type that stays one: a datagram socket can be sent anywhere later."""
    bound_types = (1, 5)  # SOCK_STREAM, SOCK_SEQPACKET
    pair = _argument(1, _masked(0xF, _among(bound_types, _ALLOW, _EPERM)))
    return _argument(0, _unless(AF_UNIX, _EPERM, _ALLOW if AF_UNIX in families else pair))


# --- the assembler --------------------------------------------------------------------------------


def _load(offset: int, then: Block) -> Block:
    return ((_LOAD, 0, 0, offset), *then)


def _argument(place: int, then: Block) -> Block:
    """Goes on with the low half of an argument; both architectures are little-endian."""
    return _load(_ARGUMENTS_AT + 8 * place, then)


def _masked(mask: int, then: Block) -> Block:
    return ((_AND, 0, 0, mask), *then)


def _when(test: int, operand: int, then: Block, otherwise: Block) -> Block:
    return ((test, 0, len(then), operand), *then, *otherwise)


def _unless(value: int, then: Block, otherwise: Block) -> Block:
    """`then` for everything but the value."""
    return ((_EQUAL, len(then), 0, value), *then, *otherwise)


def _among(values: Iterable[int], then: Block, otherwise: Block) -> Block:
    for value in values:
        otherwise = _when(_EQUAL, value, then, otherwise)
    return otherwise


def _ranges(rules: dict[int, Block]) -> list[tuple[int, Block]]:
    """Where each answer begins, upwards. Above the newest call also lie those of x32."""
    ranges: list[tuple[int, Block]] = []
    for number in range(NEWEST + 2):
        block = rules.get(number, _ALLOW) if number <= NEWEST else _ENOSYS
        if not ranges or block != ranges[-1][1]:
            ranges.append((number, block))
    return ranges


def _search(ranges: list[tuple[int, Block]]) -> Block:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    first_above = ranges[middle][0]
    return _when(_AT_LEAST, first_above, _search(ranges[middle:]), _search(ranges[:middle]))
