"""Changing files: what is decided is what is done, whatever happens in between."""

from __future__ import annotations

import asyncio
import base64
import os
import stat
from pathlib import Path

import pytest
from tests.unit.builtin.conftest import AGENT, Scene

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.errors import ErrorCode
from tongs.sandbox.beneath import Beneath


def parts_left(project: Path) -> list[str]:
    return [str(path) for path in project.rglob("*.part")]


def test_new_file_is_written_without_a_question(scene: Scene) -> None:
    result = scene.call("write_file", path="new.txt", content="héllo")

    assert result.value == {"path": "new.txt", "size": 6}
    assert result.output == "created new.txt: 6 bytes written\n"
    assert (scene.project / "new.txt").read_text("utf-8") == "héllo"
    assert scene.person.asked == []


def test_overwriting_asks_and_shows_the_difference(scene: Scene) -> None:
    (scene.project / "report.md").write_text("one\ntwo\nthree\n")

    result = scene.call("write_file", path="report.md", content="one\n2\nthree\n")

    (request,) = scene.person.asked
    assert (request.rule, request.reason) == (
        "approval.required",
        "it overwrites a file that is there",
    )
    assert request.preview.splitlines()[:2] == [
        "overwrite report.md with 12 bytes",
        "- 1 lines + 1 lines",
    ]
    assert "-two\n+2" in request.preview
    assert result.ok
    assert (scene.project / "report.md").read_text() == "one\n2\nthree\n"


def test_denied_overwriting_changes_nothing(scene: Scene) -> None:
    (scene.project / "report.md").write_text("mine")
    scene.person.approves = False

    assert scene.code("write_file", path="report.md", content="x") == "APPROVAL_DENIED"
    assert (scene.project / "report.md").read_text() == "mine"


def test_nobody_to_ask_means_no_overwriting(scene: Scene) -> None:
    (scene.project / "report.md").write_text("mine")
    call = ToolCall("1", "write_file", {"path": "report.md", "content": "x"}, AGENT)

    result = scene.runtime.run_sync(call)

    assert result.error is not None
    assert result.error.code is ErrorCode.APPROVAL_DENIED
    assert (scene.project / "report.md").read_text() == "mine"


def test_person_who_types_is_asked_before_overwriting_unless_they_agreed(scene: Scene) -> None:
    (scene.project / "report.md").write_text("mine")
    arguments = {"path": "report.md", "content": "x"}

    scene.call("write_file", Caller(CallerKind.PERSON, "user"), **arguments)
    scene.call("write_file", Caller(CallerKind.PERSON, "user", agreed=True), **arguments)

    assert len(scene.person.asked) == 1


@pytest.mark.parametrize("how", ["content", "replaced", "removed", "link", "mode"])
def test_file_that_changed_while_it_was_approved_is_left_alone(scene: Scene, how: str) -> None:
    file = scene.project / "report.md"
    file.write_text("agreed on")

    def meanwhile() -> None:
        if how == "content":
            times = file.stat().st_mtime_ns
            file.write_text("other txt")  # as long, and made to look as old
            os.utime(file, ns=(times, times))
        elif how == "mode":
            file.chmod(0o700)
        else:
            file.unlink()
        if how == "replaced":
            file.write_text("agreed on")
        elif how == "link":
            file.symlink_to(scene.outside / "secret")

    scene.person.meanwhile = meanwhile
    result = scene.call("write_file", path="report.md", content="new")

    assert result.error is not None
    if how == "link":
        assert result.error.code is ErrorCode.INVALID_PATH
    else:
        assert result.error.details["changed"] is True
    assert not file.exists() or file.read_text() != "new"
    assert (scene.outside / "secret").read_text() == "secret"
    assert parts_left(scene.project) == []


def test_file_that_appears_after_the_decision_is_not_overwritten(scene: Scene) -> None:
    """Nobody was asked, since there was nothing; so nothing may be replaced."""
    from tongs.pipeline import at_stake

    parts = scene.runtime._parts
    tool = scene.runtime.find("write_file")
    call = ToolCall("1", "write_file", {"path": "new", "content": "x"}, AGENT)
    call = ToolCall("1", "write_file", parts.validate(tool, call.arguments), AGENT)
    decided = at_stake(call, tool, parts.allow(call, tool), parts)
    assert decided.at_stake == ""

    # The tool itself waits between the decision and the act.
    original = Beneath.rename_new

    def late(self: Beneath, source: tuple[int, str], target: tuple[int, str]) -> None:
        (scene.project / "new").write_text("somebody else's")
        original(self, source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beneath, "rename_new", late)
        result = scene.call("write_file", path="new", content="x")

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert (scene.project / "new").read_text() == "somebody else's"
    assert parts_left(scene.project) == []


def test_last_moment_change_is_swapped_back(scene: Scene) -> None:
    file = scene.project / "file"
    file.write_text("agreed on")
    original = Beneath.exchange

    def late(self: Beneath, left: tuple[int, str], right: tuple[int, str]) -> bool:
        if file.read_text() == "agreed on":
            file.write_text("somebody else's")
        return original(self, left, right)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beneath, "exchange", late)
        result = scene.call("write_file", path="file", content="new")

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert file.read_text() == "somebody else's"
    assert parts_left(scene.project) == []


def test_edited_arguments_are_looked_at_again(scene: Scene) -> None:
    (scene.project / "one").write_text("1")
    (scene.project / "two").write_text("2")
    scene.person.edits = {"path": "two", "content": "new"}

    result = scene.call("write_file", path="one", content="new")

    assert result.value == {"path": "two", "size": 3}
    assert (scene.project / "one").read_text() == "1"


def test_edited_path_to_something_protected_is_refused(scene: Scene) -> None:
    (scene.project / "one").write_text("1")
    scene.person.edits = {"path": ".git/config", "content": "new"}

    assert scene.code("write_file", path="one", content="new") == "PERMISSION_DENIED"


def test_approval_is_bound_to_what_is_replaced(scene: Scene) -> None:
    file = scene.project / "file"
    digests = []
    for content in ("one", "two", "two"):
        file.write_text(content)
        scene.call("write_file", path="file", content="new")
        digests.append(scene.person.asked[-1].digest)
    file.write_text("two")
    scene.person.approves = False
    for _ in range(2):
        scene.call("write_file", path="file", content="new")

    assert len(set(digests)) == 3  # each was another file
    assert scene.person.asked[-1].digest == scene.person.asked[-2].digest


def test_mode_is_kept_and_special_bits_are_not(scene: Scene) -> None:
    file = scene.project / "script"
    file.write_text("old")
    file.chmod(0o4750)

    scene.call("write_file", path="script", content="new")

    assert stat.S_IMODE(file.stat().st_mode) == 0o750


def test_other_names_of_a_file_keep_the_old_content(scene: Scene) -> None:
    (scene.outside / "original").write_text("original")
    os.link(scene.outside / "original", scene.project / "copy")

    assert scene.code("write_file", path="copy", content="new") is None
    assert scene.code("edit_file", path="copy", oldText="new", newText="newer") is None

    assert (scene.outside / "original").read_text() == "original"


def test_base64_writes_bytes_and_wrong_base64_is_refused(scene: Scene) -> None:
    data = bytes(range(256))
    content = base64.b64encode(data).decode()

    result = scene.call("write_file", path="raw", content=content, encoding="base64")
    wrong = scene.code("write_file", path="raw2", content="not base64!", encoding="base64")

    assert result.value == {"path": "raw", "size": 256}
    assert (scene.project / "raw").read_bytes() == data
    assert wrong == "INVALID_ARGUMENTS"


def test_missing_folders_are_made_only_when_wanted(scene: Scene) -> None:
    refused = scene.call("write_file", path="a/b/c.txt", content="x")
    made = scene.call("write_file", path="a/b/c.txt", content="x", createDirs=True)

    assert refused.error is not None
    assert (refused.error.code, refused.error.hint) == (
        ErrorCode.FILE_NOT_FOUND,
        "createDirs: true makes it",
    )
    assert made.value == {"path": "a/b/c.txt", "size": 1}


@pytest.mark.parametrize("path", ["folder", "folder/", ".", "file/x"])
def test_what_cannot_be_a_file_is_refused(scene: Scene, path: str) -> None:
    (scene.project / "folder").mkdir()
    (scene.project / "file").touch()

    assert scene.code("write_file", path=path, content="x") == "INVALID_PATH"


def test_full_disk_leaves_the_old_file(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    file = scene.project / "file"
    file.write_text("old")

    write = os.write

    def full(descriptor: int, data: bytes) -> int:
        if bytes(data) == b"new":  # the record of the call is on another disk
            raise OSError(28, "No space left on device")
        return write(descriptor, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tongs.builtin.replacing.os.write", full)
        code = scene.code("write_file", path="file", content="new")

    assert code == "EXECUTION_ERROR"
    assert file.read_text() == "old"
    assert parts_left(scene.project) == []


def test_file_system_without_exchange_still_compares_before_it_replaces(scene: Scene) -> None:
    file = scene.project / "file"
    file.write_text("old")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Beneath, "exchange", lambda *_: False)
        fine = scene.code("write_file", path="file", content="new")
        scene.person.meanwhile = lambda: file.write_text("other")
        refused = scene.call("write_file", path="file", content="newer")

    assert fine is None
    assert refused.error is not None
    assert refused.error.details["changed"] is True
    assert file.read_text() == "other"


def test_async_calls_work_alike(scene: Scene) -> None:
    async def both() -> list[bool]:
        calls = [scene.runtime.call("write_file", path=f"f{n}", content="x") for n in range(8)]
        return [result.ok for result in await asyncio.gather(*calls)]

    assert asyncio.run(both()) == [True] * 8


# --- edit_file ----------------------------------------------------------------------------------


def test_edit_replaces_exactly_one_and_asks_with_the_difference(scene: Scene) -> None:
    (scene.project / "code.py").write_text("a = 1\nb = 2\nc = 1\n")

    result = scene.call("edit_file", path="code.py", oldText="b = 2", newText="b = 3")

    assert result.value == {"path": "code.py", "replaced": 1, "lines": [2], "size": 18}
    assert "-b = 2\n+b = 3" in result.output
    (request,) = scene.person.asked
    assert request.reason == "it changes a file that is there"
    assert "-b = 2\n+b = 3" in request.preview


def test_edit_of_text_found_more_often_says_where(scene: Scene) -> None:
    (scene.project / "code.py").write_text("x = 1\ny = 2\nx = 1\n")

    result = scene.call("edit_file", path="code.py", oldText="x = 1", newText="x = 3")
    both = scene.call(
        "edit_file", path="code.py", oldText="x = 1", newText="x = 3", expectedCount=2
    )

    assert result.error is not None
    assert result.error.details["lines"] == [1, 3]
    assert "expectedCount: 2" in result.error.hint
    assert both.value["lines"] == [1, 3]
    assert (scene.project / "code.py").read_text() == "x = 3\ny = 2\nx = 3\n"
    assert len(scene.person.asked) == 1  # not about what would not be done


def test_edit_of_text_that_is_not_there_shows_the_nearest(scene: Scene) -> None:
    (scene.project / "code.py").write_text("def main():\n    return compute(1)\n")

    result = scene.call("edit_file", path="code.py", oldText="   return compute(2)", newText="pass")

    assert result.error is not None
    assert result.error.code is ErrorCode.EXECUTION_ERROR
    assert result.error.details["near"] == [{"line": 2, "text": "    return compute(1)"}]
    assert result.error.hint == "the nearest is line 2:     return compute(1)"


def test_edit_says_when_only_line_ends_are_wrong(scene: Scene) -> None:
    (scene.project / "dos.txt").write_bytes(b"one\r\ntwo\r\n")

    result = scene.call("edit_file", path="dos.txt", oldText="one\ntwo", newText="x")

    assert result.error is not None
    assert result.error.hint == "its lines end in \\r\\n: write \\r\\n in oldText and newText"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"path": "none", "oldText": "a", "newText": "b"}, "FILE_NOT_FOUND"),
        ({"path": "folder", "oldText": "a", "newText": "b"}, "INVALID_PATH"),
        ({"path": "raw", "oldText": "a", "newText": "b"}, "EXECUTION_ERROR"),
        ({"path": "text", "oldText": "", "newText": "b"}, "INVALID_ARGUMENTS"),
        ({"path": "text", "oldText": "text", "newText": "text"}, "INVALID_ARGUMENTS"),
        ({"path": "text", "oldText": "a", "newText": "b", "more": 1}, "INVALID_ARGUMENTS"),
    ],
)
def test_edit_refuses(scene: Scene, arguments: dict[str, object], code: str) -> None:
    (scene.project / "folder").mkdir()
    (scene.project / "raw").write_bytes(b"a\0b")
    (scene.project / "text").write_text("text")

    assert scene.code("edit_file", **arguments) == code


def test_edit_of_a_file_that_changed_meanwhile_does_nothing(scene: Scene) -> None:
    file = scene.project / "file"
    file.write_text("one two")
    scene.person.meanwhile = lambda: file.write_text("one two three")

    result = scene.call("edit_file", path="file", oldText="two", newText="2")

    assert result.error is not None
    assert result.error.details["changed"] is True
    assert file.read_text() == "one two three"


def test_preview_of_a_new_file_shows_its_text(scene: Scene) -> None:
    call = ToolCall("1", "write_file", {"path": "new", "content": "text\x1b[2J"}, AGENT)

    result = scene.runtime.validate(call, preview=True)

    assert result.output == "create new (8 bytes)\ntext\\x1b[2J"
    assert result.metadata["decision"] == "allow"


def test_preview_of_what_is_no_text_says_so(scene: Scene) -> None:
    (scene.project / "raw").write_bytes(b"\0\xff")

    scene.call("write_file", path="raw", content="text")

    (request,) = scene.person.asked
    assert request.preview == "overwrite raw with 4 bytes (no text that can be compared)"


def test_long_difference_is_cut_and_line_ends_are_named(scene: Scene) -> None:
    (scene.project / "long").write_text("".join(f"{n}\n" for n in range(1000)))
    (scene.project / "ends").write_bytes(b"a\r\nb\r\n")

    scene.call("write_file", path="long", content="x" * 5000)
    scene.call("write_file", path="ends", content="a\nb\n")

    long, ends = (request.preview for request in scene.person.asked)
    assert "more lines" in long
    assert "only line ends differ" in ends
