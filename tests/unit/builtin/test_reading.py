"""`read_file` and `list_directory`: bounded, in pages, and clear about what they cannot do."""

from __future__ import annotations

import base64
import os
import re

import pytest
from tests.unit.builtin.conftest import AGENT, Scene

from tongs.core.call import ToolCall
from tongs.core.errors import ErrorCode
from tongs.core.result import ToolResult
from tongs.sandbox.beneath import Beneath

MOST = 1024 * 1024
ISO = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_read_gives_the_text_and_its_facts_without_a_question(scene: Scene) -> None:
    file = scene.project / "a.txt"
    file.write_bytes("zwei\r\nzeilen ü\n".encode())
    os.utime(file, ns=(10**18, 10**18 + 5_000_000))

    result = scene.call("read_file", path="a.txt")

    assert result.output == "zwei\r\nzeilen ü\n"
    assert result.value == {
        "content": "zwei\r\nzeilen ü\n",
        "size": 16,
        "modified": "2001-09-09T01:46:40.005Z",
    }
    assert scene.person.asked == []


def test_base64_gives_any_bytes(scene: Scene) -> None:
    data = os.urandom(1000)
    (scene.project / "raw").write_bytes(data)

    result = scene.call("read_file", path="raw", encoding="base64")

    assert base64.b64decode(result.value["content"]) == data


@pytest.mark.parametrize(("data", "offset"), [(b"ab\0c", 2), (b"ab\xffc", 2)])
def test_binary_is_refused_with_the_way_to_read_it(scene: Scene, data: bytes, offset: int) -> None:
    (scene.project / "raw").write_bytes(data)

    result = scene.call("read_file", path="raw")

    assert result.error is not None
    assert (result.error.code, result.error.details["offset"], result.error.hint) == (
        ErrorCode.EXECUTION_ERROR,
        offset,
        "read it with encoding: base64",
    )


def test_one_megabyte_is_read_and_one_byte_more_is_not(scene: Scene) -> None:
    (scene.project / "most").write_bytes(b"x" * MOST)
    (scene.project / "more").write_bytes(b"x" * (MOST + 1))

    assert scene.call("read_file", path="most").value["size"] == MOST
    result = scene.call("read_file", path="more")

    assert result.error is not None
    assert "startLine" in result.error.hint


def test_lines_are_read_from_a_file_of_any_size(scene: Scene) -> None:
    with (scene.project / "large").open("w") as file:
        file.writelines(f"line {number}\n" for number in range(1, 400_001))

    some = scene.call("read_file", path="large", startLine=399_999, endLine=500_000)
    first = scene.call("read_file", path="large", endLine=2)

    assert some.output == "line 399999\nline 400000\n"
    assert (some.value["startLine"], some.value["endLine"]) == (399_999, 400_000)
    assert (first.output, first.value["startLine"]) == ("line 1\nline 2\n", 1)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"startLine": 4}, "INVALID_ARGUMENTS"),
        ({"startLine": 3, "endLine": 2}, "INVALID_ARGUMENTS"),
        ({"startLine": 0}, "INVALID_ARGUMENTS"),
        ({"startLine": 1, "encoding": "base64"}, "INVALID_ARGUMENTS"),
        ({"encoding": "latin-1"}, "INVALID_ARGUMENTS"),
        ({"path": "none"}, "FILE_NOT_FOUND"),
        ({"path": "three/none"}, "INVALID_PATH"),
        ({"path": "."}, "INVALID_PATH"),
    ],
)
def test_read_refuses(scene: Scene, arguments: dict[str, object], code: str) -> None:
    (scene.project / "three").write_text("1\n2\n3\n")

    assert scene.code("read_file", **{"path": "three", **arguments}) == code


def test_lines_that_are_too_much_are_refused(scene: Scene) -> None:
    (scene.project / "long").write_bytes(b"x" * (2 * MOST))
    (scene.project / "many").write_bytes((b"x" * 1000 + b"\n") * 2000)

    assert scene.code("read_file", path="long", endLine=1) == "EXECUTION_ERROR"
    assert scene.code("read_file", path="many", endLine=2000) == "EXECUTION_ERROR"


def test_missing_file_names_the_nearest(scene: Scene) -> None:
    (scene.project / "src").mkdir()
    (scene.project / "src" / "parser.py").touch()

    result = scene.call("read_file", path="src/parsre.py")

    assert result.error is not None
    assert result.error.details["nearest"] == ["src/parser.py"]
    assert result.error.hint == "did you mean src/parser.py?"


def test_file_without_the_right_to_read_is_permission_denied(scene: Scene) -> None:
    """Root may read everything, so the answer of the kernel is given by hand there."""
    (scene.project / "mine").write_text("x")
    (scene.project / "mine").chmod(0)
    original = Beneath.open

    def refused(self: Beneath, folder: int, path: str, flags: int, mode: int = 0) -> int:
        if path == "mine":
            raise PermissionError(13, "Permission denied")
        return original(self, folder, path, flags, mode)

    with pytest.MonkeyPatch.context() as patch:
        if os.geteuid() == 0:
            patch.setattr(Beneath, "open", refused)
        code = scene.code("read_file", path="mine")

    assert code == "PERMISSION_DENIED"


# --- list_directory -----------------------------------------------------------------------------


def names(result: ToolResult) -> list[str]:
    return [entry["name"] for entry in result.value["entries"]]


@pytest.fixture
def tree(scene: Scene) -> Scene:
    (scene.project / "b" / "c").mkdir(parents=True)
    (scene.project / "b" / "c" / "deep.txt").write_text("deep")
    (scene.project / "b" / ".hidden").touch()
    (scene.project / "a.txt").write_text("hello")
    (scene.project / "link").symlink_to("b")
    (scene.project / "z.txt").touch()
    return scene


def test_list_shows_one_level_without_hidden_names(tree: Scene) -> None:
    result = tree.call("list_directory", path=".")

    assert [(e["name"], e["type"]) for e in result.value["entries"]] == [
        ("a.txt", "file"),
        ("b", "directory"),
        ("link", "symlink"),
        ("z.txt", "file"),
    ]
    assert result.value["entries"][0]["size"] == 5
    assert all(ISO.fullmatch(e["modified"]) for e in result.value["entries"])
    assert [line.split()[-1] for line in result.output.splitlines()] == [
        "a.txt",
        "b/",
        "link@",
        "z.txt",
    ]
    assert tree.person.asked == []


def test_list_goes_down_but_through_no_link(tree: Scene) -> None:
    assert names(tree.call("list_directory", path=".", recursive=True)) == [
        "a.txt",
        "b",
        "b/c",
        "b/c/deep.txt",
        "link",
        "z.txt",
    ]
    assert names(tree.call("list_directory", path="b", recursive=True, includeHidden=True)) == [
        ".hidden",
        "c",
        "c/deep.txt",
    ]


def test_list_files_of_seed_001_is_the_same_tool(tree: Scene) -> None:
    assert names(tree.call("list_files", path="b")) == ["c"]


def test_pages_together_are_the_whole_list(tree: Scene) -> None:
    for number in range(25):
        (tree.project / "b" / f"f{number:02}").touch()
    whole = names(tree.call("list_directory", path=".", recursive=True, includeHidden=True))

    pages: list[str] = []
    arguments: dict[str, object] = {"path": ".", "recursive": True, "includeHidden": True}
    for _ in range(100):
        result = tree.call("list_directory", **arguments, limit=4)
        pages += names(result)
        if "cursor" not in result.value:
            break
        arguments["cursor"] = result.value["cursor"]

    # The record of the calls themselves is written between the pages.
    kept = [name for name in pages if not name.startswith(".tongs")]
    assert kept == [name for name in whole if not name.startswith(".tongs")]


def test_cursor_whose_entry_is_gone_goes_on_after_it(tree: Scene) -> None:
    first = tree.call("list_directory", path=".", limit=1)
    (tree.project / "a.txt").unlink()

    rest = tree.call("list_directory", path=".", cursor=first.value["cursor"])

    assert names(rest) == ["b", "link", "z.txt"]


def test_large_folder_is_bounded(scene: Scene) -> None:
    for number in range(3000):
        (scene.project / f"f{number:04}").touch()

    result = scene.call("list_directory", path=".")

    assert len(result.value["entries"]) == 1000
    assert result.value["cursor"] == "f0999"
    assert result.output.endswith("there is more: cursor: f0999\n")


def test_pipes_are_counted_and_not_listed(scene: Scene) -> None:
    os.mkfifo(scene.project / "pipe")

    result = scene.call("list_directory", path=".")

    assert names(result) == []
    assert result.warnings == ("1 pipes, sockets or devices are not listed",)


def test_list_stops_when_the_time_is_over(scene: Scene) -> None:
    for number in range(300):
        (scene.project / f"d{number}").mkdir()
    call = ToolCall("1", "list_directory", {"path": ".", "recursive": True}, AGENT)

    result = scene.runtime.run_sync(call, timeout=0.0)

    assert result.error is not None
    assert result.error.code is ErrorCode.TIMEOUT


@pytest.mark.parametrize(
    ("path", "code"), [("a.txt", "INVALID_PATH"), ("none", "FILE_NOT_FOUND"), ("b", None)]
)
def test_list_names_what_is_wrong(tree: Scene, path: str, code: str | None) -> None:
    assert tree.code("list_directory", path=path) == code
