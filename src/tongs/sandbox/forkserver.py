"""The fork server: a small process that forks supervisors for a process that must not fork itself.

`forkclient.py` starts this file as a program of its own, with an empty environment and without the
package around it. It has one thread, knows no secret, and dies with the socket it was given. A few
supervisors wait on that socket already forked; a request goes to whichever takes it first.
"""

from __future__ import annotations

import _socket  # the public module costs a whole interpreter start for its enums
import marshal
import os
import select
import sys

if __name__ == "__main__":
    # At the end: the names of our modules must not hide those of the standard library.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import supervisor  # type: ignore[import-not-found]  # the same file, without its package
else:
    from tongs.sandbox import supervisor

# Descriptor of the request socket in this process.
REQUESTS = 3
# Requests up to this size come in the packet itself, larger ones in a memory file.
INLINE = 16 * 1024
# Supervisors kept ready. One is taken while the next is being made, so two hide the fork.
READY = 2

_DESCRIPTORS = 5
# They lead nowhere here, and stay open so that no received descriptor gets such a number.
_STANDARD = (0, 1, 2)


def serve() -> None:
    """Keep supervisors ready until whoever holds the other end of the socket is gone."""
    os.chdir("/")
    os.setsid()
    supervisor.close_all_but((*_STANDARD, REQUESTS))
    requests = _socket.socket(fileno=REQUESTS)
    # What a killed supervisor leaves behind comes here to be killed.
    supervisor.prctl(supervisor.PR_SET_CHILD_SUBREAPER, 1)
    woken = supervisor.wake_on(supervisor.SIGCHLD)
    taken, take = os.pipe()
    poller = select.poll()
    poller.register(REQUESTS, 0)  # only its end
    poller.register(woken, select.POLLIN)
    poller.register(taken, select.POLLIN)
    ready: set[int] = set()
    busy: set[int] = set()
    while True:
        while len(ready) < READY:
            ready.add(_forked(requests, take))
        events = dict(poller.poll())
        if REQUESTS in events:
            _dismiss(ready | busy)
            return
        if taken in events:
            said = os.read(taken, 4096)
            pids = {int.from_bytes(said[at : at + 4], "little") for at in range(0, len(said), 4)}
            ready -= pids
            busy |= pids
        if woken in events:
            os.read(woken, 4096)
            ended: dict[int, int] = {}
            supervisor.reap(ended)
            ready -= ended.keys()
            busy -= ended.keys()
            if any(ended.values()):
                supervisor.kill_tree(spare=ready | busy)


def _dismiss(supervisors: set[int]) -> None:
    """End them all, and wait for it here: orphans would become somebody else's to bury.

    The signal is the one they get when this process dies: a tree that still runs is killed.
    """
    for pid in supervisors:
        os.kill(pid, supervisor.SIGTERM)
    for pid in supervisors:
        os.waitpid(pid, 0)


def _forked(requests: _socket.socket, take: int) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            _await_request(requests, take, server)
        finally:
            os._exit(0)
    return pid


def _await_request(requests: _socket.socket, take: int, server: int) -> None:
    woken = supervisor.prepare(server, (*_STANDARD, REQUESTS, take))
    data, descriptors = _taken(requests, woken)
    os.write(take, os.getpid().to_bytes(4, "little"))
    os.close(take)
    requests.close()
    if len(descriptors) > _DESCRIPTORS:
        with open(descriptors.pop(), "rb") as file:
            data = file.read()
    supervisor.run(supervisor.Request(*marshal.loads(data)), descriptors, woken)


def _taken(requests: _socket.socket, woken: int) -> tuple[bytes, list[int]]:
    """The next request and its descriptors. Ends this process where none can come any more."""
    poller = select.poll()
    poller.register(REQUESTS, select.POLLIN)
    poller.register(woken, select.POLLIN)
    space = _socket.CMSG_SPACE(4 * (_DESCRIPTORS + 1))
    flags = _socket.MSG_CMSG_CLOEXEC | _socket.MSG_DONTWAIT
    while woken not in dict(poller.poll()):
        try:
            data, ancillary, _, _ = requests.recvmsg(INLINE, space, flags)
        except BlockingIOError:
            continue  # another one was faster
        if not data:
            break
        numbers = b"".join(content for _, _, content in ancillary)
        return data, [
            int.from_bytes(numbers[at : at + 4], sys.byteorder) for at in range(0, len(numbers), 4)
        ]
    os._exit(0)


if __name__ == "__main__":
    serve()
