"""Where a path leads, for every file tool: inside, or nowhere."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.thorough import THOROUGH
from tests.unit.builtin.conftest import Scene

from tongs.core.call import Caller, CallerKind
from tongs.core.errors import BlockedBy, ErrorCode
from tongs.core.permissions import Permissions

BLNS: list[str] = json.loads((Path(__file__).parents[2] / "data/blns.json").read_text("utf-8"))
# The last one is from a rule about files with passwords.
REFUSED = {"INVALID_PATH", "FILE_NOT_FOUND", "PERMISSION_DENIED", "EXECUTION_ERROR", "DENIED"}

# A call of each tool that names a path, with that path filled in.
CALLS: dict[str, Callable[[str], tuple[str, dict[str, object]]]] = {
    "list": lambda path: ("list_directory", {"path": path}),
    "read": lambda path: ("read_file", {"path": path}),
    "write": lambda path: ("write_file", {"path": path, "content": "x", "createDirs": True}),
    "edit": lambda path: ("edit_file", {"path": path, "oldText": "secret", "newText": "x"}),
    "delete": lambda path: ("delete_file", {"path": path, "recursive": True}),
    "move from": lambda path: ("move_file", {"from": path, "to": "moved"}),
    "move to": lambda path: ("move_file", {"from": "mine", "to": path, "overwrite": True}),
    "search": lambda path: ("search_files", {"path": path, "pattern": "secret"}),
}


@pytest.fixture(params=sorted(CALLS))
def named(request: pytest.FixtureRequest) -> Callable[[str], tuple[str, dict[str, object]]]:
    return CALLS[request.param]


def seen(folder: Path) -> list[tuple[str, bytes]]:
    """Everything in a folder, with what it holds; without the record that Tongs keeps there."""
    return sorted(
        (str(path), path.read_bytes() if path.is_file() else b"")
        for path in folder.rglob("*")
        if ".tongs/audit" not in str(path) and path.name != ".gitignore"
    )


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret",
        "../outside",
        "a/../../outside/secret",
        "./../project/../outside/secret",
        "..",
        "/etc/passwd",
        "//etc/passwd",
        "/",
        "~/secret",
        "~",
        "",
        "mine\0/../secret",
        "\ud800",
        "x" * 300,
        "x/" * 3000,
        "link-to-file",
        "link-to-folder/secret",
        "relative-link",
        "chain-0",
        "inner/up/up/outside/secret",
        "loop",
        "/proc/self/root/etc/passwd",
        "magic/passwd",
    ],
)
def test_nothing_outside_is_reached(
    scene: Scene, named: Callable[[str], tuple[str, dict[str, object]]], path: str
) -> None:
    (scene.project / "mine").write_text("mine")
    (scene.project / "inner").mkdir()
    for name, target in {
        "link-to-file": scene.outside / "secret",
        "link-to-folder": scene.outside,
        "relative-link": "../outside/secret",
        "inner/up": "../..",
        "loop": "loop",
        "magic": "/proc/self/root/etc",
        "chain-9": scene.outside / "secret",
        **{f"chain-{n}": f"chain-{n + 1}" for n in range(9)},
    }.items():
        (scene.project / name).symlink_to(target)
    before = seen(scene.outside)

    name, arguments = named(path)
    result = scene.call(name, **arguments)

    assert seen(scene.outside) == before
    if result.error is None:
        # Only the link itself may have been touched: it is a file of the workspace.
        assert name in ("delete_file", "move_file")
        assert os.path.basename(path) in ("link-to-file", "relative-link", "chain-0", "loop")
    else:
        assert str(result.error.code) in {*REFUSED, "INVALID_ARGUMENTS"}
        assert "secret" not in result.output


def test_hostile_names_are_files_like_others_or_refused(scene: Scene) -> None:
    before = seen(scene.outside)
    hostile = BLNS if THOROUGH else BLNS[::3]
    names = [text for text in hostile if text]
    made = 0

    for text in names:
        written = scene.call("write_file", path=text, content=text, createDirs=True)
        if written.error is not None:
            refused = {ErrorCode.INVALID_PATH, ErrorCode.PERMISSION_DENIED}
            assert written.error.code in refused, (text, written.error)
            continue
        made += 1
        read = scene.call("read_file", path=text)
        assert (read.error, read.output) == (None, text)
        assert scene.code("delete_file", path=written.value["path"]) is None
    for text in hostile:
        for name in ("list_directory", "read_file", "delete_file"):
            assert scene.code(name, path=text) in {None, *REFUSED}

    assert made > 0.7 * len(names)
    assert seen(scene.outside) == before
    assert not any(os.scandir(scene.project.parent / "home"))


def test_links_inside_are_followed(scene: Scene) -> None:
    (scene.project / "deep" / "er").mkdir(parents=True)
    (scene.project / "deep" / "er" / "file").write_text("found")
    (scene.project / "short").symlink_to("deep/er")
    (scene.project / "whole").symlink_to(scene.project / "deep")
    (scene.project / "deep" / "er" / "up").symlink_to("../er/file")

    paths = ["short/file", "whole/er/file", "short/up", "short/../er/file", "./deep//er/./file"]
    outputs = {path: scene.call("read_file", path=path).output for path in paths}

    assert outputs == dict.fromkeys(paths, "found")


def test_absolute_path_inside_is_accepted(scene: Scene) -> None:
    (scene.project / "file").write_text("found")

    result = scene.call("read_file", path=str(scene.project / "file"))

    assert result.output == "found"


def test_writing_through_a_link_reaches_its_end_and_keeps_the_link(scene: Scene) -> None:
    (scene.project / "real").write_text("old")
    (scene.project / "link").symlink_to("real")

    result = scene.call("write_file", path="link", content="new")

    assert result.value == {"path": "real", "size": 3}
    assert (scene.project / "link").is_symlink()
    assert (scene.project / "real").read_text() == "new"


@pytest.mark.parametrize("kind", ["pipe", "socket", "device"])
def test_what_is_no_plain_file_is_refused_and_nothing_waits_for_it(scene: Scene, kind: str) -> None:
    path = scene.project / kind
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
    else:
        path.symlink_to("/dev/zero")

    assert scene.code("read_file", path=kind) == "INVALID_PATH"
    assert scene.code("write_file", path=kind, content="x") == "INVALID_PATH"
    assert scene.code("edit_file", path=kind, oldText="a", newText="b") == "INVALID_PATH"
    assert scene.call("search_files", pattern=".").value["files"] == []


PROTECTED = [
    ".tongs/config.yml",
    ".tongs/tools/x.yaml",
    ".tongs/trash/x",
    ".git/hooks/pre-commit",
    ".git/config",
    ".git",
    ".Git/hooks/pre-commit",
    "sub/.git/hooks/post-checkout",
    ".cycod/tools/x.yaml",
    ".kodelet/tools/x",
    "kodelet-tools/x",
    ".glee/tools/x/tool.yml",
    ".mcp.json",
    ".vscode/tasks.json",
    ".idea/x",
    "hooks-link/pre-commit",
]


@pytest.mark.parametrize("path", PROTECTED)
def test_what_decides_what_runs_later_cannot_be_changed(scene: Scene, path: str) -> None:
    (scene.project / ".git" / "hooks").mkdir(parents=True)
    (scene.project / "hooks-link").symlink_to(".git/hooks")
    (scene.project / "mine").write_text("mine")
    before = seen(scene.project)

    write = {"path": path, "content": "x", "createDirs": True}
    results = [
        scene.call("write_file", **write),
        scene.call("move_file", **{"from": "mine", "to": path, "overwrite": True}),
    ]

    for result in results:
        assert result.error is not None
        assert result.error.code is ErrorCode.PERMISSION_DENIED
        assert result.error.blocked_by is BlockedBy.PERMISSION
    assert seen(scene.project) == before
    assert scene.person.asked == []


REPOSITORY = {
    "HEAD": "ref: refs/heads/main\n",
    "objects/info/packs": "",
    "refs/heads/none": "",
    "config": "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
    "\tfsmonitor = touch executed\n",
}


def _look_with_git(folder: Path) -> bool:
    """What a person does who comes by; whether something ran that the files asked for."""
    environment = {"PATH": os.environ["PATH"], "HOME": "/", "GIT_CONFIG_NOSYSTEM": "1"}
    words = ["git", "-c", "safe.bareRepository=all", "status"]
    subprocess.run(words, cwd=folder, env=environment, capture_output=True, check=False)
    return (folder / "executed").exists()


@pytest.mark.parametrize("folder", ["", "sub/deep/"])
@pytest.mark.parametrize("last", list(REPOSITORY))
@pytest.mark.parametrize("by", ["write_file", "move_file"])
def test_no_order_of_ordinary_files_makes_a_folder_a_repository(
    scene: Scene, folder: str, last: str, by: str
) -> None:
    top = scene.project / folder
    top.mkdir(parents=True, exist_ok=True)
    refused = []
    for path in sorted(REPOSITORY, key=lambda path: path == last):
        first = path.partition("/")[0]
        where = folder if by == "write_file" else f"made-{first}/"
        write = {"path": where + path, "content": REPOSITORY[path], "createDirs": True}
        result = scene.call("write_file", **write)
        if by == "move_file":
            result = scene.call("move_file", **{"from": where + first, "to": folder + first})
        if not result.ok:
            assert result.error is not None
            assert result.error.code is ErrorCode.PERMISSION_DENIED
            assert "a git repository" in result.error.message
            refused.append(path)

    assert refused
    assert not _look_with_git(top)


def test_the_same_files_written_by_anybody_else_make_git_run_something(tmp_path: Path) -> None:
    for path, text in REPOSITORY.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)

    assert _look_with_git(tmp_path)


def test_the_folder_of_others_does_not_complete_a_repository(scene: Scene) -> None:
    (scene.project / "HEAD").write_text("ref: refs/heads/main\n")

    assert scene.code("write_file", path="commondir", content="other") == "PERMISSION_DENIED"


def test_a_bare_repository_of_the_person_is_protected_and_what_lies_beside_is_not(
    scene: Scene,
) -> None:
    subprocess.run(["git", "init", "-q", "--bare", str(scene.project / "own")], check=True)

    edit = {"path": "own/config", "oldText": "bare = true", "newText": "bare = false"}
    assert scene.code("edit_file", **edit) == "PERMISSION_DENIED"
    assert scene.code("write_file", path="own/hooks/update", content="x") == "PERMISSION_DENIED"
    assert scene.code("delete_file", path="own/HEAD") == "PERMISSION_DENIED"
    assert scene.call("write_file", path="own/notes.txt", content="x").ok


def test_ordinary_files_with_these_names_are_ordinary(scene: Scene) -> None:
    for path in ("config", "HEAD", "sub/objects/config", "sub/refs/HEAD", "sub/hooks/x"):
        assert scene.call("write_file", path=path, content="x", createDirs=True).ok


@pytest.mark.parametrize("path", [".git", ".tongs", ".tongs/tools", "."])
def test_protected_folders_are_neither_deleted_nor_moved(scene: Scene, path: str) -> None:
    (scene.project / ".git" / "hooks").mkdir(parents=True)

    refused = {"PERMISSION_DENIED", "INVALID_PATH"}
    assert scene.code("delete_file", path=path, recursive=True) in refused
    assert scene.code("move_file", **{"from": path, "to": "elsewhere"}) in refused
    assert (scene.project / ".git" / "hooks").is_dir()


def test_state_of_tongs_is_not_read_even_inside_the_workspace(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongs import Runtime

    monkeypatch.setenv("TONGS_HOME", str(scene.project / "mine"))
    with Runtime.open(scene.project, single_thread=True) as runtime:
        inside = Scene(scene.project, scene.outside, runtime)
        (scene.project / "mine" / "state" / "key").write_text("secret")

        result = inside.call("read_file", path="mine/state/key")
        written = inside.code("write_file", path="mine/config.yml", content="x")

    assert result.error is not None
    assert (result.error.code, written) == (ErrorCode.PERMISSION_DENIED, "PERMISSION_DENIED")


def test_ceiling_of_a_caller_holds_and_its_line_is_named(scene: Scene) -> None:
    for folder in ("open", "closed"):
        (scene.project / folder).mkdir()
        (scene.project / folder / "file").write_text("text")
    (scene.project / "open" / "link").symlink_to("../closed/file")
    ceiling = Permissions(read=(str(scene.project / "open"),))
    caller = Caller(CallerKind.TOOL, "outer", ("outer",), ceiling, level="write")

    fine = scene.call("read_file", caller, path="open/file")
    refused = [
        scene.call("read_file", caller, path="closed/file"),
        scene.call("read_file", caller, path="open/link"),
        scene.call("write_file", caller, path="open/new", content="x"),
    ]

    assert fine.output == "text"
    for result in refused:
        assert result.error is not None
        assert result.error.code is ErrorCode.PERMISSION_DENIED
        assert result.error.blocked_by is BlockedBy.CEILING
        assert "in the definition of outer: permissions: {fs:" in result.error.hint


def test_a_home_directory_as_workspace_grants_nothing_and_says_the_line(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tongs import Runtime

    home = scene.project.parent / "home"
    (home / "key").write_text("secret")
    with Runtime.open(home, single_thread=True) as runtime:
        result = Scene(home, scene.outside, runtime).call("read_file", path="key")

    assert result.error is not None
    assert result.error.code is ErrorCode.PERMISSION_DENIED
    assert "tools: {read_file: {permissions: {fs: {read: [key]}}}}" in result.error.hint
