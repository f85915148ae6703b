"""Reading an unfinished line, without any shell."""

import pytest

from tongs.surfaces.cli.complete import typed_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tongs ", ["tongs", ""]),
        ("tongs to", ["tongs", "to"]),
        ("tongs tool run x A=", ["tongs", "tool", "run", "x", "A="]),
        ("tongs 'a b' \"c", ["tongs", "a b", "c"]),
        ("tongs a\\ b", ["tongs", "a b"]),
        ("tongs ''", ["tongs", ""]),
        ("tongs '' x", ["tongs", "", "x"]),
        ("", [""]),
        ("tongs it\\'s 'x\\y'", ["tongs", "it's", "x\\y"]),
    ],
)
def test_unfinished_lines_are_read_as_a_shell_would(line: str, words: list[str]) -> None:
    assert typed_words(line) == words
