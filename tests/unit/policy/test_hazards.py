"""Beyond the corpus: who is asked, what a definition's own text may do, and arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.policy.commands import AGENT, PERSON, decided, engine, place

from tongs.core.call import ToolCall
from tongs.core.decision import Decision
from tongs.core.errors import ErrorCode, ToolError
from tongs.core.execution import CommandLine, Place
from tongs.core.tool import Tool
from tongs.policy.hazards import default_hazards
from tongs.policy.looking import Look, commands_of
from tongs.policy.rules import default_rules
from tongs.policy.shell.words import WordReader

ALLOW, ASK, DENY = Decision


@pytest.fixture
def at(tmp_path: Path) -> Place:
    return place(tmp_path)


def test_person_is_not_asked_and_still_denied(at: Place) -> None:
    rules = engine(at)

    assert decided(rules, "rm -rf build", PERSON).decision is ALLOW
    assert decided(rules, "curl x | sh", PERSON).decision is ALLOW
    assert decided(rules, "rm -rf /", PERSON).decision is DENY


def of_author(at: Place, text: str) -> Decision:
    look = Look(at, lambda tool, arguments: [CommandLine(at.start, text=text)])
    rules = default_rules(["*"], (), default_hazards(look))
    return rules.decide(ToolCall("1", "own", {}, AGENT), Tool("own")).decision


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("rm -rf build", ALLOW),
        ("rm -rf /tmp/mine", ALLOW),
        ("rm -rf /tmp", DENY),
        ('rm -rf "$x"', ALLOW),
        ("curl x | sh", ALLOW),
        ("rm -rf /etc", DENY),
        ("echo hello", ALLOW),
        # Whether it may read that is a matter of its permissions.
        ("cat .env", ALLOW),
    ],
)
def test_text_of_a_definition_is_held_to_what_is_sure(
    at: Place, text: str, decision: Decision
) -> None:
    assert of_author(at, text) is decision


@pytest.mark.parametrize(
    ("tool", "arguments", "decision"),
    [
        ("read_file", {"path": "/etc/passwd"}, DENY),
        ("read_file", {"path": "~/.ssh/id_rsa"}, DENY),
        ("read_file", {"path": "~"}, ALLOW),
        ("read_file", {"path": "file:///etc/shadow"}, DENY),
        ("read_file", {"files": ["a", {"path": ".env"}]}, DENY),
        ("read_file", {"source_path": "a/../.env"}, DENY),
        ("read_file", {"path": "a\nb/.env"}, ALLOW),
        ("read_file", {"paths": [7, None, ".env"]}, DENY),
        ("read_file", {"paths": [7, None]}, ALLOW),
        # A name longer than any that is kept.
        ("read_file", {"x" * 80 + "_path": ".env"}, DENY),
        ("read_file", {"path": "README.md"}, ALLOW),
        ("write_file", {"path": ".env", "content": "x"}, ALLOW),
        ("note", {"text": "/etc/passwd"}, ALLOW),
        ("fetch", {"url": "https://example.org/etc/passwd"}, ALLOW),
        ("shell", {"command": ["cat", "/etc/passwd"]}, DENY),
        ("shell", {"command": "rm -rf *", "cwd": "/"}, DENY),
        ("shell", {"command": "rm -rf *", "cwd": "build"}, ASK),
        ("shell", {"command": 7}, ALLOW),
    ],
)
def test_arguments_are_judged_by_where_they_lead(
    at: Place, tool: str, arguments: dict[str, Any], decision: Decision
) -> None:
    call = ToolCall("1", tool, arguments, AGENT)

    assert engine(at).decide(call, Tool(tool)).decision is decision


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("tar cf x.tar -C/etc shadow", DENY),
        ("tar cf x.tar -C /etc shadow", DENY),
        ("tar cf x.tar --directory=/etc shadow", DENY),
        ("tar cf x.tar --exclude=.env src", ALLOW),
        ('cd "$X"; cat notes.txt', ALLOW),
        ('cd "$X" && cat .env', ASK),
    ],
)
def test_folder_that_a_program_is_told_counts(at: Place, command: str, decision: Decision) -> None:
    assert decided(engine(at), command).decision is decision


def test_path_that_goes_away_while_it_is_followed_is_judged_as_it_is_written(
    at: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(path: str, **options: object) -> str:
        raise FileNotFoundError(path)

    rules = engine(at)
    monkeypatch.setattr("tongs.policy.targets.os.path.realpath", gone)

    assert decided(rules, "cat /etc/shadow").decision is DENY


def test_link_to_a_secret_is_followed(at: Place) -> None:
    Path(at.cwd, "innocent.txt").symlink_to("/etc/passwd")

    assert decided(engine(at), "cat innocent.txt").decision is DENY


def test_what_an_executor_cannot_make_is_not_judged(at: Place) -> None:
    class Failing:
        def commands(self, *words: object) -> list[CommandLine]:
            raise ToolError(ErrorCode.INVALID_ARGUMENTS, "no")

    commands = commands_of({"bad": Failing(), "plain": object()}, None)  # type: ignore[arg-type] # nobody looks at the world
    look = Look(at, commands)

    for executor in ("bad", "plain", "unknown"):
        assert not look(ToolCall(), Tool("t", executor=executor)).lines


def test_verdict_tells_which_rule_and_where_to_read_it(at: Place) -> None:
    verdict = decided(engine(at), "rm -r -f /etc")

    assert verdict.rule == "recursive-deletion"
    assert verdict.reason == "`rm -r -f /etc` deletes /etc, outside of the workspace"
    assert verdict.hint == "tongs rules list shows the rule recursive-deletion"


def test_words_alone_cannot_read_commands() -> None:
    with pytest.raises(NotImplementedError):
        WordReader("a").another("b")
    with pytest.raises(NotImplementedError):
        WordReader("a").commands_until_parenthesis()
