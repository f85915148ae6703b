"""System calls that the standard library does not offer.

Runs in the fork server without the package around it, so only what loads cheaply is imported.
"""

from __future__ import annotations

import os

if __package__:
    from tongs.sandbox.syscalls import NUMBERS
else:
    from syscalls import NUMBERS  # type: ignore[import-not-found,no-redef]  # the same file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from tongs.core.annotations import Any

PR_SET_PDEATHSIG = 1
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_CLEAR_ALL = 4

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
SIGCHLD = 17

AT_FDCWD = -100
AT_EMPTY_PATH = 0x1000
AT_RECURSIVE = 0x8000

RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08

SECCOMP_SET_MODE_FILTER = 1
CLOSE_RANGE_CLOEXEC = 4

# struct __user_cap_header_struct: version 3, this process; and no capability in any set.
_CAPABILITY_HEADER = (0x20080522).to_bytes(4, "little") + bytes(4)
_NO_CAPABILITIES = bytes(24)


def syscall(name: str, *arguments: int | bytes) -> int:
    """Call the kernel. Bytes are passed by address. Raises OSError with the name of the call."""
    if not _loaded:
        load()
    function, number, long, get_errno = _loaded
    try:
        result: int = function(
            long(number[name]),
            *(value if isinstance(value, bytes) else long(value) for value in arguments),
        )
    except KeyError:
        raise OSError(38, f"{name}: unknown on this machine") from None
    if result < 0:
        error = get_errno()
        raise OSError(error, f"{name}: {os.strerror(error)}")
    return result


def load() -> None:
    """Find the functions now. A process that forks does it before, so that children have them."""
    if not _loaded:
        numbers = NUMBERS.get(os.uname().machine, {})
        function, holding, long, get_errno = _find()
        # In one step each: another thread may be here, too.
        _holding[:] = [holding]
        _loaded[:] = [function, numbers, long, get_errno]


def prctl(option: int, value: int, third: int = 0) -> None:
    """prctl(2). Raises OSError where it is refused."""
    syscall("prctl", option, value, third, 0, 0)


def address_of(data: bytes) -> bytes:
    """The address of a buffer, as a field of a struct; the caller keeps the buffer alive."""
    if not _pointer:
        _pointer.append(_pointer_type())
    return bytes(memoryview(_pointer[0](data)))


def clone(flags: int) -> int:
    """fork(2) into new namespaces. Only for a process with one thread.

    The interpreter is not let go meanwhile: whoever took it would not be there in the copy.
    """
    if not _loaded:
        load()
    holding, numbers, long = _holding[0], _loaded[1], _loaded[2]
    nothing = long(0)
    words = (long(numbers["clone"]), long(flags | SIGCHLD), nothing, nothing, nothing, nothing)
    result: int = holding(*words)
    if result < 0:
        error = _loaded[3]()
        raise OSError(error, f"clone: {os.strerror(error)}")
    return result


def open_path(path: bytes) -> int:
    """A descriptor that stands for what lies at `path`, where no part of it is a link."""
    if b"\0" in path:
        raise OSError(22, "a path cannot hold a NUL")  # the kernel would open what is before it
    how = (os.O_PATH | os.O_CLOEXEC).to_bytes(8, "little") + bytes(8)
    how += (RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS).to_bytes(8, "little")
    return syscall("openat2", AT_FDCWD, path + b"\0", how, len(how))


def drop_capabilities() -> None:
    syscall("capset", _CAPABILITY_HEADER, _NO_CAPABILITIES)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)


def install_filter(program: bytes) -> None:
    """The seccomp filter, from here on and for all children. Needs no_new_privs."""
    described = (len(program) // 8).to_bytes(2, "little") + bytes(6) + address_of(program)
    syscall("seccomp", SECCOMP_SET_MODE_FILTER, 0, described)


def landlock_abi() -> int:
    """The version of Landlock in this kernel; 0 where there is none."""
    try:
        return syscall("landlock_create_ruleset", 0, 0, 1)
    except OSError:
        return 0


# The function, the numbers of this machine, the C type of its arguments, and the last errno.
_loaded: list[Any] = []
# The same function, called without letting go of the interpreter.
_holding: list[Any] = []
_pointer: list[Any] = []


def _find() -> tuple[Callable[..., int], Callable[..., int], type[Any], Callable[[], int]]:
    try:
        # `ctypes` builds classes for every C type, which costs seven times what its core does.
        import _ctypes  # noqa: PLC0415 - loads a shared library, needed only where processes start

        class Long(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - no arguments at run time
            _type_ = "l"

        class Function(_ctypes.CFuncPtr):
            # The C calling convention, and keep errno.
            _flags_ = 1 | 8
            _restype_ = Long

        class Holding(_ctypes.CFuncPtr):
            # As a function of the interpreter itself.
            _flags_ = 1 | 4 | 8
            _restype_ = Long

        address = _ctypes.dlsym(_ctypes.dlopen(None, 0), "syscall")  # type: ignore[arg-type]  # None: this program
        return Function(address), Holding(address), Long, _ctypes.get_errno
    except (ImportError, AttributeError, TypeError, OSError):
        import ctypes  # noqa: PLC0415 - heavy, and only where its private core changed

        function = ctypes.CDLL(None, use_errno=True).syscall
        holding = ctypes.PyDLL(None, use_errno=True).syscall
        function.restype = holding.restype = ctypes.c_long
        return function, holding, ctypes.c_long, ctypes.get_errno


def _pointer_type() -> type[Any]:
    try:
        import _ctypes  # noqa: PLC0415 - as above

        class Pointer(_ctypes._SimpleCData):  # type: ignore[type-arg]  # noqa: SLF001 - as above
            _type_ = "z"

    except (ImportError, AttributeError, TypeError):
        import ctypes  # noqa: PLC0415 - as above

        return ctypes.c_char_p
    return Pointer
