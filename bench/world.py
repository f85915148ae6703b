"""A home, a project and tools that only this run of the bench sees."""

from __future__ import annotations

import compileall
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import tongs

BIN = Path(sys.executable).parent
PYTHON = str(BIN / "python")
TONGS = str(BIN / "tongs")

_TOOLS = {
    "nothing": 'run: "true"\n',
    "hi": "bash: echo hi\n",
    "greet": 'bash: echo "hi {WHO}"\nparameters:\n  WHO: {type: string, description: whom}\n',
    "flood": "bash: head -c 100000000 /dev/zero\n",
}
_FILLER = """\
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
    def make(root: Path, tools: int) -> World:
        home, project = root / "home", root / "project"
        folders = (home / ".tongs" / "tools", project / ".tongs" / "tools")
        for folder in folders:
            folder.mkdir(parents=True)
        (project / ".git").mkdir()
        for name, text in _TOOLS.items():
            (folders[1] / f"{name}.yaml").write_text(f"description: the tool {name}\n{text}")
        for number in range(tools - len(_TOOLS)):
            name = f"search-{number:04}.yaml"
            (folders[number % 2] / name).write_text(_FILLER.format(number=number))
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "TONGS_GLOBAL": str(root / "global"),
            "LANG": "C.UTF-8",
        }
        world = World(str(project), environment)
        world.run("trust", "--yes")
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


def prepare() -> None:
    """Write the byte code that an installation has, whatever PYTHONDONTWRITEBYTECODE says."""
    for package in (Path(tongs.__file__).parent, Path(__file__).parent):
        compileall.compile_dir(str(package), quiet=2)
