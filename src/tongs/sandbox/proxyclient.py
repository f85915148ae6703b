"""The side of the proxy that lives in the Tongs process."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import sys
import threading
import weakref
from collections.abc import Mapping, Sequence

from tongs.core import hosts
from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox import proxy

_PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "proxy.py")
# Until it is killed; it needs a few milliseconds.
_GRACE = 1.0
# Above the descriptors that the proxy is given, so that none is overwritten before its turn.
_ABOVE = 16


class HostProxy:
    """A proxy process that lets through the hosts of one list.

    `listening_fd` stays the caller's, to be closed as soon as this object is made: while somebody
    keeps it open, connections to a dead proxy hang. A forked copy of this process forgets the
    proxy. Raises ValueError for a host that cannot be read.
    """

    def __init__(
        self,
        listening_fd: int,
        entries: Sequence[str],
        private: Sequence[str],
        *,
        seconds: Mapping[str, float] | None = None,
    ) -> None:
        """`seconds` changes how long it waits: `head`, `connect`, `idle`."""
        lines = [f"allow {hosts.parse(entry)}" for entry in entries]
        lines += [f"private {hosts.parse_grant(entry)}" for entry in private]
        lines += [f"{name} {value}" for name, value in (seconds or {}).items()]
        self._lock = threading.Lock()
        self._refusals: list[str] = []
        self._unread = b""
        self._lifetime = self._reports = -1
        self.pid = 0
        self._start(listening_fd, "\n".join(lines).encode("ascii"))
        _alive.add(self)

    def refusals(self) -> list[str]:
        """What it has refused so far, each once: `host:port` and the reason."""
        with self._lock:
            self._read()
            return list(self._refusals)

    def close(self) -> None:
        """End the process and all its connections, and wait for it."""
        with self._lock:
            if self._lifetime < 0:
                return
            os.close(self._lifetime)
            self._lifetime = -1
            poller = select.poll()
            poller.register(self._reports, 0)  # only its end, which is that of the process
            if not poller.poll(_GRACE * 1000):
                from signal import SIGKILL  # noqa: PLC0415 - slow to load, and hardly ever needed

                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, SIGKILL)
            # Somebody else in this process may wait for everything.
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self.pid, 0)
            self._read()
            os.close(self._reports)
            self._reports = -1

    def __del__(self) -> None:
        # A host that cannot be read leaves half an object.
        if hasattr(self, "pid"):
            self.close()

    def _start(self, listening_fd: int, configuration: bytes) -> None:
        with contextlib.ExitStack() as given:

            def moved(number: int) -> int:
                above = fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, _ABOVE)
                given.callback(os.close, above)
                return above

            lives, self._lifetime = os.pipe()
            given.callback(os.close, lives)
            self._reports, tells = os.pipe()
            given.callback(os.close, tells)
            os.set_blocking(self._reports, False)
            file = os.memfd_create("hosts")
            given.callback(os.close, file)
            os.write(file, configuration)
            os.lseek(file, 0, os.SEEK_SET)
            numbers = {
                proxy.LISTENING: listening_fd,
                proxy.LIFETIME: lives,
                proxy.REPORT: tells,
                proxy.CONFIGURATION: file,
            }
            actions = [(os.POSIX_SPAWN_DUP2, moved(ours), its) for its, ours in numbers.items()]
            standard = [(os.POSIX_SPAWN_OPEN, its, os.devnull, os.O_RDWR, 0) for its in range(3)]
            try:
                self.pid = os.posix_spawn(
                    sys.executable,
                    [sys.executable, "-I", "-S", _PROGRAM],
                    {},
                    file_actions=[*actions, *standard],
                )
            except OSError as error:
                self._forget()
                raise ToolError(
                    ErrorCode.SANDBOX_UNAVAILABLE,
                    f"the proxy for the hosts of the tool cannot be started: {error.strerror}",
                    details={"interpreter": sys.executable},
                ) from error

    def _read(self) -> None:
        while self._reports >= 0:
            try:
                data = os.read(self._reports, 4096)
            except BlockingIOError:
                return
            if not data:
                return
            *lines, self._unread = (self._unread + data).split(b"\n")
            for line in lines:
                text = line[: proxy.REPORT_BYTES].decode("ascii", "replace")
                # The process reads what strangers send, so it is not believed without a look.
                if text.isprintable() and len(self._refusals) < proxy.REPORTS:
                    self._refusals.append(text)

    def _forget(self) -> None:
        """In a forked copy: the proxy belongs to the original, and so does the lock's state."""
        self._lock = threading.Lock()
        for number in (self._lifetime, self._reports):
            if number >= 0:
                os.close(number)
        self._lifetime = self._reports = -1


def environment(port: int) -> dict[str, str]:
    """The variables that lead a payload to the proxy on this port of its own loopback."""
    address = f"http://127.0.0.1:{port}"
    made = {"NODE_USE_ENV_PROXY": "1"}
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        made[name] = made[name.lower()] = address
    made["NO_PROXY"] = made["no_proxy"] = ""
    return made


_alive: weakref.WeakSet[HostProxy] = weakref.WeakSet()


def _forget_all() -> None:
    for made in tuple(_alive):
        made._forget()  # noqa: SLF001 - only this module may tell a proxy that it was copied


os.register_at_fork(after_in_child=_forget_all)
