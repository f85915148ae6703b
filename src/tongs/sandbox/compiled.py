"""The compiled fork server: where it lies, and how it is told what to do.

`native/` holds its source. It does what `forkserver.py` and the files it loads do, at a fraction of
their cost, and was built when the package was installed where there was a C compiler.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Sequence

from tongs.core.annotations import TypeAlias
from tongs.sandbox import mounts, rights
from tongs.sandbox.orders import Jail, Request

Value: TypeAlias = "int | bytes | Sequence[Value]"

# Raised with every change of what is packed here: a program built before it has another name.
PROTOCOL = 1
PROGRAM = os.path.join(
    os.path.dirname(os.path.abspath(__file__)), "native", f"tongs-forkserver-{PROTOCOL}"
)

# In the order of `enum kind`.
_KINDS = (
    *(mounts.BIND, mounts.OVERLAY, mounts.FOLDER, mounts.FILE, mounts.LINK),
    *(mounts.PIN, mounts.PROTECT, mounts.HIDE, mounts.PROC),
)


def program() -> str:
    """The path of the program; empty where there is none."""
    return PROGRAM if os.access(PROGRAM, os.X_OK) else ""


def packed_order(jail: Jail, groups: Sequence[str]) -> bytes:
    """What makes the server start a supervisor."""
    if not jail.packed:
        jail.packed.append(packed(_walls(jail)))
    own = packed([*_flat(jail.own)])
    return _counted(3) + jail.packed[0] + own + packed([os.fsencode(path) for path in groups])


def packed_request(request: Request) -> bytes:
    environment = [b"%s=%s" % pair for pair in request.environment.items()]
    return packed(
        [
            request.argv,
            environment,
            request.candidates,
            request.cwd,
            [*_flat(request.limits)],
            [*_flat(request.files.items())],
        ]
    )


def packed(value: Value) -> bytes:
    """A letter, then a number, or a length and what it counts. Bytes end in a NUL, for C."""
    if isinstance(value, int):
        return b"i" + (value & 0xFFFF_FFFF_FFFF_FFFF).to_bytes(8, sys.byteorder)
    if isinstance(value, bytes):
        return b"b%s%s\0" % (len(value).to_bytes(4, sys.byteorder), value)
    return b"".join([_counted(len(value)), *map(packed, value)])


def _counted(count: int) -> bytes:
    return b"l" + count.to_bytes(4, sys.byteorder)


def _walls(jail: Jail) -> list[Value]:
    return [
        jail.namespaces,
        [*_flat(map(_step, jail.view))],
        jail.size,
        rights.ruleset_attribute(jail.abi, network=jail.network),
        rights.for_file(rights.handled_files(jail.abi)),
        rights.reading(jail.abi),
        rights.restrict_flags(jail.abi),
        [*_flat(jail.rules)],
        jail.filter,
        jail.files,
        int(jail.proxy),
        *jail.watched,
    ]


def _step(step: Sequence[int | bytes | str]) -> tuple[int | bytes, ...]:
    """Every step with the same fields: kind, source, target, flags or mode, device, inode."""
    name, *rest = step
    number = _KINDS.index(str(name))
    fields: list[int | bytes] = [field for field in rest if not isinstance(field, str)]
    if name == mounts.BIND:
        return (number, *fields)
    if name == mounts.OVERLAY:
        source, target, *identity = fields
        return (number, source, target, 0, *identity)
    if name == mounts.FOLDER:
        target, mode = fields
        return (number, b"", target, mode, 0, 0)
    if name in (mounts.FILE, mounts.LINK):
        target, content = fields
        return (number, content, target, 0, 0, 0)
    return (number, b"", *(fields or [b""]), 0, 0, 0)


def _flat(rows: Iterable[Iterable[int | bytes]]) -> Iterable[int | bytes]:
    for row in rows:
        yield from row
