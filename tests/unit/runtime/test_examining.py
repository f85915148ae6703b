"""What the doctor looks at."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from tests.unit.conftest import Project

from tongs.runtime.examining import enforcement_source, examine


def test_leftovers_are_removed_and_calls_in_progress_are_counted(
    project: Project, tmp_path: Path
) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    folder = tmp_path / f"tongs-{os.geteuid()}"
    folder.mkdir(mode=0o700)
    left, used = (folder / f"tongs-{pid}-0000" for pid in (ended.pid, os.getpid()))
    left.mkdir()
    used.mkdir()

    found = examine(project.runtime().places, str(tmp_path))

    assert (found.scratch, found.in_use, found.removed) == (str(folder), 1, 1)
    assert (left.exists(), used.exists()) == (False, True)


def test_the_answer_is_kept_for_the_calls_that_follow(project: Project) -> None:
    places = project.runtime().places

    found = examine(places)

    kept = Path(places.state, "sandbox").read_text().splitlines()
    assert kept[1:3] == [found.tier, "1"]
    assert not Path(places.state, "doctor").exists()


def test_the_line_of_the_person_comes_before_that_of_the_project(project: Project) -> None:
    (project.home / "config.yml").write_text("security: {enforcement: best-effort}\n")
    (project.root / ".tongs" / "config.yml").write_text("\nsecurity: {enforcement: best-effort}\n")
    runtime = project.runtime()

    source = enforcement_source(runtime.places, runtime.settings)

    assert source == f"{project.home}/config.yml:1"


def test_a_project_that_tightens_is_named(project: Project) -> None:
    (project.home / "config.yml").write_text("security: {enforcement: 'off'}\n")
    (project.root / ".tongs" / "config.yml").write_text("\nsecurity: {enforcement: strict}\n")
    runtime = project.runtime()

    source = enforcement_source(runtime.places, runtime.settings)

    assert source == f"{project.root}/.tongs/config.yml:2"
