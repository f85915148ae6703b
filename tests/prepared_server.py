"""Forks a process for each command that `prepared.py` asks for, and tells how it ended.

    python tests/prepared_server.py COMMAND ADDRESS

It imports what the command imports, and nothing that would change how the command behaves.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import json
import os
import pkgutil
import select
import socket
import sys
from contextlib import suppress
from pathlib import Path

_PACKAGES = (
    *("surfaces.cli", "runtime", "formats", "executors", "sandbox", "builtin", "audit", "store"),
    *("authoring", "policy", "config", "schema", "template"),
)

# They import asyncio, which most commands do without and which has to do something at the end.
_LEFT_OUT = {
    *("tongs.surfaces.cli.run_shown", "tongs.runtime.agent_tools", "tongs.runtime.chatting"),
    *("tongs.runtime.posting", "tongs.executors.http_connection"),
    *("tongs.executors.http_exchange", "tongs.executors.http_response"),
}


class _Server:
    def __init__(self, address: str) -> None:
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(address)
        self._listener.listen(16)
        self._running: dict[int, tuple[int, socket.socket]] = {}
        self._poll = select.poll()
        self._poll.register(self._listener, select.POLLIN)
        self._poll.register(0, select.POLLIN)

    def become_a_child(self) -> None:
        """Returns in every child; the server itself ends here, with its tests."""
        while True:
            for descriptor, _ in self._poll.poll():
                if descriptor == 0:
                    os._exit(0)
                if descriptor != self._listener.fileno():
                    self._tell_the_end(descriptor)
                elif self._forked():
                    return

    def _forked(self) -> bool:
        connection, _ = self._listener.accept()
        _, given, _, _ = socket.recv_fds(connection, 16, 4)
        if (pid := os.fork()) == 0:
            _become(*given)
            return True
        for descriptor in given:
            os.close(descriptor)
        connection.send(str(pid).encode())
        ends = os.pidfd_open(pid)
        self._running[ends] = (pid, connection)
        self._poll.register(ends, select.POLLIN)
        return False

    def _tell_the_end(self, ends: int) -> None:
        pid, connection = self._running.pop(ends)
        _, status = os.waitpid(pid, 0)
        with suppress(OSError):  # a test that ran out of time has gone
            connection.send(str(os.waitstatus_to_exitcode(status)).encode())
        connection.close()
        self._poll.unregister(ends)
        os.close(ends)


def _become(paper: int, *streams: int) -> None:
    os.setsid()
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
    with open(paper, encoding="utf-8", closefd=False) as file:
        file.seek(0)
        words, folder, environment = json.load(file)
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words


def _import_all() -> None:
    for package in map("tongs.{}".format, _PACKAGES):
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__, package + "."):
            if found.name not in _LEFT_OUT:
                importlib.import_module(found.name)
                # A command that has nothing to do at the end leaves at once (`__main__._leave`).
                assert not atexit._ncallbacks(), f"{found.name} belongs to _LEFT_OUT"
    importlib.import_module("jsonschema_rs")
    gc.freeze()  # else a child would copy every page that its first collection looks at


def main(command: str, address: str) -> int:
    sys.path[0] = str(Path(command).parent)
    _import_all()
    command_line = importlib.import_module("tongs.__main__").main
    server = _Server(address)
    print("ready", flush=True)
    server.become_a_child()
    return int(command_line())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
