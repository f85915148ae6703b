"""Runs a command as on a host that forbids user namespaces, as Docker or Ubuntu do.

    python tests/without_userns.py [--no-landlock] -- CMD…

A real seccomp filter answers EPERM where a new user namespace is asked for, and ENOSYS to `clone3`,
whose flags no filter can see. With `--no-landlock` the calls of Landlock answer ENOSYS, as an old
kernel does: then nothing is left that could confine a tool. Needs nothing but Python, and holds for
everything that the command starts.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys

# How the kernel names the processor to a filter, and the calls that differ; the rest is the same.
_MACHINES = {
    "x86_64": (0xC000003E, {"clone": 56, "unshare": 272}),
    "aarch64": (0xC00000B7, {"clone": 220, "unshare": 97}),
}
_CLONE3 = 435
_LANDLOCK = (444, 445, 446)
_CLONE_NEWUSER = 0x10000000

_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_NUMBER_AT, _ARCHITECTURE_AT, _FLAGS_AT = 0, 4, 16
_ALLOW, _EPERM, _ENOSYS = 0x7FFF0000, 0x00050001, 0x00050026

_PR_SET_SECCOMP, _PR_SET_NO_NEW_PRIVS, _FILTER = 22, 38, 2


def program(machine: str, *, landlock: bool) -> bytes:
    """The filter, as an array of `struct sock_filter`."""
    architecture, numbers = _MACHINES[machine]
    code = [(_LOAD, 0, 0, _ARCHITECTURE_AT), (_EQUAL, 1, 0, architecture), (_RETURN, 0, 0, _ALLOW)]
    for number in numbers.values():
        code += [(_LOAD, 0, 0, _NUMBER_AT), (_EQUAL, 0, 4, number), (_LOAD, 0, 0, _FLAGS_AT)]
        code += [(_ANY_BIT, 0, 1, _CLONE_NEWUSER), (_RETURN, 0, 0, _EPERM), (_RETURN, 0, 0, _ALLOW)]
    code += [(_LOAD, 0, 0, _NUMBER_AT)]
    for number in (_CLONE3, *(() if landlock else _LANDLOCK)):
        code += [(_EQUAL, 0, 1, number), (_RETURN, 0, 0, _ENOSYS)]
    code += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in code)


def install(code: bytes) -> None:
    """Put this process, and all it will start, behind the filter."""
    libc = ctypes.CDLL(None, use_errno=True)
    array = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(array))
    for arguments in ((_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), (_PR_SET_SECCOMP, _FILTER, described)):
        if libc.prctl(*arguments) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def main(arguments: list[str]) -> None:
    landlock = arguments[:1] != ["--no-landlock"]
    command = arguments if landlock else arguments[1:]
    if command[:1] != ["--"] or not command[1:]:
        sys.exit(__doc__)
    install(program(os.uname().machine, landlock=landlock))
    os.execvp(command[1], command[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
