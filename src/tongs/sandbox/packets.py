"""Packets with descriptors between Tongs, the fork server, supervisors and payloads.

Runs without the package around it.
"""

from __future__ import annotations

import _socket  # the public module costs a whole interpreter start for its enums
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# Descriptor of the socket on which a fork server is asked for supervisors.
REQUESTS = 3

# Data up to this size comes in the packet itself, more of it in a memory file beside it.
INLINE = 16 * 1024

_HERE = b"i"
_BESIDE = b"f"
# A request has three, and perhaps its memory file.
_MOST_DESCRIPTORS = 6


def pair() -> tuple[_socket.socket, _socket.socket]:
    """Two ends that keep packets whole and notice when the other end is gone."""
    return _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)


def end(descriptor: int) -> _socket.socket:
    return _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET, 0, descriptor)


def send(to: _socket.socket, data: bytes, descriptors: Sequence[int] = ()) -> None:
    """One packet. Raises OSError where nobody will read it."""
    if len(data) <= INLINE:
        _send(to, _HERE + data, descriptors)
        return
    file = _memory_file(data)
    try:
        _send(to, _BESIDE, [*descriptors, file])
    finally:
        os.close(file)


def receive(source: _socket.socket, *, wait: bool = True) -> tuple[bytes | None, list[int]]:
    """One packet and its descriptors: None at the end. BlockingIOError where there is none yet."""
    flags = _socket.MSG_CMSG_CLOEXEC | (0 if wait else _socket.MSG_DONTWAIT)
    space = _socket.CMSG_SPACE(4 * _MOST_DESCRIPTORS)
    try:
        data, ancillary, _, _ = source.recvmsg(INLINE + 1, space, flags)
    except ConnectionResetError:
        # Said once, by an end that closed with something unread. What it wrote before comes next.
        data, ancillary, _, _ = source.recvmsg(INLINE + 1, space, flags)
    if not data:
        return None, []
    numbers = b"".join(content for _, _, content in ancillary)
    descriptors = [
        int.from_bytes(numbers[at : at + 4], sys.byteorder) for at in range(0, len(numbers), 4)
    ]
    if data[:1] == _HERE:
        return data[1:], descriptors
    with open(descriptors.pop(), "rb", buffering=0) as file:
        return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0), descriptors


def peek(source: _socket.socket) -> bytes | None:
    """The beginning of the next packet, which stays; None at the end."""
    try:
        data = source.recv(64, _socket.MSG_PEEK)
    except ConnectionResetError:
        data = source.recv(64, _socket.MSG_PEEK)  # as above
    return data[1:] if data else None


def _send(to: _socket.socket, data: bytes, descriptors: Collection[int]) -> None:
    rights = b"".join([number.to_bytes(4, sys.byteorder) for number in descriptors])
    to.sendmsg([data], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)] if rights else [])


def _memory_file(data: bytes) -> int:
    file = os.memfd_create("packet")
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
    except BaseException:
        os.close(file)
        raise
    return file
