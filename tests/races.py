"""Calls file tools while a second process swaps what they name for links that lead out."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tongs import Runtime
from tongs.core.approval import ApprovalRequest, ApprovalResponse
from tongs.core.call import Caller, CallerKind, ToolCall

SWAPPER = str(Path(__file__).with_name("swapper.py"))
SECRET = "what nobody may see"


@contextmanager
def swapping(project: Path, outside: Path, seed: int) -> Iterator[None]:
    """A second process at work, and whether it has been all the time."""
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    process = subprocess.Popen(
        [sys.executable, SWAPPER, str(project), str(outside), str(seed)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=environment,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    try:
        yield
        assert process.poll() is None
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()


def scene(folder: Path) -> tuple[Path, Path]:
    """A project, and beside it what no tool may touch."""
    project, outside = folder / "project", folder / "up" / "outside"
    (project / ".tongs").mkdir(parents=True)
    (outside / "folder").mkdir(parents=True)
    for place in (outside, outside / "folder", outside.parent):
        (place / "file").write_text(SECRET)
    return project, outside


def seen(outside: Path) -> list[tuple[str, int, int, bytes]]:
    found = []
    for path in sorted((outside.parent, *outside.parent.rglob("*"))):
        facts = path.lstat()
        data = path.read_bytes() if path.is_file() else b""
        found.append((str(path), facts.st_mtime_ns, facts.st_ino, data))
    return found


PLACES = ("folder/file", "inner/folder/file", "file", "inner/file")


def attempts(number: int) -> list[tuple[str, dict[str, object]]]:
    """The calls of one round; each names something that is being swapped."""
    place = PLACES[number % len(PLACES)]
    above = os.path.dirname(place) or "folder"
    return [
        ("read_file", {"path": place}),
        ("list_directory", {"path": above, "recursive": True}),
        ("write_file", {"path": f"{above}/new-{number}", "content": "x", "createDirs": True}),
        ("write_file", {"path": place, "content": "overwritten"}),
        ("edit_file", {"path": place, "oldText": "i", "newText": "j"}),
        ("move_file", {"from": place, "to": f"{above}/moved-{number}"}),
        ("move_file", {"from": f"{above}/moved-{number}", "to": place, "overwrite": True}),
        ("delete_file", {"path": f"{above}/new-{number}"}),
        ("delete_file", {"path": above, "recursive": True}),
    ]


async def approves(request: ApprovalRequest) -> ApprovalResponse:
    return ApprovalResponse(True)


def race(folder: Path, seconds: float, seed: int) -> Counter[str]:
    """How the calls ended; fails where something outside was read or touched."""
    project, outside = scene(folder)
    before = seen(outside)
    ended: Counter[str] = Counter()
    agent = Caller(CallerKind.AGENT, "agent")
    with Runtime.open(project, single_thread=True) as runtime, swapping(project, outside, seed):
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until:
            number += 1
            for name, arguments in attempts(number):
                call = ToolCall(f"{number}", name, arguments, agent)
                result = runtime.run_sync(call, approver=approves)
                assert SECRET not in str(result.to_wire()), (name, arguments)
                ended["ok" if result.error is None else str(result.error.code)] += 1
            if number % 10 == 1:
                call = ToolCall(f"{number}", "search_files", {"pattern": "nobody"}, agent)
                result = runtime.run_sync(call)
                assert result.value["matches"] == []
    assert seen(outside) == before
    return ended


def naive(folder: Path, seconds: float, seed: int) -> Counter[str]:
    """The same with the check that many programs make: resolve the path, look, then open it."""
    project, outside = scene(folder)
    before = seen(outside)
    escaped: Counter[str] = Counter()
    with swapping(project, outside, seed):
        until = time.monotonic() + seconds
        number = 0
        while time.monotonic() < until and len(escaped) < 2:
            number += 1
            place = PLACES[number % len(PLACES)]
            with suppress(OSError):
                if _read(project, place) == SECRET:
                    escaped["read outside"] += 1
            with suppress(OSError):
                _write(project, f"{os.path.dirname(place) or '.'}/new-{number}")
            if seen_names(outside) != [row[0] for row in before]:
                escaped["wrote outside"] += 1
    return escaped


def seen_names(outside: Path) -> list[str]:
    return [str(path) for path in sorted((outside.parent, *outside.parent.rglob("*")))]


def _checked(project: Path, path: str) -> str:
    real = os.path.realpath(project / path)
    if not real.startswith(f"{project}/"):
        raise PermissionError(path)
    return str(project / path)


def _read(project: Path, path: str) -> str:
    with open(_checked(project, path), encoding="utf-8") as file:
        return file.read()


def _write(project: Path, path: str) -> None:
    with open(_checked(project, path), "w", encoding="utf-8") as file:
        file.write("x")
