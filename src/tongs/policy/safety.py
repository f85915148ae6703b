"""`SafetyRule` of seed 001: a name, and what no call may contain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tongs.core.annotations import Any
from tongs.core.call import ToolCall
from tongs.core.decision import Decision, Verdict
from tongs.core.record import dataclass, field
from tongs.core.tool import Tool
from tongs.policy.command_pattern import CommandPattern, Match, compile_pattern
from tongs.policy.looking import Case, Look, here


@dataclass(frozen=True, slots=True)
class SafetyRule:
    """Denies every call that contains one of the patterns.

    A pattern is a sequence of words, never a part of one: `nc` is the program nc, not `sync`. In a
    command it is read as the shell would (`rm -rf` is also `rm -r -f x`); in any other text it
    stands for whole words. `re:` makes it a regular expression.
    """

    name: str
    forbidden_patterns: tuple[str, ...]
    reason: str = ""
    look: Look = field(default_factory=here)

    def __post_init__(self) -> None:
        if isinstance(self.forbidden_patterns, str):
            raise TypeError("forbidden_patterns is a list of patterns, not one text")
        for pattern in self.forbidden_patterns:
            compile_pattern(pattern)

    def check(self, call: ToolCall, tool: Tool) -> Verdict | None:
        case = self.look(call, tool)
        patterns = [_compiled(pattern) for pattern in self.forbidden_patterns]
        found = _in_commands(case, patterns) or _in_texts(case, patterns)
        if found is None:
            return None
        match, why = found
        decision = Decision.DENY if match is Match.YES else Decision.ASK
        return Verdict(decision, self.name, f"{self.reason}: {why}" if self.reason else why)


_known: dict[str, tuple[CommandPattern, re.Pattern[str]]] = {}


def _compiled(pattern: str) -> tuple[CommandPattern, re.Pattern[str]]:
    if pattern not in _known:
        if pattern.startswith("re:"):
            text = re.compile(pattern[3:])
        else:
            words = r"\s+".join(map(re.escape, pattern.split()))
            text = re.compile(rf"(?<!\w){words}(?!\w)")
        _known[pattern] = (compile_pattern(pattern), text)
    return _known[pattern]


def _in_commands(
    case: Case, patterns: list[tuple[CommandPattern, re.Pattern[str]]]
) -> tuple[Match, str] | None:
    maybe: tuple[Match, str] | None = None
    for number in range(len(case.lines)):
        reading = case.reading(number)
        for invocation in reading.invocations:
            for pattern, _ in patterns:
                match = pattern.match(invocation)
                if match is Match.YES:
                    return match, f"`{invocation.shown}` contains `{pattern.text}`"
                if match is Match.MAYBE:
                    maybe = maybe or (match, f"`{invocation.shown}` could be `{pattern.text}`")
        if reading.doubts:
            maybe = maybe or (Match.MAYBE, f"the command is not understood: {reading.doubts[0]}")
    return maybe


def _in_texts(
    case: Case, patterns: list[tuple[CommandPattern, re.Pattern[str]]]
) -> tuple[Match, str] | None:
    commands = {line.text for line in case.lines}
    for name, text in _texts(case.call.arguments, ""):
        if text in commands:
            continue
        for pattern, regex in patterns:
            if regex.search(text):
                return Match.YES, f"{name} contains `{pattern.text}`"
    return None


def _texts(value: Any, name: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(item, f"{name}/{key}" if name else str(key))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item, name)
