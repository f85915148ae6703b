"""The side of the fork server that lives in the Tongs process."""

from __future__ import annotations

import _thread  # the public modules are ones that a command line never needs
import _weakref
import contextlib
import errno
import marshal
import os
import sys
from collections.abc import Sequence

from tongs.core.annotations import TYPE_CHECKING
from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import compiled, packets
from tongs.sandbox.orders import Jail, Request
from tongs.sandbox.waiting import poll

if TYPE_CHECKING:
    import _socket

    from tongs.sandbox.launch import Launched

# Want of memory, processes or descriptors: nothing that another program would not meet.
_PASSING = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE)
_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forkserver.py")


class ForkServer:
    """Launches through one fork server, started when first needed and again when it died.

    `native` is the compiled one, where there is one; if it cannot be started, the other one is.
    Any thread may launch. A forked copy of this process forgets the server and starts its own.
    """

    def __init__(self, native: str = "", *, ahead: bool = True) -> None:
        self.ahead = ahead
        self._lock = _thread.allocate_lock()
        self._program = native
        self._requests: _socket.socket | None = None
        self._pid = 0
        _alive[:] = [known for known in _alive if known() is not None]
        _alive.append(_weakref.ref(self))

    def launch(self, jail: Jail, channel: int, groups: Sequence[str]) -> Launched:
        with self._lock:
            self._send(jail, groups, channel)
            return ServerLaunched(self, self._pid, native=bool(self._program))

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

    def _send(self, jail: Jail, groups: Sequence[str], channel: int) -> None:
        # A server that dies is not there to read before it is seen to be dead: once more, then.
        # Of a request that it drops unread, the channel tells.
        if not self._is_alive() or not self._is_sent(jail, groups, channel):
            self._stop()
            self._start()
            self._is_sent(jail, groups, channel)

    def _is_sent(self, jail: Jail, groups: Sequence[str], channel: int) -> bool:
        assert self._requests is not None
        if self._program:
            data = compiled.packed_order(jail, groups)
        else:
            data = marshal.dumps((jail.data(), tuple(groups)))
        try:
            packets.send(self._requests, data, [channel])
        except (BrokenPipeError, ConnectionResetError):
            return False
        return True

    def _is_alive(self) -> bool:
        if self._requests is None:
            return False
        # One that is just going has closed its end, and can be waited for.
        going = poll(self._requests.fileno(), 0)
        try:
            over, status = os.waitpid(self._pid, 0 if going else os.WNOHANG)
        except ChildProcessError:
            return False
        if over and os.WIFEXITED(status) and os.WEXITSTATUS(status):
            self._program = ""  # it was not killed: it cannot work here
        return over == 0

    def _start(self) -> None:
        ours, theirs = packets.pair()
        try:
            self._pid = self._spawned(theirs.fileno())
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

    def _spawned(self, requests: int) -> int:
        actions = [
            (os.POSIX_SPAWN_DUP2, requests, packets.REQUESTS),
            *((os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(3)),
        ]
        if self._program:
            try:
                return os.posix_spawn(self._program, [self._program], {}, file_actions=actions)
            except OSError as error:
                if error.errno in _PASSING:
                    raise
                # Built for another machine, or on a file system that runs no programs.
                self._program = ""
        words = [sys.executable, "-I", "-S", _PROGRAM]
        return os.posix_spawn(sys.executable, words, {}, file_actions=actions)

    def _stop(self) -> None:
        if self._requests is not None:
            self._requests.close()
            self._requests = None
            # Somebody else in this process may wait for everything.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)

    def _forget(self) -> None:
        """In a forked copy: the server belongs to the original, and so does the lock's state."""
        self._lock = _thread.allocate_lock()
        if self._requests is not None:
            self._requests.close()
            self._requests = None


class ServerLaunched:
    def __init__(self, server: ForkServer, pid: int, *, native: bool) -> None:
        self._server = server
        self._pid = pid
        self._native = native

    @property
    def doomed(self) -> bool:
        return not self._server.is_served_by(self._pid)

    def packed(self, request: Request) -> bytes:
        return compiled.packed_request(request) if self._native else request.packed()

    def finish(self, *, died: bool) -> None:
        """The server reaps its supervisors, and kills what a dead one leaves."""


_alive: list[_weakref.ReferenceType[ForkServer]] = []


def _forget_all() -> None:
    for known in _alive:
        if (server := known()) is not None:
            server._forget()  # noqa: SLF001 - only this module may tell a server that it was copied


os.register_at_fork(after_in_child=_forget_all)
