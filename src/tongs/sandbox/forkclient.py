"""The side of the fork server that lives in the Tongs process."""

from __future__ import annotations

import contextlib
import marshal
import os
import sys
import threading
import weakref
from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import forkserver, packets
from tongs.sandbox.confine import Jail
from tongs.sandbox.launch import Launched

if TYPE_CHECKING:
    import _socket

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forkserver.py")


class ForkServer:
    """Launches through one fork server, started when first needed and again when it died.

    Any thread may launch. A forked copy of this process forgets the server and starts its own.
    """

    ahead = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: _socket.socket | None = None
        self._pid = 0
        _alive.add(self)

    def launch(self, jail: Jail, channel: int, groups: Sequence[str]) -> Launched:
        data = marshal.dumps((jail.data(), tuple(groups)))
        with self._lock:
            self._send(data, channel)
            return ServerLaunched(self, self._pid)

    def is_served_by(self, pid: int) -> bool:
        """Whether this is the process of the server, and alive."""
        with self._lock:
            return pid == self._pid and self._is_alive()

    def close(self) -> None:
        """End the server, and with it whatever it still supervises."""
        with self._lock:
            self._stop()

    def __del__(self) -> None:
        self._stop()

    def _send(self, data: bytes, channel: int) -> None:
        # A server that dies is not there to read before it is seen to be dead: once more, then.
        # Of a request that it drops unread, the channel tells.
        if not self._is_alive() or not self._is_sent(data, channel):
            self._stop()
            self._start()
            self._is_sent(data, channel)

    def _is_sent(self, data: bytes, channel: int) -> bool:
        assert self._requests is not None
        try:
            packets.send(self._requests, data, [channel])
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _is_alive(self) -> bool:
        try:
            return self._requests is not None and os.waitpid(self._pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return False

    def _start(self) -> None:
        ours, theirs = packets.pair()
        try:
            self._pid = os.posix_spawn(
                sys.executable,
                [sys.executable, "-I", "-S", _PROGRAM],
                {},
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, theirs.fileno(), forkserver.REQUESTS),
                    *(
                        (os.POSIX_SPAWN_OPEN, standard, os.devnull, os.O_RDWR, 0)
                        for standard in range(3)
                    ),
                ],
            )
        except OSError as error:
            ours.close()
            raise ToolError(
                ErrorCode.SANDBOX_UNAVAILABLE,
                f"the fork server cannot be started: {error.strerror}",
                details={"interpreter": sys.executable},
            ) from error
        finally:
            theirs.close()
        self._requests = ours

    def _stop(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
            # Somebody else in this process may wait for everything.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    def _forget(self) -> None:
        """In a forked copy: the server belongs to the original, and so does the lock's state."""
        self._lock = threading.Lock()
        if self._requests is not None:
            self._requests.close()
            self._requests = None


class ServerLaunched:
    def __init__(self, server: ForkServer, pid: int) -> None:
        self._server = server
        self._pid = pid

    @property
    def doomed(self) -> bool:
        return not self._server.is_served_by(self._pid)

    def finish(self, *, died: bool) -> None:
        """The server reaps its supervisors, and kills what a dead one leaves."""


_alive: weakref.WeakSet[ForkServer] = weakref.WeakSet()


def _forget_all() -> None:
    for server in tuple(_alive):
        server._forget()  # noqa: SLF001 - only this module may tell a server that it was copied


os.register_at_fork(after_in_child=_forget_all)
