"""The real command, in a project and a home of its own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.prepared import TONGS, Prepared, start
from tests.screen import Screen

SCRIPTED = str(Path(__file__).with_name("scripted_tongs.py"))
WITHOUT_USERNS = str(Path(__file__).parents[1] / "without_userns.py")


@dataclass(frozen=True)
class Outcome:
    """What a command printed, and how it ended."""

    stdout: str
    stderr: str
    code: int


@dataclass(frozen=True)
class Place:
    """A project, and the person's own folders beside it, all empty."""

    project: Path
    home: Path
    user: Path
    glob: Path

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "TONGS_HOME": str(self.user),
            "TONGS_GLOBAL": str(self.glob),
            "LANG": "C.UTF-8",
            **{key: value for key, value in os.environ.items() if key.startswith("COVERAGE_")},
        }

    @property
    def state(self) -> Path:
        return self.user / "state"

    @property
    def copy(self) -> str:
        """The readable copy of what was recorded, in the project."""
        return (self.project / ".tongs" / "audit" / "tools.log").read_text(encoding="utf-8")

    def tool(self, name: str, text: str, *, scope: str = "local") -> Path:
        """Put a definition where a stranger, or the person, would put it."""
        roots = {"local": self.project / ".tongs", "user": self.user, "global": self.glob}
        folder = roots[scope] / "tools"
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / f"{name}.yaml"
        file.write_text(text, encoding="utf-8")
        return file


Run = Callable[..., Outcome]
Show = Callable[..., Screen]
Script = Callable[..., str]
Agent = Callable[..., Outcome]


@pytest.fixture
def place(tmp_path: Path, seen_machine: Callable[[Path], None]) -> Place:
    made = Place(*(tmp_path / name for name in ("project", "home", "user", "global")))
    for folder in (made.project / ".tongs" / "tools", made.home, made.user, made.glob):
        folder.mkdir(parents=True, mode=0o755)
    seen_machine(made.state)
    return made


@pytest.fixture
def tongs(place: Place, prepared: Prepared) -> Run:
    """`tongs("tool", "list")`: without any terminal, and stdin empty unless given."""

    def run(
        *arguments: str | bytes,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
        command: str = TONGS,
    ) -> Outcome:
        cwd, env = cwd or place.project, {**place.env, **(env or {})}
        if command == TONGS:
            done = prepared.run(arguments, cwd=cwd, env=env, stdin=stdin)
        else:
            done = start((command, *arguments), cwd=cwd, env=env, stdin=stdin)
        return Outcome(
            done.stdout.decode("utf-8", "surrogateescape"),
            done.stderr.decode("utf-8", "surrogateescape"),
            done.returncode,
        )

    return run


@pytest.fixture
def limited(tongs: Run) -> Run:
    """`limited("tool", "run", "t")`: on a host that forbids user namespaces."""

    def run(*arguments: str, landlock: bool = True, **options: object) -> Outcome:
        without = () if landlock else ("--no-landlock",)
        words = (WITHOUT_USERNS, *without, "--", TONGS, *arguments)
        return tongs(*words, command=sys.executable, **options)

    return run


@pytest.fixture
def screen(place: Place) -> Iterator[Show]:
    """`screen("tool", "run", "x")`: the command on a terminal."""
    screens: list[Screen] = []

    def start(
        *arguments: str,
        env: Mapping[str, str] | None = None,
        command: Sequence[str] = (TONGS,),
        stdin: int | None = None,
        stdout: int | None = None,
        columns: int = 100,
    ) -> Screen:
        made = Screen(
            [*command, *arguments],
            cwd=place.project,
            env={**place.env, **(env or {})},
            stdin=stdin,
            stdout=stdout,
            columns=columns,
        )
        screens.append(made)
        return made

    yield start
    for made in screens:
        made.close()


@pytest.fixture
def script(tmp_path: Path) -> Script:
    def write(*turns: Any) -> str:
        file = tmp_path / "script.json"
        file.write_text(json.dumps(turns))
        return str(file)

    return write


@pytest.fixture
def agent(tongs: Run, script: Script) -> Agent:
    """`agent([turns], "prompt", "--json")`"""

    def run(turns: list[Any], *arguments: str, **options: Any) -> Outcome:
        words = (SCRIPTED, script(*turns), "run", *arguments)
        return tongs(*words, command=sys.executable, **options)

    return run


@pytest.fixture
def told(tmp_path: Path) -> Callable[[], list[Any]]:
    """What the model was given each time."""

    def read() -> list[Any]:
        lines = (tmp_path / "script.told").read_text().splitlines()
        return [json.loads(line) for line in lines]

    return read
