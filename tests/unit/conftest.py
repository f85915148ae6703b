"""A project of one's own: a folder, a home, and a runtime over both."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tongs import Runtime
from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.result import ToolResult

PERSON = Caller(CallerKind.PERSON, "user")


class Project:
    """Writes definitions, and runs them as a person would by typing."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root = root
        self.home = home
        self.tools = root / ".tongs" / "tools"
        self.tools.mkdir(parents=True)
        self._open: list[Runtime] = []

    def runtime(self, **options: object) -> Runtime:
        runtime = Runtime.open(self.root, single_thread=True, **options)  # type: ignore[arg-type]
        self._open.append(runtime)
        return runtime

    def write(self, name: str, text: str, *, trusted: bool = True) -> Path:
        path = self.tools / f"{name}.yaml"
        path.write_text(text)
        if trusted:
            runtime = self.runtime()
            runtime.definitions.accept(runtime.find(name))
        return path

    def manifest(self, name: str, data: Mapping[str, Any]) -> Path:
        """A tool of shape 3, accepted; `data` lacks nothing but what every manifest needs."""
        folder = self.tools / name
        folder.mkdir(exist_ok=True)
        path = folder / "tool.yml"
        (kind,) = data["exec"]
        whole = {"name": name, "description": "A test.", "kind": kind, "version": 1, **data}
        path.write_text(json.dumps(whole, indent=1))
        runtime = self.runtime()
        runtime.definitions.accept(runtime.find(name))
        return path

    def run(self, name: str, **arguments: object) -> ToolResult:
        return self.runtime().run_sync(ToolCall("c1", name, arguments, PERSON))

    def define_and_run(self, text: str, **arguments: object) -> ToolResult:
        self.write("t", text)
        return self.run("t", **arguments)

    def audit(self) -> str:
        """The readable copy."""
        return (self.root / ".tongs" / "audit" / "tools.log").read_text()

    def records(self) -> list[dict[str, Any]]:
        """What the chain holds, its own records left out."""
        folder = self.home / "state" / "audit"
        lines = "".join(path.read_text() for path in sorted(folder.glob("chain-*.jsonl")))
        found = [json.loads(line) for line in lines.splitlines()]
        return [record for record in found if not record["event"].startswith("CHAIN_")]

    def close(self) -> None:
        for runtime in self._open:
            runtime.close()


@pytest.fixture
def project(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seen_machine: Callable[[Path], None]
) -> Iterator[Project]:
    home = tmp_path / "home"
    (home / ".tongs").mkdir(parents=True)
    seen_machine(home / ".tongs" / "state")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TONGS_HOME", str(home / ".tongs"))
    monkeypatch.setenv("TONGS_GLOBAL", str(tmp_path / "global" / "tongs"))
    root = tmp_path / "project"
    made = Project(root, home / ".tongs")
    monkeypatch.chdir(root)
    yield made
    made.close()


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """Both ends, either of which a test may close."""
    ends = os.pipe()
    yield ends
    for end in ends:
        with suppress(OSError):
            os.close(end)
