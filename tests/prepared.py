"""The command in a process of its own, forked from a Python that has imported its modules already.

To import them is most of what a short command does, and the acceptance tests run thousands. What a
child does is `main()` of the real command, with its own arguments, folder, environment, session and
streams. `make test-full` and `make coverage` start every command anew instead.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.thorough import THOROUGH

TONGS = str(Path(sys.executable).with_name("tongs"))
_SERVER = str(Path(__file__).with_name("prepared_server.py"))
SECONDS = 60


class Prepared:
    """Starts the server when it is first needed; `close` ends it."""

    def __init__(self, folder: Path) -> None:
        self._address = str(folder / "socket")
        self._server: subprocess.Popen[bytes] | None = None
        self._starting = threading.Lock()

    def run(
        self,
        arguments: Sequence[str | bytes],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: bytes = b"",
    ) -> subprocess.CompletedProcess[bytes]:
        """What came of it, as `start` would tell it."""
        words = [TONGS, *map(os.fsdecode, arguments)]
        # What Python itself reads from the environment, it reads as it starts.
        if THOROUGH or any(name.startswith("PYTHON") for name in env):
            return start(words, cwd=cwd, env=env, stdin=stdin)
        given, mine = os.pipe()
        output, written = os.pipe()
        errors, told = os.pipe()
        with self._connected() as connection, ThreadPoolExecutor(3) as pool:
            pid = _ask(connection, (words, str(cwd), dict(env)), (given, written, told))
            pool.submit(_feed, mine, stdin)
            said = [pool.submit(_drain, descriptor) for descriptor in (output, errors)]
            stdout, stderr = _in_time(pid, words, said)
            code = int(connection.recv(64))
        return subprocess.CompletedProcess(words, code, stdout, stderr)

    def close(self) -> None:
        if self._server is not None:
            assert self._server.stdin is not None
            self._server.stdin.close()
            self._server.wait()

    def _connected(self) -> socket.socket:
        with self._starting:
            if self._server is None:
                self._server = self._started()
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        connection.connect(self._address)
        return connection

    def _started(self) -> subprocess.Popen[bytes]:
        # All three are pipes, as a command's are: Python looks at them once, as it starts.
        server = subprocess.Popen(
            [sys.executable, _SERVER, TONGS, self._address],
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert server.stdout is not None
        assert server.stderr is not None
        with server.stdout, server.stderr:
            ready = server.stdout.readline()
            assert ready == b"ready\n", server.stderr.read().decode()
        return server


def start(
    words: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """What came of a program in a session of its own, with its output captured."""
    return subprocess.run(
        words,
        cwd=cwd,
        env=env,
        input=stdin,
        capture_output=True,
        start_new_session=True,
        check=False,
        timeout=SECONDS,
    )


def _ask(connection: socket.socket, order: object, streams: Sequence[int]) -> int:
    """The child's process id; its ends of the streams are closed here."""
    # In a file: arguments may be longer than a packet.
    paper = os.memfd_create("order")
    with open(paper, "w", encoding="utf-8", closefd=False) as file:
        json.dump(order, file)
    socket.send_fds(connection, [b"run"], [paper, *streams])
    for descriptor in (paper, *streams):
        os.close(descriptor)
    return int(connection.recv(64))


def _in_time(pid: int, words: Sequence[str], said: Sequence[Future[bytes]]) -> list[bytes]:
    try:
        return [stream.result(SECONDS) for stream in said]
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
        raise subprocess.TimeoutExpired(words, SECONDS) from None


def _feed(descriptor: int, data: bytes) -> None:
    with suppress(BrokenPipeError), open(descriptor, "wb", buffering=0) as stream:
        stream.write(data)


def _drain(descriptor: int) -> bytes:
    with open(descriptor, "rb") as stream:
        return stream.read()
