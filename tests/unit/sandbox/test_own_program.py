"""Programs of the person's own are started as they are, and ended in time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tongs.sandbox.own_program import answered, edited

ENV = {"PATH": os.environ["PATH"], "MINE": "yes"}


def run(
    code: str, stdin: bytes = b"", *, seconds: float = 20, settled: bool = False
) -> tuple[int | None, bytes, str]:
    return answered(
        [sys.executable, "-c", code],
        ENV,
        stdin,
        seconds=seconds,
        most=1000,
        settled=lambda: settled,
    )


def test_it_reads_and_answers_in_the_persons_environment() -> None:
    assert run("import sys; print(len(sys.stdin.read()))", b"x" * 300_000) == (0, b"300000\n", "")
    assert run("import os; print(os.environ['MINE'])") == (0, b"yes\n", "")


def test_how_it_ended_is_told() -> None:
    code, output, errors = run("import sys; print('out'); sys.exit('went wrong')")

    assert (code, output, errors) == (1, b"out\n", "went wrong\n")


def test_who_does_not_read_is_not_waited_for() -> None:
    assert run("print(1)", b"x" * 1_000_000) == (0, b"1\n", "")


@pytest.mark.parametrize("code", ["while True: pass", "import os\nos.close(1)\nwhile True: pass"])
def test_it_is_ended_when_its_time_is_over(code: str) -> None:
    begun = time.monotonic()

    assert run(code, seconds=0.3)[0] is None
    assert time.monotonic() - begun < 10


def test_it_is_ended_when_nobody_wants_its_answer() -> None:
    assert run("while True: pass", settled=True)[0] is None


def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen(['sleep', '1000'], stdout=subprocess.DEVNULL)\n"
        f"open({str(file)!r}, 'w').write(str(child.pid))\nprint('done')\n"
    )

    assert run(code)[:2] == (0, b"done\n")

    pid = int(file.read_text())
    until = time.monotonic() + 20
    while _is_there(pid):
        assert time.monotonic() < until
        time.sleep(0.01)


def _is_there(pid: int) -> bool:
    try:
        return b") Z" not in Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return False


def test_output_without_end_is_not_read_to_its_end() -> None:
    code, output, _ = run("while True: print('x' * 1000)")

    assert code is None
    assert 1000 < len(output) < 10_000_000


def test_a_program_that_is_not_there_is_an_error() -> None:
    with pytest.raises(OSError, match="nowhere"):
        answered(["/nowhere/x"], ENV, b"", seconds=1, most=10, settled=lambda: False)


def test_an_editor_changes_a_private_file(tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nstat -c %a "$1" >> "$1"\n')
    editor.chmod(0o755)

    assert edited([str(editor)], ENV, "text\n", "arguments.json") == "text\n600\n"
    assert edited(["false"], ENV, "text\n", "arguments.json") is None
    left = subprocess.run(
        ["sh", "-c", "ls -d ${TMPDIR:-/tmp}/tongs-edit-*"], capture_output=True, check=False
    )
    assert left.returncode != 0
