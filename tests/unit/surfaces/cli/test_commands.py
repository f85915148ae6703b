"""How the words of a command line find their command."""

import pytest

from tongs.surfaces.cli.commands import COMMANDS, SUMMARIES, choices, split


@pytest.mark.parametrize(
    ("line", "words", "rest"),
    [
        ("tool list", ("tool", "list"), []),
        ("tool list --json", ("tool", "list"), ["--json"]),
        ("-v tool list", ("tool", "list"), ["-v"]),
        ("--auto-approve tool tool run x", ("tool", "run"), ["--auto-approve", "tool", "x"]),
        ("--auto-approve=tool:read tool run x", ("tool", "run"), ["--auto-approve=tool:read", "x"]),
        ("tool --scope user list", ("tool", "list"), ["--scope", "user"]),
        ("tool run tool list", ("tool", "run"), ["tool", "list"]),
        ("tool run x -- -y", ("tool", "run"), ["x", "--", "-y"]),
        ("sandbox run --read . -- ls", ("sandbox", "run"), ["--read", ".", "--", "ls"]),
        ("sandbox", ("sandbox",), []),
        ("doctor --json", ("doctor",), ["--json"]),
        ("help tool list", ("help",), ["tool", "list"]),
        ("tool", ("tool",), []),
        ("tool lst", ("tool", "lst"), []),
        ("", (), []),
        ("--log-level", (), ["--log-level"]),
        ("-- tool list", (), ["--", "tool", "list"]),
    ],
)
def test_words_and_options_are_told_apart(
    line: str, words: tuple[str, ...], rest: list[str]
) -> None:
    assert split(line.split()) == (words, rest)


def test_hidden_commands_are_no_choice() -> None:
    assert choices(()) == [
        *("tool", "tools", "mcp", "run", "chat", "trust", "review", "approvals", "lint"),
        *("schema", "config", "trash", "models", "doctor", "sandbox", "rules", "audit"),
        *("completion", "help"),
    ]
    writing = ["new", "test", "validate", "import", "create"]
    assert choices(("tool",)) == ["list", "get", "add", "remove", "run", *writing]


def test_every_command_a_person_can_choose_has_a_summary() -> None:
    visible = {words for words in COMMANDS if not words[0].startswith("_")}
    names = "tool tools mcp sandbox config approvals rules audit trash"
    groups = {(name,) for name in names.split()}
    assert visible | groups == set(SUMMARIES)
