"""One session of a real terminal multiplexer: real keys, and the screen as a person sees it."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path


class Tmux:
    def __init__(
        self, folder: Path, env: Mapping[str, str], *, columns: int = 90, rows: int = 30
    ) -> None:
        assert shutil.which("tmux"), "tmux is needed: apt install tmux"
        self._folder = folder
        self._env = {**env, "TERM": "xterm-256color"}
        # A socket below the test's own folder: nothing of the machine's tmux is touched.
        self._socket = str(folder / "tmux")
        size = ("-x", str(columns), "-y", str(rows))
        self._run("new-session", "-d", *size, "env", "PS1=$ ", "bash", "--norc")

    def keys(self, *keys: str, literal: str = "") -> None:
        if literal:
            self._run("send-keys", "-l", literal)
        if keys:
            self._run("send-keys", *keys)

    def line(self, text: str) -> None:
        """Type a line."""
        self.keys("Enter", literal=text)

    def paste(self, text: str) -> None:
        """As a terminal does it: marked, so that a newline is no Enter."""
        self._run("set-buffer", text)
        self._run("paste-buffer", "-p")

    def wait_for(self, shown: str, seconds: float = 30) -> str:
        until = time.monotonic() + seconds
        while shown not in (text := self._run("capture-pane", "-p", "-J")):
            assert time.monotonic() < until, text
            # Tmux has no event for "this text is on the screen".
            time.sleep(0.05)
        return text

    def child(self) -> int:
        """The process that the shell runs now."""
        shell = self._run("display-message", "-p", "#{pane_pid}").strip()
        (child,) = Path(f"/proc/{shell}/task/{shell}/children").read_text().split()
        return int(child)

    def close(self) -> None:
        self._run("kill-server")

    def _run(self, *arguments: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", self._socket, "-f", "/dev/null", *arguments],
            cwd=self._folder,
            env=self._env,
            capture_output=True,
            check=True,
        )
        return done.stdout.decode()
