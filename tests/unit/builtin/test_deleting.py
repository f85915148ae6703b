"""`delete_file`, `move_file` and the trash."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.unit.builtin.conftest import Scene

from tongs.builtin.trash import Trash
from tongs.core.errors import ErrorCode, ToolError
from tongs.sandbox.beneath import Beneath


def trashed(scene: Scene) -> list[str]:
    with scene.runtime.workspace() as workspace:
        return [entry.path for entry in Trash(workspace).entries()]


def restore(scene: Scene, number: str, to: str | None = None) -> str:
    with scene.runtime.workspace() as workspace:
        return Trash(workspace).restore(number, to)


def test_deleting_always_asks_and_moves_to_the_trash(scene: Scene) -> None:
    (scene.project / "old.txt").write_text("keep me")

    result = scene.call("delete_file", path="old.txt")

    (request,) = scene.person.asked
    assert request.reason == "it deletes, which is always confirmed"
    assert request.preview.splitlines() == [
        "delete old.txt (1 files and folders)",
        "- old.txt",
        "it moves to .tongs/trash: tongs trash restore brings it back",
    ]
    assert result.value["deleted"] == ["old.txt"]
    assert not (scene.project / "old.txt").exists()
    assert restore(scene, result.value["trash"]) == "old.txt"
    assert (scene.project / "old.txt").read_text() == "keep me"
    assert trashed(scene) == []


def test_denied_deleting_changes_nothing(scene: Scene) -> None:
    (scene.project / "old.txt").touch()
    scene.person.approves = False

    assert scene.code("delete_file", path="old.txt") == "APPROVAL_DENIED"
    assert (scene.project / "old.txt").exists()
    assert trashed(scene) == []


def test_folder_goes_with_everything_in_it_only_if_wanted(scene: Scene) -> None:
    (scene.project / "d" / "e").mkdir(parents=True)
    (scene.project / "d" / "e" / "f").touch()
    (scene.project / "d" / "out").symlink_to(scene.outside)

    refused = scene.call("delete_file", path="d")
    result = scene.call("delete_file", path="d", recursive=True)

    assert refused.error is not None
    assert "recursive: true" in refused.error.hint
    assert result.value["deleted"] == ["d", "d/e", "d/e/f", "d/out"]
    assert (scene.outside / "secret").exists()


def test_empty_folder_needs_no_recursive(scene: Scene) -> None:
    (scene.project / "d").mkdir()

    assert scene.call("delete_file", path="d").value["deleted"] == ["d"]


def test_link_is_deleted_and_not_what_it_leads_to(scene: Scene) -> None:
    (scene.project / "real").write_text("stays")
    (scene.project / "link").symlink_to("real")

    assert scene.call("delete_file", path="link").value["deleted"] == ["link"]
    assert (scene.project / "real").read_text() == "stays"


@pytest.mark.parametrize("what", ["file", "folder"])
def test_what_changed_while_it_was_approved_is_not_deleted(scene: Scene, what: str) -> None:
    (scene.project / "folder").mkdir()
    (scene.project / "folder" / "known").touch()
    (scene.project / "file").write_text("agreed on")
    changed = scene.project / ("file" if what == "file" else "folder/new")
    scene.person.meanwhile = lambda: changed.write_text("just written")

    result = scene.call("delete_file", path=what, recursive=True)

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert changed.read_text() == "just written"
    assert trashed(scene) == []


def test_nothing_is_lost_when_the_place_is_taken_before_it_can_go_back(scene: Scene) -> None:
    file = scene.project / "file"
    file.write_text("agreed on")
    scene.person.meanwhile = lambda: file.write_text("changed")
    original = Beneath.rename_new

    def taken(self: Beneath, source: tuple[int, str], target: tuple[int, str]) -> None:
        original(self, source, target)
        if target[1] == "it":
            file.write_text("somebody else's")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beneath, "rename_new", taken)
        result = scene.call("delete_file", path="file")

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert file.read_text() == "somebody else's"
    assert trashed(scene) == ["file"]


def test_folder_with_something_protected_in_it_stays(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongs import Runtime

    monkeypatch.setenv("TONGS_HOME", str(scene.project / "sub" / "user"))
    with Runtime.open(scene.project, single_thread=True) as runtime:
        inside = Scene(scene.project, scene.outside, runtime)

        assert inside.code("delete_file", path="sub", recursive=True) == "PERMISSION_DENIED"
        assert inside.code("move_file", **{"from": "sub", "to": "x"}) == "PERMISSION_DENIED"


@pytest.mark.parametrize(("path", "code"), [("none", "FILE_NOT_FOUND"), (".", "INVALID_PATH")])
def test_delete_names_what_is_wrong(scene: Scene, path: str, code: str) -> None:
    assert scene.code("delete_file", path=path) == code
    assert scene.person.asked == []


def test_trash_is_kept_out_of_version_control(scene: Scene) -> None:
    (scene.project / "x").touch()
    scene.call("delete_file", path="x")

    assert (scene.project / ".tongs" / "trash" / ".gitignore").read_text() == "*\n"


def test_trash_that_leads_elsewhere_is_refused(scene: Scene) -> None:
    (scene.project / ".tongs" / "trash").symlink_to(scene.outside)
    (scene.project / "x").touch()

    assert scene.code("delete_file", path="x") == "INVALID_PATH"
    assert (scene.project / "x").exists()
    assert [path.name for path in scene.outside.iterdir()] == ["secret"]


# --- the trash itself ---------------------------------------------------------------------------


def test_restoring_does_not_overwrite_but_can_go_elsewhere(scene: Scene) -> None:
    (scene.project / "a").mkdir()
    (scene.project / "a" / "x").write_text("old")
    number = scene.call("delete_file", path="a", recursive=True).value["trash"]
    (scene.project / "a").write_text("new")

    with pytest.raises(ToolError) as refused:
        restore(scene, number)

    assert "--to" in refused.value.hint
    assert restore(scene, number, "b/c") == "b/c"
    assert (scene.project / "b" / "c" / "x").read_text() == "old"
    assert (scene.project / "a").read_text() == "new"


@pytest.mark.parametrize("path", ["../out", "/etc/x", ".git/hooks/pre-commit", ".tongs/tools/x"])
def test_path_that_came_with_a_project_is_not_believed(scene: Scene, path: str) -> None:
    planted = scene.project / ".tongs" / "trash" / "20260101-000000-00000000"
    planted.mkdir(parents=True)
    (planted / "it").write_text("evil")
    (planted / "about.json").write_text(json.dumps({"path": path, "deletedAt": "2026"}))

    assert trashed(scene) == [path]
    with pytest.raises(ToolError) as refused:
        restore(scene, planted.name)
    assert refused.value.code in (ErrorCode.INVALID_PATH, ErrorCode.PERMISSION_DENIED)


def test_nonsense_in_the_trash_is_left_out(scene: Scene) -> None:
    folder = scene.project / ".tongs" / "trash"
    for name, about in {"a": "no json", "b": "[]", "c": "{}", "d": None}.items():
        (folder / name).mkdir(parents=True)
        (folder / name / "it").touch()
        if about is not None:
            (folder / name / "about.json").write_text(about)
    (folder / "e").symlink_to(scene.outside)
    (folder / "file").touch()

    assert trashed(scene) == []


def test_emptying_follows_no_link(scene: Scene) -> None:
    (scene.project / "d").mkdir()
    (scene.project / "d" / "out").symlink_to(scene.outside)
    scene.call("delete_file", path="d", recursive=True)

    with scene.runtime.workspace() as workspace:
        trash = Trash(workspace)
        for entry in trash.entries():
            trash.remove(entry)

    assert trashed(scene) == []
    assert (scene.outside / "secret").exists()


def test_very_deep_folder_goes_and_comes_back(scene: Scene) -> None:
    folder = os.open(scene.project, os.O_RDONLY)
    for _ in range(1500):
        os.mkdir("d", dir_fd=folder)
        below = os.open("d", os.O_RDONLY, dir_fd=folder)
        os.close(folder)
        folder = below
    os.close(folder)

    listed = scene.call("list_directory", path=".", recursive=True)
    searched = scene.call("search_files", glob=["x"])
    deleted = scene.call("delete_file", path="d", recursive=True)

    assert len(listed.value["entries"]) > 150
    assert "cannot be looked into" in listed.warnings[0]
    assert searched.ok
    assert deleted.value["deleted"][0] == "d"
    assert restore(scene, deleted.value["trash"]) == "d"
    subprocess.run(["rm", "-r", "d"], cwd=scene.project, check=True)


# --- move_file ----------------------------------------------------------------------------------


def test_moving_to_a_free_place_asks_nobody(scene: Scene) -> None:
    (scene.project / "a").write_text("x")
    (scene.project / "d").mkdir()

    result = scene.call("move_file", **{"from": "a", "to": "d/b"})

    assert (result.value, result.output) == ({"from": "a", "to": "d/b"}, "moved a to d/b\n")
    assert (scene.project / "d" / "b").read_text() == "x"
    assert scene.person.asked == []


def test_overwriting_needs_the_word_and_a_yes_and_can_be_undone(scene: Scene) -> None:
    (scene.project / "a").write_text("new")
    (scene.project / "b").write_text("old")

    refused = scene.call("move_file", **{"from": "a", "to": "b"})
    result = scene.call("move_file", **{"from": "a", "to": "b", "overwrite": True})

    assert refused.error is not None
    assert refused.error.hint == "overwrite: true replaces it"
    (request,) = scene.person.asked
    assert "the file that is there moves to .tongs/trash" in request.preview
    assert (scene.project / "b").read_text() == "new"
    assert restore(scene, result.value["trash"], "old") == "old"
    assert (scene.project / "old").read_text() == "old"


def test_target_that_changed_meanwhile_stays(scene: Scene) -> None:
    (scene.project / "a").write_text("new")
    (scene.project / "b").write_text("old")
    scene.person.meanwhile = lambda: (scene.project / "b").write_text("other")

    result = scene.call("move_file", **{"from": "a", "to": "b", "overwrite": True})

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert (scene.project / "a").read_text() == "new"
    assert (scene.project / "b").read_text() == "other"


def test_overwritten_file_comes_back_when_the_source_went_away(scene: Scene) -> None:
    (scene.project / "a").write_text("new")
    (scene.project / "b").write_text("old")
    scene.person.meanwhile = (scene.project / "a").unlink

    result = scene.call("move_file", **{"from": "a", "to": "b", "overwrite": True})

    assert result.error is not None
    assert result.error.code is ErrorCode.FILE_NOT_FOUND
    assert (scene.project / "b").read_text() == "old"


@pytest.mark.parametrize(
    ("source", "target", "code"),
    [
        ("none", "x", "FILE_NOT_FOUND"),
        ("file", "none/x", "FILE_NOT_FOUND"),
        ("file", "file", "INVALID_PATH"),
        ("folder", "folder/inner", "INVALID_PATH"),
        ("file", "folder", "INVALID_PATH"),
        (".", "x", "INVALID_PATH"),
        ("file", "file/x", "INVALID_PATH"),
    ],
)
def test_move_names_what_is_wrong(scene: Scene, source: str, target: str, code: str) -> None:
    (scene.project / "folder").mkdir()
    (scene.project / "file").write_text("x")

    arguments = {"from": source, "to": target, "overwrite": True}
    assert scene.code("move_file", **arguments) == code
    assert (scene.project / "file").read_text() == "x"


def test_other_file_system_is_named(scene: Scene, tmp_path: Path) -> None:
    (scene.project / "a").write_text("x")

    def elsewhere(*_: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tongs.sandbox.beneath.Beneath.rename_new", elsewhere)
        moved = scene.call("move_file", **{"from": "a", "to": "b"})
        deleted = scene.call("delete_file", path="a")

    for result in (moved, deleted):
        assert result.error is not None
        assert result.error.code is ErrorCode.EXECUTION_ERROR
        assert "another file system" in result.error.message
    assert (scene.project / "a").read_text() == "x"
    assert os.listdir(scene.project / ".tongs" / "trash") == [".gitignore"]
