"""The fork server: a small process that forks supervisors for a process that must not fork itself.

`forkclient.py` starts this file as a program of its own, with an empty environment and without the
package around it. It has one thread, knows no secret, and dies with the socket it was given.
"""

from __future__ import annotations

import marshal
import os
import select
import sys

if __name__ == "__main__":
    # At the end: the names of our modules must not hide those of the standard library.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))
    import kernel  # type: ignore[import-not-found]  # the same files, without their package
    import orders  # type: ignore[import-not-found]
    import packets  # type: ignore[import-not-found]
    import supervisor  # type: ignore[import-not-found]
    import tree  # type: ignore[import-not-found]
else:
    from tongs.sandbox import kernel, orders, packets, supervisor, tree

# The standard ones lead nowhere here, and stay open so that no received one gets such a number.
_KEPT = (0, 1, 2, packets.REQUESTS)


def serve() -> None:
    """Fork a supervisor per packet, until whoever holds the other end of the socket is gone."""
    os.chdir("/")
    os.setsid()
    supervisor.close_all_but(_KEPT)
    requests = packets.end(packets.REQUESTS)
    # What a killed supervisor leaves behind comes here to be killed.
    kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    woken = supervisor.wake_on(supervisor.SIGCHLD)
    poller = select.poll()
    poller.register(packets.REQUESTS, select.POLLIN)
    poller.register(woken, select.POLLIN)
    running: set[int] = set()
    while True:
        events = dict(poller.poll())
        if woken in events:
            os.read(woken, 4096)
            _bury(running)
        if packets.REQUESTS in events:
            data, descriptors = packets.receive(requests)
            if data is None:
                _dismiss(running)
                return
            jail, groups = marshal.loads(data)
            running.add(supervisor.start(orders.Jail(**jail), descriptors[0], groups))
            running.discard(0)
            os.close(descriptors[0])


def _bury(running: set[int]) -> None:
    ended: dict[int, int] = {}
    tree.reap(ended)
    # Not `-=`, which makes a new set of a set and keys.
    running.difference_update(ended)
    if any(ended.values()):
        tree.kill_tree(spare=running)


def _dismiss(running: set[int]) -> None:
    """End them all, and wait for it here: orphans would become somebody else's to bury.

    The signal is the one they get when this process dies: a tree that still runs is killed.
    """
    for pid in running:
        os.kill(pid, supervisor.SIGTERM)
    # With whatever one of them was just starting.
    tree.kill_tree()


if __name__ == "__main__":
    serve()
