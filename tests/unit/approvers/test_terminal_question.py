"""What a person is shown before they decide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tongs.approvers.terminal_question import description, is_cut
from tongs.core.approval import ApprovalRequest, FileChange
from tongs.core.call import Caller, CallerKind
from tongs.core.permissions import Permissions

BEFORE = "".join(f"line {number}\n" for number in range(1, 13))


def request(*changes: FileChange, **fields: object) -> ApprovalRequest:
    return ApprovalRequest(
        step_id="1",
        tool="write_file",
        args={},
        reason="",
        rule="overwrite",
        caller=Caller(CallerKind.AGENT, "claude"),
        permissions=Permissions(write=("./report.md",)),
        changes=changes,
        **fields,  # type: ignore[arg-type]  # of several fields
    )


def test_a_file_that_is_overwritten_is_shown_as_a_difference() -> None:
    after = BEFORE.replace("line 3\n", "line three\nline 3.5\n").replace("line 12\n", "")

    assert description(request(FileChange("report.md", BEFORE, after))) == (
        "write_file wants to overwrite report.md (asked by: claude, rule: overwrite)\n"
        "  | --- report.md\n"
        "  | +++ report.md\n"
        "  | @@ -1,6 +1,7 @@\n"
        "  |  line 1\n"
        "  |  line 2\n"
        "  | -line 3\n"
        "  | +line three\n"
        "  | +line 3.5\n"
        "  |  line 4\n"
        "  |  line 5\n"
        "  |  line 6\n"
        "  | @@ -9,4 +10,3 @@\n"
        "  |  line 9\n"
        "  |  line 10\n"
        "  |  line 11\n"
        "  | -line 12\n"
        "- 2 lines + 2 lines   network: off   reads: none   writes: ./report.md   secrets: none"
    )


def test_what_becomes_of_files_stands_in_the_first_line() -> None:
    new, gone = FileChange("a", None, "x\n"), FileChange("b", "y\n", None)

    assert description(request(new)).startswith("write_file wants to create a (")
    assert description(request(gone)).startswith("write_file wants to delete b (")
    assert description(request(new, gone)).startswith("write_file wants to write 2 files (")
    assert description(request()).startswith("write_file wants to run (")


def test_a_long_difference_is_cut_in_its_middle_and_shown_whole_on_request() -> None:
    change = FileChange("big", None, "".join(f"new {number}\n" for number in range(1000)))
    asked = request(change)

    cut, whole = description(asked), description(asked, whole=True)

    assert is_cut(asked)
    assert "… 967 more lines …" in cut
    assert "new 999" in cut
    assert "new 500" not in cut
    assert "new 500" in whole
    assert "+ 1000 lines" in cut


def test_nothing_in_a_file_can_fake_a_line_of_the_question() -> None:
    change = FileChange("x\nnetwork: off", None, "one\x0bnetwork: off\rnetwork: off\n")

    lines = description(request(change)).split("\n")

    assert [line for line in lines if line.startswith("network:")] == []


def test_a_nested_call_names_everybody_above_it() -> None:
    caller = Caller(CallerKind.TOOL, "inner", chain=("outer", "inner"))
    asked = ApprovalRequest("1", "write_file", {}, "", caller=caller)

    assert "(asked by: outer > inner)" in description(asked)


@pytest.mark.parametrize("more", [0, 500])
def test_arguments_that_nobody_declared_push_away_none_that_somebody_did(more: int) -> None:
    junk = {f"x{number}": "y" for number in range(more)}
    asked = replace(
        request(input_schema={"properties": {"command": {}}}),
        args={**junk, "command": "rm important", **({"n" * 5000: 1} if more else {})},
    )
    lines = description(asked).splitlines()
    assert [line.split() for line in lines[1:2]] == [["command", '"rm', 'important"']]
    assert len(lines) < 60
    assert max(map(len, lines)) < 600
    assert is_cut(asked) is bool(more)
    everything = description(asked, whole=True)
    assert all(name in everything for name in asked.args)


def test_letters_that_may_pass_for_others_are_marked_where_they_decide() -> None:
    # The letters that are escapes here are Cyrillic.
    asked = replace(
        request(FileChange("d\u043ecs/x", None, "\u0441at")),
        preview="\u0441at /etc/hosts\n" + "\u0441at " * 50,
        args={"p\u0430th": "\u0441at, привет", "name": "кот"},
        permissions=Permissions(network=("ex\u0430mple.org",)),
    )

    first, *rest = description(asked, whole=True).splitlines()

    assert first.startswith("write_file wants to create d\\u043ecs/x (")
    assert rest[0] == "  | \\u0441at /etc/hosts"
    # Values are shown as they are: what becomes of them stands above.
    assert '  p\\u0430th  "\u0441at, привет"' in rest
    assert '  name       "кот"' in rest
    assert "network: ex\\u0430mple.org " in rest[-1]
    # What is too long only when it is written out is said to be cut, too.
    assert len(asked.preview.splitlines()[1]) < 240
    assert is_cut(asked)
