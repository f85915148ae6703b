"""`when:` of a rule or of a remembered decision: which calls it is about.

Every key must hold. A list means: any of these. For a rule that allows, each command of the call
must be covered and everything must be known; for one that asks or denies, one match is enough, and
what is not known counts as a question.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from tongs.core.annotations import Any, TypeAlias
from tongs.core.record import dataclass
from tongs.policy.argument_tests import TESTS, ValueTest, considered, same, value_at
from tongs.policy.command_pattern import CommandPattern, Match, compile_pattern
from tongs.policy.looking import Case


@dataclass(frozen=True, slots=True)
class Found:
    """Whether a condition holds for a call, and what of the call shows it."""

    match: Match
    why: str = ""


NO = Found(Match.NO)
Test: TypeAlias = Callable[[Case, bool], Found]
# Whether the texts of a call are short enough for the patterns of a rule.
Limit: TypeAlias = Callable[[Case], bool]
_UNREAD = Found(Match.MAYBE, "the text is too long for the patterns of a file nobody trusts")


@dataclass(frozen=True, slots=True)
class When:
    """Compiled once; `tools` and `programs` are what an index can go by, empty for any."""

    tests: tuple[tuple[str, Test], ...]
    tools: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    # It names the person who types, so typing does not answer it.
    names_person: bool = False
    commands: tuple[CommandPattern, ...] = ()
    limit: Limit | None = None

    def look(self, case: Case, *, every: bool = False, only: frozenset[str] | None = None) -> Found:
        """`every` as for a rule that allows; `only` leaves the other keys out."""
        least, reasons = Match.YES, list[str]()
        fits: bool | None = None
        for key, test in self.tests:
            if only is not None and key not in only:
                continue
            if key in _PATTERNED and self.limit is not None and fits is None:
                fits = self.limit(case)
            found = _UNREAD if key in _PATTERNED and fits is False else test(case, every)
            if found.match is Match.NO or (every and found.match is Match.MAYBE):
                return NO
            least = min(least, found.match)
            reasons.append(found.why)
        return Found(least, "; ".join(reason for reason in reasons if reason))


def compile_when(data: Mapping[str, Any], limit: Limit | None = None) -> When:
    """Raises ValueError with a text for the author."""
    tests: list[tuple[str, Test]] = []
    for key, written in data.items():
        if key not in _COMPILERS:
            raise ValueError(f"`when.{key}` is not known; there are {', '.join(_COMPILERS)}")
        tests += [(key, test) for test in _COMPILERS[key](written)]
    if not tests:
        raise ValueError('`when` is empty; write `tool: "*"` for every call')
    tools = tuple(_texts(data.get("tool", ())))
    patterns = tuple(compile_pattern(text) for text in _texts(data.get("command", ())))
    keys = tuple(pattern.key for pattern in patterns)
    return When(
        # The cheapest first: reading a command costs most.
        tuple(sorted(tests, key=lambda test: _ORDER.index(test[0]))),
        () if any(re.search(r"[*?\[]", name) for name in tools) else tools,
        () if "" in keys else keys,
        names_person="person" in _texts(data.get("caller", ())),
        commands=patterns,
        limit=limit,
    )


def _texts(written: Any) -> Sequence[str]:
    return (written,) if isinstance(written, str) else tuple(written)


def _any(names: Sequence[str], values: Sequence[str]) -> str:
    return next((name for name in names if any(fnmatchcase(v, name) for v in values)), "")


def _named(of: Callable[[Case], Sequence[str]], what: str) -> Callable[[Any], Iterator[Test]]:
    """A condition on words that the call has for sure."""

    def compiled(written: Any) -> Iterator[Test]:
        names = _texts(written)

        def test(case: Case, every: bool) -> Found:
            found = _any(names, of(case))
            return Found(Match.YES, f"{what} {found}") if found else NO

        yield test

    return compiled


def _tool_names(case: Case) -> Sequence[str]:
    tool = case.tool
    # Whoever writes a tool also names its private helpers.
    return () if tool.private else (tool.name, tool.qualified_name)


def _sources(case: Case) -> Sequence[str]:
    origin = case.tool.origin
    return (origin.format, origin.family)


def _callers(case: Case) -> Sequence[str]:
    caller = case.call.caller
    return (caller.kind.value, caller.name)


# -- commands


def _commands(written: Any) -> Iterator[Test]:
    patterns = tuple(compile_pattern(text) for text in _texts(written))

    def test(case: Case, every: bool) -> Found:
        return _covered(case, patterns) if every else _one_of(case, patterns)

    yield test


def _one_of(case: Case, patterns: Sequence[CommandPattern]) -> Found:
    maybe = NO
    for number in range(len(case.lines)):
        reading = case.reading(number)
        for invocation in reading.invocations:
            for pattern in patterns:
                match = pattern.match(invocation)
                if match is Match.YES:
                    return Found(match, f"`{invocation.shown}` is `{pattern.text}`")
                if match is Match.MAYBE and maybe is NO:
                    maybe = Found(match, f"`{invocation.shown}` could be `{pattern.text}`")
        if reading.doubts and maybe is NO:
            maybe = Found(Match.MAYBE, f"it could be `{patterns[0].text}`: {reading.doubts[0]}")
    return maybe


def _covered(case: Case, patterns: Sequence[CommandPattern]) -> Found:
    """Every command is one of these, and all of them are understood."""
    seen: list[str] = []
    for number in range(len(case.lines)):
        reading = case.reading(number)
        if reading.doubts or reading.bombs:
            return NO
        for invocation in reading.invocations:
            if not any(pattern.covers(invocation) for pattern in patterns):
                return NO
            seen.append(f"`{invocation.shown}`")
    return Found(Match.YES, f"{' and '.join(seen)} allowed") if seen else NO


# -- arguments


def _arguments(written: Mapping[str, Any]) -> Iterator[Test]:
    for name, wanted in written.items():
        conditions = {"pattern": wanted} if isinstance(wanted, str) else wanted
        for kind, value in conditions.items():
            if kind not in TESTS:
                raise ValueError(f"an argument has no `{kind}`; there are {', '.join(TESTS)}")
            yield _argument(name, kind, TESTS[kind](value))


def _argument(name: str, kind: str, test: ValueTest) -> Test:
    def tested(case: Case, every: bool) -> Found:
        values = considered(value_at(case.call.arguments, name), kind, every=every)
        if not values:
            return NO
        found = [test(value, case, every) for value in values]
        match = min(found) if every else max(found)
        shown = next(v for v, f in zip(values, found, strict=True) if f is match)
        return Found(match, f"{name} is {shown!r:.80}") if match else NO

    return tested


def _exactly(written: Mapping[str, Any]) -> Iterator[Test]:
    """These arguments and no others."""

    def test(case: Case, every: bool) -> Found:
        if same(written, dict(case.call.arguments)):
            return Found(Match.YES, "with exactly these arguments")
        return NO

    yield test


_COMPILERS: dict[str, Callable[[Any], Iterator[Test]]] = {
    "tool": _named(_tool_names, "tool"),
    "tag": _named(lambda case: case.tool.tags, "tag"),
    "source": _named(_sources, "source"),
    "scope": _named(lambda case: (case.tool.origin.scope.value,), "scope"),
    "caller": _named(_callers, "caller"),
    "arguments": _exactly,
    "argument": _arguments,
    "command": _commands,
}
_ORDER = list(_COMPILERS)
_PATTERNED = frozenset({"argument", "command"})
