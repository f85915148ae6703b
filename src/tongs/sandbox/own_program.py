"""Programs of the person's own, started as they are: who approves for them, and their editor.

They are no tools: the person's own config or environment names them, nothing confines them, and
nothing that an agent says becomes a word of their command line.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence

# Between two looks at whether the answer is still wanted.
_PAUSE = 0.1
_SHORT = 0.01
_PIECE = 65536
_WORDS = 500


def answered(
    argv: Sequence[str],
    environment: Mapping[str, str],
    stdin: bytes,
    *,
    seconds: float,
    most: int,
    settled: Callable[[], bool],
) -> tuple[int | None, bytes, str]:
    """Exit code (None: it was ended), what it wrote to stdout, and the end of its stderr.

    Nothing that it has started in its own group is alive afterwards. Raises OSError.
    """
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as errors:
        # Files, not pipes: whoever does not read must not make us wait.
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            list(argv),
            env=dict(environment),
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        until = time.monotonic() + seconds

        def is_over() -> bool:
            return settled() or time.monotonic() > until

        try:
            output = _output(process, most, is_over)
            # Who writes without an end is not waited for.
            whole = output is not None and len(output) <= most
            finished = whole and _has_ended(process, is_over)
        finally:
            _end(process)
        code = process.returncode if finished else None
        errors.seek(max(errors.seek(0, os.SEEK_END) - _WORDS, 0))
        return code, output or b"", errors.read().decode("utf-8", "replace")


def _output(
    process: subprocess.Popen[bytes], most: int, is_over: Callable[[], bool]
) -> bytes | None:
    """All of its stdout, or a little more than the most; None where it comes too late."""
    assert process.stdout is not None
    found = bytearray()
    while len(found) <= most:
        if is_over():
            return None
        if not select.select([process.stdout], [], [], _PAUSE)[0]:
            continue
        piece = os.read(process.stdout.fileno(), _PIECE)
        if not piece:
            break
        found += piece
    return bytes(found)


def _has_ended(process: subprocess.Popen[bytes], is_over: Callable[[], bool]) -> bool:
    """Whether it ends in time. It is not buried here: until then nobody else has its number."""
    while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
        if is_over():
            return False
        time.sleep(_SHORT)
    return True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Its whole group, while the number of the group is still its own."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def edited(argv: Sequence[str], environment: Mapping[str, str], text: str, name: str) -> str | None:
    """The text as the person's editor left it; None if the editor failed. Raises OSError.

    The editor has this process's terminal meanwhile.
    """
    with tempfile.TemporaryDirectory(prefix="tongs-edit-") as folder:
        path = os.path.join(folder, name)
        with open(path, "x", encoding="utf-8", opener=_private) as file:
            file.write(text)
        done = subprocess.run([*argv, path], env=dict(environment), check=False)
        if done.returncode != 0:
            return None
        with open(path, encoding="utf-8") as file:
            return file.read()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
