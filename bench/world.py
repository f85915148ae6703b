"""A home, a project and tools that only this run of the bench sees."""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from time import time

import tongs
from tongs import Runtime
from tongs.sandbox import kernel
from tongs.sandbox.probe import probe, stamp

BIN = Path(sys.executable).parent
PYTHON = str(BIN / "python")
TONGS = str(BIN / "tongs")
# The interpreter that tools start: the system's where there is one.
PYTHON3 = shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin") or os.path.realpath(PYTHON)

# How the calls of a world are confined.
TIER_A = "namespaces"
TIER_B = "landlock"
OFF = "off"
NAMES = {TIER_A: "tier A", TIER_B: "tier B", OFF: "not confined"}

_TOOLS = {
    "nothing": 'run: "true"\n',
    "hi": "bash: echo hi\n",
    "greet": 'bash: echo "hi {WHO}"\nparameters:\n  WHO: {type: string, description: whom}\n',
    "flood": "bash: head -c 100000000 /dev/zero\n",
    "interpreter": f"run: {PYTHON3} -c pass\n",
}
FILLER = """\
description: Look for a pattern in the files of a folder, number {number}
bash: grep -rn -- "{{PATTERN}}" "{{FOLDER}}"
parameters:
  PATTERN:
    type: string
    description: what to look for
    required: true
  FOLDER:
    type: string
    description: where to look
    default: "."
tags: [read, search]
"""


@dataclass(frozen=True)
class World:
    """Half of its tools are the user's, half are the project's and trusted."""

    project: str
    environment: dict[str, str]

    @staticmethod
    def make(root: Path, tools: int, confined: str = "") -> World:
        """`confined` is by what its calls are; the best that this machine can do by default."""
        home, project = root / "home", root / "project"
        folders = (home / ".tongs" / "tools", project / ".tongs" / "tools")
        for folder in folders:
            folder.mkdir(parents=True)
        (project / ".git").mkdir()
        for name, text in _TOOLS.items():
            (folders[1] / f"{name}.yaml").write_text(f"description: the tool {name}\n{text}")
        for number in range(tools - len(_TOOLS)):
            name = f"search-{number:04}.yaml"
            (folders[number % 2] / name).write_text(FILLER.format(number=number))
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TONGS_GLOBAL": str(root / "global"),
            "LANG": "C.UTF-8",
        }
        world = World(str(project), environment)
        world.run("trust", "--yes")
        if confined == OFF:
            (home / ".tongs" / "config.yml").write_text("security:\n  enforcement: off\n")
        elif confined:
            # As if the machine had been asked, and had said this.
            view = int(confined == TIER_A)
            answer = home / ".tongs" / "state" / "sandbox"
            answer.write_text(f"{stamp()}\n{confined}\n{view}\n{int(time())}\n")
        return world

    def run(self, *words: str) -> str:
        """One command of Tongs; its stdout."""
        done = subprocess.run(
            [TONGS, *words],
            env=self.environment,
            cwd=self.project,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def opened(self, *, direct: bool = False) -> Runtime:
        """Its runtime in this process, which from here on is in that world itself."""
        self.enter()
        return Runtime.open(self.project, auto_approve=["*"], single_thread=direct)

    def enter(self) -> None:
        os.environ.clear()
        os.environ.update(self.environment)


def called(runtime: Runtime, name: str) -> None:
    result = runtime.call_sync(name)
    if not result.ok:
        raise RuntimeError(str(result.error))


def possible() -> tuple[str, ...]:
    """The tiers that this machine can do."""
    best = probe(direct=True).tier
    weaker = (TIER_B,) if kernel.landlock_abi() > 0 else ()
    return (TIER_A, *weaker) if best == TIER_A else weaker


def prepare() -> None:
    """Write the byte code that an installation has, whatever PYTHONDONTWRITEBYTECODE says."""
    for package in (Path(tongs.__file__).parent, Path(__file__).parent):
        compileall.compile_dir(str(package), quiet=2)
