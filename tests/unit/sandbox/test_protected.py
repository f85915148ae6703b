"""What stays as it is inside a folder that may be written."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tongs.sandbox.protected import NAMES, Watch, pinned, protected_in


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "work" / "project"
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    return folder


def below(folder: Path, *names: str) -> set[str]:
    return {str(folder / name) for name in names}


def test_tool_folders_hooks_and_the_config_of_git_are_protected(project: Path) -> None:
    found = set(protected_in(str(project), ()))

    assert below(project, *NAMES, ".git/hooks", ".git/config") <= found


def test_a_project_inside_the_root_is_protected_too(project: Path) -> None:
    above = str(project.parent)

    assert below(project, ".tongs", ".git/hooks") <= set(protected_in(above, [str(project)]))
    assert str(project / ".tongs") not in protected_in(above, ["/elsewhere"])


@pytest.mark.parametrize("name", ["bar", "libs/foo", "a/b/c"])
def test_submodules_are_protected_whatever_their_names_are(project: Path, name: str) -> None:
    module = project / ".git/modules" / name
    module.mkdir(parents=True)
    module.joinpath("HEAD").touch()

    assert below(module, "config", "hooks") <= set(protected_in(str(project), ()))


def test_very_many_submodules_are_protected_together(project: Path) -> None:
    for number in range(100):
        module = project / f".git/modules/{number}"
        module.mkdir(parents=True)
        module.joinpath("HEAD").touch()

    assert str(project / ".git/modules") in protected_in(str(project), ())


def test_a_file_that_names_the_repository_is_protected_with_what_it_names(project: Path) -> None:
    module = project / "module"
    module.mkdir()
    module.joinpath(".git").write_text("gitdir: ../.git/modules/module\n")
    project.joinpath(".git/modules/module").mkdir(parents=True)

    found = set(protected_in(str(project), [str(module)]))

    assert below(module, ".git") <= found
    assert below(project, ".git/modules/module/config", ".git/modules/module/hooks") <= found


def test_a_worktree_protects_the_repository_it_belongs_to(project: Path) -> None:
    tree = project / "tree"
    tree.mkdir()
    tree.joinpath(".git").write_text("gitdir: ../.git/worktrees/tree\n")
    own = project / ".git/worktrees/tree"
    own.mkdir(parents=True)
    own.joinpath("commondir").write_text("../..\n")

    found = set(protected_in(str(project), [str(tree)]))

    assert below(project, ".git/config", ".git/hooks") <= found


def test_what_a_link_leads_to_is_protected_if_it_can_be_written(project: Path) -> None:
    project.joinpath("real").mkdir()
    project.joinpath(".tongs").symlink_to("real")
    project.joinpath(".glee").symlink_to("/etc")

    found = protected_in(str(project), ())

    assert str(project / "real") in found
    assert "/etc" not in found


@pytest.mark.parametrize("content", ["gitdir:", "nothing", "gitdir: \0", "gitdir: /etc"])
def test_a_hostile_git_file_harms_nobody(project: Path, content: str) -> None:
    module = project / "module"
    module.mkdir()
    module.joinpath(".git").write_text(content)

    found = protected_in(str(project), [str(module)])

    assert all(path.startswith(str(project)) for path in found)


def test_a_git_file_that_never_ends_is_not_read(project: Path) -> None:
    module = project / "module"
    module.mkdir()
    os.mkfifo(module / ".git")

    assert str(module / ".tongs") in protected_in(str(project), [str(module)])


def test_folders_on_the_way_are_pinned_those_above_first() -> None:
    assert pinned("/p", ["/p/.git/hooks", "/p/a/b/c", "/p/.tongs"]) == [
        "/p/.git",
        "/p/a",
        "/p/a/b",
    ]


def test_what_was_changed_meanwhile_is_noticed(project: Path) -> None:
    def changed_by(change: Callable[[], object]) -> list[str]:
        watch = Watch({str(project): protected_in(str(project), ())})
        change()
        return [os.path.relpath(path, project) for path in watch.changed()]

    hook = project / ".git/hooks/pre-commit"
    assert changed_by(lambda: project.joinpath("file").write_text("x")) == []
    assert changed_by(lambda: hook.write_text("#!/bin/sh")) == [".git/hooks"]
    assert changed_by(lambda: hook.write_text("#!/bin/bash")) == [".git/hooks"]
    assert changed_by(lambda: project.joinpath(".git/commondir").touch()) == [".git/commondir"]
    assert changed_by(lambda: project.joinpath(".tongs/tools").mkdir(parents=True)) == [".tongs"]
    assert changed_by(lambda: project.joinpath(".idea").mkdir()) == []
    assert changed_by(lambda: project.joinpath("objects").mkdir()) == []
    assert changed_by(lambda: project.joinpath("refs").mkdir()) == []
    assert changed_by(lambda: project.joinpath("HEAD").touch()) == ["HEAD"]


def test_a_folder_that_is_a_repository_itself_is_protected(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(tmp_path)], check=True)

    assert below(tmp_path, "config", "hooks") <= set(protected_in(str(tmp_path), ()))
