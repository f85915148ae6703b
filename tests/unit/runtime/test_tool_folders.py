"""No tool changes what the person vouches for, wherever it lies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tongs import ErrorCode

if TYPE_CHECKING:
    from tests.unit.conftest import Project

TEXT = "bash: echo ran\n"
WRITES = "bash: echo '# more' >> {PATH}\ntags: [write]\nparameters: {PATH: {type: string}}\n"


def refused_by_all(project: Project, path: str) -> bool:
    """Whether neither a program nor a tool of Tongs itself can write there."""
    program = project.run("writes", PATH=path).error
    own = project.runtime(auto_approve=["*"]).call_sync("write_file", path=path, content=TEXT)
    denied = own.error is not None and own.error.code is ErrorCode.PERMISSION_DENIED
    assert (program is not None) == denied
    return denied


def test_what_an_accepted_link_leads_to_is_held(project: Project) -> None:
    project.write("writes", WRITES)
    shared = project.root / "shared"
    (shared / "m").mkdir(parents=True)
    (shared / "x.yaml").write_text(TEXT)
    run = "exec: {command: {entrypoint: shared/run.sh}}\n"
    (shared / "m" / "tool.yml").write_text(f"name: m\ndescription: runs\nkind: command\n{run}")
    (shared / "run.sh").write_text("#!/bin/sh\n")
    (shared / "run.sh").chmod(0o755)
    for name in ("x.yaml", "m"):
        (project.tools / name).symlink_to(shared / name)
    parts = ("shared/x.yaml", "shared/m/tool.yml", "shared/run.sh")
    assert project.run("writes", PATH="shared/x.yaml").error is None  # nobody has accepted it

    runtime = project.runtime()
    for name in ("x", "m"):
        runtime.definitions.accept(runtime.find(name))

    assert [refused_by_all(project, path) for path in parts] == [True, True, True]


@pytest.mark.parametrize("moved", [False, True])
def test_folder_of_tools_that_has_another_name_is_held(project: Project, moved: bool) -> None:
    project.write("writes", WRITES)
    others = project.root / "others"
    others.mkdir()
    if moved:
        (project.home / "config.yml").write_text("custom_tools: {local_dir: others}\n")
    else:
        (project.root / ".cycod").mkdir()
        (project.root / ".cycod" / "tools").symlink_to(others)
    assert project.run("writes", PATH="others/new.yaml").error is None  # nobody works there

    project.runtime().definitions.develop(str(project.root), 60)

    assert refused_by_all(project, "others/newer.yaml")


def test_link_to_the_whole_project_does_not_hold_it(project: Project) -> None:
    project.write("writes", WRITES)
    (project.root / ".cycod").mkdir()
    (project.root / ".cycod" / "tools").symlink_to(project.root)

    project.runtime().definitions.develop(str(project.root), 60)

    assert project.run("writes", PATH="new.txt").error is None
