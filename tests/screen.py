"""A program on a real pseudo-terminal: wait for what it shows, then type."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

_SEQUENCE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>78]|\x1b\][^\x07]*\x07")


class Screen:
    """The terminal is the program's controlling one; `stdin` may be something else."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        stdin: int | None = None,
        stdout: int | None = None,
        columns: int = 100,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 30, columns, 0, 0))
        self._process = subprocess.Popen(
            command,
            cwd=cwd,
            env={"TERM": "xterm-256color", **env},
            stdin=slave if stdin is None else stdin,
            stdout=slave if stdout is None else stdout,
            stderr=slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(slave, termios.TIOCSCTTY, 0),  # noqa: PLW1509 - one thread
            pass_fds=(slave,),
        )
        os.close(slave)
        self.raw = ""

    @property
    def text(self) -> str:
        """What was shown so far, without the terminal's own codes."""
        return _SEQUENCE.sub("", self.raw).replace("\r\n", "\n")

    def wait_for(self, shown: str, seconds: float = 20) -> None:
        """Until the text is on the screen, after whatever was waited for before."""
        until = time.monotonic() + seconds
        while shown not in self.text:
            if not self._read(until - time.monotonic()):
                raise AssertionError(f"never shown: {shown!r}; on the screen:\n{self.text}")

    def type(self, keys: str) -> None:
        """Send keys; what was shown until now is forgotten."""
        self.raw = ""
        os.write(self._master, keys.encode())

    def end(self, seconds: float = 20) -> int:
        """Wait for the program to end by itself; its exit code."""
        until = time.monotonic() + seconds
        while self._read(until - time.monotonic()):
            pass
        try:
            return self._process.wait(max(until - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end; on the screen:\n{self.text}") from None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def hang_up(self, seconds: float = 20) -> int:
        """The terminal goes away, as a closed window does; the exit code of the program."""
        os.close(self._master)
        self._master = -1
        return self._process.wait(seconds)

    def echoes(self) -> bool:
        """Whether keys are shown: how a program must leave a terminal."""
        return bool(termios.tcgetattr(self._master)[3] & termios.ECHO)

    def close(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._master >= 0:
            os.close(self._master)

    def _read(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._master], [], [], seconds)[0]:
            return False
        try:
            data = os.read(self._master, 65536)
        except OSError:  # Linux says EIO when the last program on the terminal has gone.
            return False
        if b"\x1b[6n" in data:  # asked where the cursor is, as every real terminal can say
            os.write(self._master, b"\x1b[1;1R")
        self.raw += data.decode("utf-8", "replace")
        return bool(data)
