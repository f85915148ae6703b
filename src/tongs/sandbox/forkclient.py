"""The side of the fork server that lives in the Tongs process."""

from __future__ import annotations

import contextlib
import marshal
import os
import socket
import sys
import threading
import weakref
from array import array
from collections.abc import Sequence

from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import forkserver
from tongs.sandbox.launch import Launched
from tongs.sandbox.supervisor import Request

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "forkserver.py")


class ForkServer:
    """Launches through one fork server, started when first needed and again when it died.

    Any thread may launch. A forked copy of this process forgets the server and starts its own.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._requests: socket.socket | None = None
        self._pid = 0
        _alive.add(self)

    def launch(self, request: Request, descriptors: Sequence[int]) -> Launched:
        data = marshal.dumps(request.data())
        given = list(descriptors)
        large = -1
        try:
            if len(data) > forkserver.INLINE:
                large = _memory_file(data)
                data, given = b"large", [*given, large]
            with self._lock:
                self._send(data, given)
        finally:
            if large >= 0:
                os.close(large)
        return ServerLaunched()

    def close(self) -> None:
        """End the server, and with it whatever it still supervises."""
        with self._lock:
            self._stop()

    def __del__(self) -> None:
        self._stop()

    def _send(self, data: bytes, descriptors: Sequence[int]) -> None:
        if not self._is_alive():
            self._stop()
            self._start()
        assert self._requests is not None
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array("i", descriptors))
        # A server that is just gone drops the request, which the status pipe then tells as well.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._requests.sendmsg([data], [rights])

    def _is_alive(self) -> bool:
        """Asked before each request: what a dead server had ready may take one and drop it."""
        try:
            return self._requests is not None and os.waitpid(self._pid, os.WNOHANG)[0] == 0
        except ChildProcessError:
            return False

    def _start(self) -> None:
        # Packets, so that one of several waiting supervisors gets a request, and all of it.
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
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
    def finish(self, *, died: bool) -> None:
        """The server reaps its supervisors, and kills what a dead one leaves."""


_alive: weakref.WeakSet[ForkServer] = weakref.WeakSet()


def _forget_all() -> None:
    for server in tuple(_alive):
        server._forget()  # noqa: SLF001 - only this module may tell a server that it was copied


os.register_at_fork(after_in_child=_forget_all)


def _memory_file(data: bytes) -> int:
    file = os.memfd_create("request")
    try:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(file, rest) :]
        os.lseek(file, 0, os.SEEK_SET)
    except BaseException:
        os.close(file)
        raise
    return file
