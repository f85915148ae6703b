"""Real bash runs the disguises of the corpus: what the rules see is what happens.

`rm` is a stand-in that only writes down how it was called. The PATH leads to nothing but it and a
few harmless programs, so the real one cannot be reached: not by name, and by path only where the
text says so, which is led to the stand-in as well. Should one be reached after all, it is in the
sandbox, where nothing but the folder of the test can be written.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.prepared import Prepared
from tests.unit.policy.commands import Entry, corpus, place

from tongs.core.execution import CommandLine
from tongs.policy.shell.reading import read_line

# Not started by bash itself, without end, or a login shell, which would find the real programs.
_ELSEWHERE = re.compile(
    r"\b(?:sudo|su|ssh|busybox|parallel|watch|at now|tmux|git|rsync|docker|rimraf|tar|while true"
    r"|find|choom|setpriv|numactl|env -a)\b|-lc"
)
_PROGRAMS = "bash cat env flock ls nice nohup printf setsid sh sleep tee timeout true xargs".split()
_BODY = """#!/bin/sh
printf '%s' "${0##*/}" >> "$RECORD"
for word do printf ' %s' "$word" >> "$RECORD"; done
printf '\\n' >> "$RECORD"
"""
DISGUISES = [
    entry
    for entry in corpus()
    if entry.verdict == "deny"
    and entry.group == "deletion in disguise"
    and not _ELSEWHERE.search(entry.command)
]


def test_there_are_many_disguises() -> None:
    assert len(DISGUISES) > 90


@pytest.fixture(scope="module")
def person(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What decides about the sandbox cannot lie where the sandbox may write."""
    return tmp_path_factory.mktemp("person")


@pytest.mark.parametrize("entry", DISGUISES, ids=lambda entry: entry.command[:60])
def test_disguise_really_starts_what_the_rules_see(
    entry: Entry, tmp_path: Path, person: Path, prepared: Prepared
) -> None:
    at = place(tmp_path / "scene")
    program = _stand_ins(tmp_path / "bin") / "rm"
    record = tmp_path / "record"
    command = re.sub(r"/b.n/rm", str(program), entry.command)
    assert "/rm" not in command.replace(str(program), ""), "the real one must stay out of reach"

    # In a file: the rules of the sandbox's own command line would deny it.
    script = tmp_path / "script"
    script.write_text(f"{command}\nwait", encoding="utf-8", newline="")
    world = {"PATH": str(program.parent), "HOME": at.home, "RECORD": str(record)}
    prepared.run(
        [
            *("sandbox", "run", "--write", str(tmp_path), "--"),
            *("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in world.items())),
            *(str(shutil.which("bash")), str(script)),
        ],
        cwd=Path(at.cwd),
        env={"PATH": os.environ["PATH"], "HOME": str(person)},
    )

    really = [line.split(" ")[1:] for line in record.read_text().splitlines()]
    reading = read_line(CommandLine(at.cwd, text=entry.command, given=True), at.home)
    seen = [list(i.words[1:]) for i in reading.invocations if i.program == "rm"]
    assert _options(really) == _options(seen)


def test_what_is_outside_of_the_test_cannot_be_written(tmp_path: Path) -> None:
    """The wall behind the stand-in: a real program is tried on a file beside the test's folder."""
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.touch()
    command = ["tongs", "sandbox", "run", "--write", str(inside), "--", "/bin/rm", str(outside)]

    done = subprocess.run(
        [sys.executable, "-m", *command],
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        stderr=subprocess.DEVNULL,
        check=False,
    )

    assert done.returncode != 0
    assert outside.exists()


def _stand_ins(folder: Path) -> Path:
    folder.mkdir()
    for name in _PROGRAMS:
        (folder / name).symlink_to(str(shutil.which(name)))
    (folder / "rm").write_text(_BODY)
    (folder / "rm").chmod(0o755)
    return folder


def _options(calls: list[list[str]]) -> set[str]:
    """The options of all calls, long ones as they are written."""
    found: set[str] = set()
    for call in calls:
        for word in call:
            if word.startswith("--") and word != "--":
                found.add(word)
            elif word.startswith("-"):
                found.update(word[1:])
    assert found, calls
    return found
