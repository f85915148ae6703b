"""The checks of this folder do find what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.docs.blocks import Block, Command, blocks, commands, matches
from tests.docs.test_blocks import Story, check_console, check_yaml


def test_blocks_are_found_with_their_lines(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "# T\n\n```yaml\na: 1\n```\n\n- item\n\n  ```sh\n  ls\n  ```\n", encoding="utf-8"
    )

    assert list(blocks(page)) == [Block("yaml", "a: 1\n", 3), Block("sh", "ls\n", 9)]


def test_a_block_that_is_not_closed_is_an_error(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\nls\n", encoding="utf-8")

    with pytest.raises(AssertionError, match="not closed"):
        list(blocks(page))


def test_commands_end_where_their_output_begins() -> None:
    block = Block("console", "$ one \\\n    two\nout\n\n$ three\n", 7)

    assert list(commands(block)) == [
        Command("one \\\n    two", "out\n", 8),
        Command("three", "", 12),
    ]


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        ("a", "a\n", True),
        ("a", "a\nb\n", False),
        ("", "a\n", False),
        ("a...\nd", "abc\nx\nd\n", True),
        ("...\nd", "x\ny\nd\n", True),
        ("(a.c)", "(abc)", False),
    ],
)
def test_dots_stand_for_any_text_and_nothing_else_does(
    expected: str, actual: str, same: bool
) -> None:
    assert matches(expected, actual) is same


@pytest.mark.parametrize(
    "text",
    [
        "$ echo right\nwrong\n",
        "$ echo unexpected\n",
        "$ false\n",
        "$ tongs tool run nothing\nsomething else\n",
    ],
)
def test_a_command_that_does_something_else_is_found(text: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:2"):
        check_console(Block("console", text, 1), Story(tmp_path), "page.md")


def test_folder_and_variables_stay_from_command_to_command(tmp_path: Path) -> None:
    text = "$ mkdir a && cd a && export WHO=me\n$ basename $PWD; echo $WHO\na\nme\n"
    check_console(Block("console", text, 1), Story(tmp_path), "page.md")


@pytest.mark.parametrize("text", ["bash: echo\nbahs: echo\n", "limits: {memory: much}\n"])
def test_yaml_that_does_not_load_is_found(text: str, tmp_path: Path) -> None:
    with pytest.raises(Exception, match=r"unknown key|must"):
        check_yaml(Block("yaml", text, 1), Story(tmp_path), "page.md:1")
