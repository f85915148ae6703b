"""Where things lie around a working directory."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tongs.config.places import Places, find_places, state_folder
from tongs.core.scope import Scope


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def places(cwd: Path, home: Path, **env: str) -> Places:
    return find_places(str(cwd), {"HOME": str(home), **env})


def folder(*parts: Path | str) -> Path:
    path = Path(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path


def test_the_nearest_tongs_folder_above_makes_the_project(home: Path) -> None:
    folder(home, "work", "app", ".tongs")
    cwd = folder(home, "work", "app", "src", "deep")

    assert places(cwd, home) == Places(
        home=str(home),
        user_folder=str(home / ".tongs"),
        global_folder="/etc/tongs",
        state=str(home / ".tongs" / "state"),
        project=str(home / "work" / "app"),
        cwd=str(cwd),
    )


@pytest.mark.parametrize("marker", [".cycod", ".kodelet", "kodelet-tools", ".glee", ".git"])
def test_foreign_folders_and_repositories_are_projects_too(home: Path, marker: str) -> None:
    folder(home, "app", marker)

    assert places(folder(home, "app", "src"), home).project == str(home / "app")


def test_the_walk_ends_at_a_repository_root(home: Path) -> None:
    folder(home, "outer", ".tongs")
    inner = folder(home, "outer", "inner")
    (inner / ".git").write_text("gitdir: elsewhere")

    assert places(folder(inner, "src"), home).project == str(inner)


def test_a_tongs_folder_below_the_repository_root_is_nearer(home: Path) -> None:
    folder(home, "repo", ".git")
    folder(home, "repo", "part", ".tongs")

    assert places(folder(home, "repo", "part", "src"), home).project == str(home / "repo" / "part")


def test_the_walk_ends_at_the_home_directory(tmp_path: Path, home: Path) -> None:
    folder(tmp_path, ".tongs")
    folder(tmp_path, ".git")

    assert places(folder(home, "somewhere"), home).project is None


def test_the_home_directory_is_no_project(home: Path) -> None:
    for marker in (".git", ".cycod", ".tongs"):
        folder(home, marker)

    assert places(home, home).project is None
    assert places(folder(home, "below"), home).project is None


def test_a_tongs_folder_at_home_is_local_once_the_user_folder_is_elsewhere(home: Path) -> None:
    folder(home, ".tongs")
    moved = places(home, home, TONGS_HOME=str(home / "mine"))

    assert moved.project == str(home)
    assert moved.state == str(home / "mine" / "state")
    assert moved.tool_folders(Scope.LOCAL) == [(str(home / ".tongs" / "tools"), "tongs")]


def test_the_user_folder_inside_a_project_is_not_the_projects(home: Path) -> None:
    app = folder(home, "app")
    folder(app, ".git")
    own = folder(app, ".tongs")
    found = places(app, home, TONGS_HOME=str(own))

    assert found.project == str(app)
    assert "tongs" not in [family for _, family in found.tool_folders(Scope.LOCAL)]
    assert [scope for scope, _ in found.config_files()] == [Scope.GLOBAL, Scope.USER]


def test_the_user_folder_alone_makes_no_project(home: Path) -> None:
    app = folder(home, "app")

    assert places(app, home, TONGS_HOME=str(folder(app, ".tongs"))).project is None


def test_a_working_directory_behind_a_link_is_the_real_one(tmp_path: Path, home: Path) -> None:
    folder(tmp_path, "data", "app", ".tongs")
    sub = folder(tmp_path, "data", "app", "src")
    (home / "link").symlink_to(sub)

    found = places(home / "link", home)

    assert found.project == str(tmp_path / "data" / "app")
    assert found.cwd == str(sub)


def test_a_home_behind_a_link_still_ends_the_walk(tmp_path: Path) -> None:
    real = folder(tmp_path, "real")
    folder(tmp_path, ".git")
    (tmp_path / "home").symlink_to(real)

    assert places(folder(real, "x"), tmp_path / "home").project is None


def test_outside_of_home_the_walk_ends_at_the_root(tmp_path: Path, home: Path) -> None:
    assert places(folder(tmp_path, "elsewhere"), home).project is None


def test_without_home_the_account_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    import pwd

    assert find_places("/", {}).home == os.path.realpath(pwd.getpwuid(os.getuid()).pw_dir)
    assert find_places("/", {"HOME": ""}).home == find_places("/", {}).home

    # An account without an entry is what many containers run as.
    monkeypatch.setattr(os, "getuid", lambda: 4_000_000_123)
    assert find_places("/", {}).home == "/"


def test_every_scope_has_its_tool_folders_in_lookup_order(tmp_path: Path, home: Path) -> None:
    app = folder(home, "app")
    folder(app, ".tongs")
    found = places(app, home, TONGS_GLOBAL=str(tmp_path / "etc" / "tongs"))

    assert found.tool_folders(Scope.ANY) == [
        (str(app / ".tongs" / "tools"), "tongs"),
        (str(app / ".cycod" / "tools"), "cycod"),
        (str(app / "kodelet-tools"), "kodelet"),
        (str(app / ".kodelet" / "tools"), "kodelet"),
        (str(app / ".glee" / "tools"), "glee"),
        (str(home / ".tongs" / "tools"), "tongs"),
        (str(home / ".cycod" / "tools"), "cycod"),
        (str(home / ".kodelet" / "tools"), "kodelet"),
        (str(tmp_path / "etc" / "tongs" / "tools"), "tongs"),
        (str(tmp_path / "etc" / "cycod" / "tools"), "cycod"),
    ]
    moved = found.tool_folders(Scope.ANY, global_dir="~/mine", local_dir="./its")
    assert [path for path, family in moved if family == "kodelet"] == [
        str(app / "its"),
        str(home / "mine"),
    ]
    assert found.config_files() == [
        (Scope.GLOBAL, str(tmp_path / "etc" / "tongs" / "config.yml")),
        (Scope.USER, str(home / ".tongs" / "config.yml")),
        (Scope.LOCAL, str(app / ".tongs" / "config.yml")),
    ]


def test_new_tools_go_to_the_scope_they_are_meant_for(tmp_path: Path, home: Path) -> None:
    cwd = folder(home, "plain")
    found = places(cwd, home, TONGS_GLOBAL=str(tmp_path / "g"))

    assert found.root == str(cwd)
    assert found.folder_for_writing(Scope.LOCAL) == str(cwd / ".tongs" / "tools")
    assert found.folder_for_writing(Scope.USER) == str(home / ".tongs" / "tools")
    assert found.folder_for_writing(Scope.GLOBAL) == str(tmp_path / "g" / "tools")
    assert found.tool_folders(Scope.LOCAL) == []


def test_the_state_folder_needs_no_working_directory(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert state_folder({"HOME": str(home)}) == str(home / ".tongs" / "state")
    assert state_folder({"TONGS_HOME": str(home / "x")}) == str(home / "x" / "state")

    monkeypatch.setenv("TONGS_HOME", str(home / "y"))
    assert state_folder() == str(home / "y" / "state")
