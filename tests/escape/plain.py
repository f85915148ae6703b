"""A payload without Tongs: a child that inherits everything, and a parent that watches nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType

from tongs.core.execution import Command, Completed

# Stands where a supervisor would, so that attacks on the parent never hit the test run itself.
PARENT = '"$@"; exit $?'

# As many programs do, though a payload may have put anything in the place of its folder.
CLEAN = 'rm -rf "$1"/* && rm -rf "$1"'


class PlainSession:
    """As much of a session as the controls need."""

    def __init__(self, inherited: tuple[int, ...] = ()) -> None:
        self._inherited = inherited
        self.scratch = tempfile.mkdtemp()

    def run(self, command: Command) -> Completed:
        started = time.monotonic()
        with subprocess.Popen(
            ["sh", "-c", PARENT, "sh", *command.argv],
            env={**os.environ, **command.environment},
            cwd=command.cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=self._inherited,
            start_new_session=True,
        ) as child:
            try:
                out, err = child.communicate(timeout=command.timeout)
                timed_out = False
            except subprocess.TimeoutExpired:
                # As the usual caller would: its own child is ended, and what that left is not.
                child.terminate()
                out, err = _rest(child)
                timed_out = True
        code = child.returncode
        return Completed(
            exit_code=code if code >= 0 else None,
            signal=-code if code < 0 else None,
            timed_out=timed_out,
            duration=time.monotonic() - started,
            stdout=out,
            stderr=err,
            output=out + err,
            stdout_size=len(out),
            stderr_size=len(err),
        )

    def __enter__(self) -> PlainSession:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        subprocess.run(["sh", "-c", CLEAN, "sh", self.scratch], check=True)


def _rest(child: subprocess.Popen[bytes]) -> tuple[bytes, bytes]:
    try:
        return child.communicate(timeout=0.2)
    except subprocess.TimeoutExpired as over:
        # What is left of the tree holds the pipes, which is what some attacks are about.
        return over.stdout or b"", over.stderr or b""


def kill_marked(mark: str) -> list[str]:
    """End every process whose environment has the mark; which there were."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            if mark.encode() not in Path(f"/proc/{name}/environ").read_bytes():
                continue
            if Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                continue
            os.kill(int(name), signal.SIGKILL)
        except OSError:
            continue
        found.append(f"process {name} outlived its call")
    return found
