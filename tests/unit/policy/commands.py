"""The corpus of commands, and the place in which it is judged."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tongs.core.call import Caller, CallerKind, ToolCall
from tongs.core.decision import Verdict
from tongs.core.execution import Place
from tongs.core.tool import Tool
from tongs.policy.hazards import default_hazards
from tongs.policy.looking import Look
from tongs.policy.rules import RuleEngine, default_rules

CORPUS = Path(__file__).parents[2] / "data" / "commands" / "corpus.txt"
SHELL = Tool("shell", command_argument="command")
AGENT = Caller(CallerKind.AGENT, "test")
PERSON = Caller(CallerKind.PERSON, "test")
_SIGNS = {"⏎": "\n", "␍": "\r", "␌": "\f"}


@dataclass(frozen=True)
class Entry:
    verdict: str
    group: str
    command: str


def corpus() -> Iterator[Entry]:
    verdict = group = ""
    _, text = CORPUS.read_text(encoding="utf-8").split("\n\n", 1)
    for line in text.splitlines():
        if heading := re.fullmatch(r"\[(allow|ask|deny)\] (.*)", line):
            verdict, group = heading[1], heading[2]
        elif line:
            yield Entry(verdict, group, re.sub("[⏎␍␌]", lambda sign: _SIGNS[sign[0]], line))


def place(folder: Path) -> Place:
    """A home with a workspace in it, a repository there, and a link that leads out."""
    home = folder.resolve() / "home"
    workspace = home / "work"
    for made in (workspace / ".git", home / ".ssh", home / "other", workspace / "build"):
        made.mkdir(parents=True)
    (workspace / "link").symlink_to(home / "other")
    return Place(str(workspace), str(workspace), str(home))


def engine(at: Place) -> RuleEngine:
    """The default rules, where everything that they say nothing about is allowed."""
    return default_rules(["*"], (), default_hazards(Look(at)))


def decided(rules: RuleEngine, command: str, caller: Caller = AGENT) -> Verdict:
    return rules.decide(ToolCall("1", "shell", {"command": command}, caller), SHELL)
