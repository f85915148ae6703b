"""Where a person may stand that nobody planned for: each is said in a sentence, nothing hangs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from tests.acceptance.conftest import TONGS, Outcome, Place, Run


def test_working_directory_that_is_gone_is_said(place: Place, tongs: Run, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    program = (
        f"import os, sys; os.chdir({str(gone)!r}); os.rmdir({str(gone)!r});"
        f"os.execv({TONGS!r}, ['tongs', 'tool', 'list'])"
    )

    done = tongs("-c", program, command=sys.executable)

    assert done == Outcome(
        "",
        "error: the working directory does not exist any more\n"
        "hint: change to a folder that exists\n",
        1,
    )


@pytest.mark.parametrize("home", ["a file", "/proc"])
def test_without_a_state_folder_tools_are_listed_and_nothing_is_trusted(
    place: Place, tongs: Run, tmp_path: Path, home: str
) -> None:
    place.tool("t", "bash: echo hi\n")
    (tmp_path / "a file").touch()
    env = {"TONGS_HOME": os.path.join(tmp_path, home, "tongs")}

    assert "t     local  yaml  run  [untrusted]" in tongs("tool", "list", env=env).stdout
    assert tongs("tool", "run", "t", env=env).code == 3
    trusted = tongs("trust", "--yes", "t", env=env)
    assert trusted.stderr.startswith(
        "error: t was not accepted: the audit record cannot be written: N"
    )
    assert "hint: check who may write to " in trusted.stderr
    added = tongs("tool", "add", "u", "--description", "d", "--bash", "true", env=env)
    assert added.stderr.startswith(
        "error: u was not created: the audit record cannot be written: N"
    )
    assert not (place.project / ".tongs" / "tools" / "u.yaml").exists()


def test_tool_folder_that_cannot_be_read_is_listed_and_hides_no_other(
    place: Place, tongs: Run
) -> None:
    place.tool("mine", "bash: echo mine\n", scope="user")
    folder = place.project / ".tongs" / "tools"
    folder.rmdir()
    folder.symlink_to("tools")

    listed = tongs("tool", "list")

    assert "mine" in listed.stdout
    assert f"{folder} is broken: {folder}: cannot be read: Too many levels" in listed.stderr
    assert tongs("tool", "run", "mine") == Outcome("mine\n", "", 0)


def test_links_that_lead_nowhere_are_listed_as_broken(place: Place, tongs: Run) -> None:
    folder = place.project / ".tongs" / "tools"
    (folder / "dangling.yaml").symlink_to("nothing")
    (folder / "loop.yaml").symlink_to("loop.yaml")

    listed = tongs("tool", "list")

    assert listed.stdout.count("[broken]") == 2
    assert "dangling.yaml does not exist" in listed.stderr
    assert "loop.yaml cannot be read: Too many levels of symbolic links" in listed.stderr


def test_pipe_among_the_definitions_is_never_waited_for(place: Place, tongs: Run) -> None:
    os.mkfifo(place.project / ".tongs" / "tools" / "pipe.yaml")

    assert tongs("tool", "list", "--contains", "nothing").stdout == ""
    assert tongs("lint").code == 2


def test_no_name_or_text_can_fake_a_line(place: Place, tongs: Run) -> None:
    place.tool("x\ny  user  yaml  read  fake", "bash: echo\n")
    place.tool("t", 'bash: echo\napproval: {required: true, reason: "r\\ntrusted:  accepted"}\n')

    listed = tongs("tool", "list").stdout.splitlines()
    shown = tongs("tool", "get", "t").stdout.splitlines()

    assert len(listed) == 3
    assert [line for line in shown if line.startswith("trusted:")] == [
        "trusted:      no, it came with the project (tongs trust t)"
    ]


def test_spoiled_cache_is_made_again(place: Place, tongs: Run) -> None:
    place.tool("t", "bash: echo hi\n", scope="user")
    good = tongs("tool", "list")
    for spoiled in ('{"rows": 5}', "[]", "5", '{"source": 1}', "{{{"):
        for file in (place.state / "cache").rglob("*.json"):
            file.write_text(spoiled)

        assert tongs("tool", "list") == good
        assert tongs("tool", "run", "t") == Outcome("hi\n", "", 0)
