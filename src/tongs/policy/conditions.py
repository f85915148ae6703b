"""`when:` of a rule: which calls it is about.

Every key must hold. A list means: any of these. For a rule that allows, each command of the call
must be covered and everything must be known; for one that asks or denies, one match is enough, and
what is not known counts as a question.
"""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase

from tongs.core.annotations import Any, TypeAlias
from tongs.core.call import ToolCall
from tongs.core.permissions import absolute, covered
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.policy.command_pattern import CommandPattern, Match, compile_pattern
from tongs.policy.looking import Case, Look
from tongs.policy.when import same

# A regular expression is never tried on more than this.
_LONGEST = 64 * 1024
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{2}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)


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


def matches(
    when: Mapping[str, Any], call: ToolCall, tool: Tool, look: Look, *, every: bool = False
) -> Found:
    """Whether a call is one that `when` of a rule describes, and why."""
    return compile_when(when).look(look(call, tool), every=every)


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
            if kind not in _VALUE_TESTS:
                raise ValueError(
                    f"an argument has no `{kind}`; there are {', '.join(_VALUE_TESTS)}"
                )
            yield _argument(name, kind, _VALUE_TESTS[kind](value))


def _argument(name: str, kind: str, test: Callable[[Any, Case, bool], Match]) -> Test:
    def tested(case: Case, every: bool) -> Found:
        values = leaves(value_at(case.call.arguments, name))
        if not values:
            return NO
        found = [test(value, case, every) for value in values]
        match = min(found) if every else max(found)
        shown = next(v for v, f in zip(values, found, strict=True) if f is match)
        return Found(match, f"{name} is {shown!r:.80}") if match else NO

    return tested


def value_at(arguments: Any, name: str) -> Any:
    """An argument by name, or by JSON pointer."""
    if not name.startswith("/"):
        return arguments.get(name)
    for part in name[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(arguments, Mapping):
            arguments = arguments.get(key)
        elif isinstance(arguments, list) and key.isdigit() and int(key) < len(arguments):
            arguments = arguments[int(key)]
        else:
            return None
    return arguments


def leaves(value: Any) -> list[Any]:
    """A list stands for its elements."""
    if value is None:
        return []
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def _exactly(written: Mapping[str, Any]) -> Iterator[Test]:
    """These arguments and no others."""

    def test(case: Case, every: bool) -> Found:
        if same(written, dict(case.call.arguments)):
            return Found(Match.YES, "with exactly these arguments")
        return NO

    yield test


def _equals(written: Any) -> Callable[[Any, Case, bool], Match]:
    return lambda value, case, every: Match.YES if same(written, value) else Match.NO


def _pattern(written: str) -> Callable[[Any, Case, bool], Match]:
    try:
        regex = re.compile(written)
    except re.error as error:
        raise ValueError(f"`{written}` is no regular expression: {error}") from None

    def test(value: Any, case: Case, every: bool) -> Match:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if len(text) > _LONGEST:
            return Match.MAYBE
        found = regex.fullmatch(text) if every else regex.search(text)
        return Match.YES if found else Match.NO

    return test


def _path(written: Any) -> Callable[[Any, Case, bool], Match]:
    if written in ("inside", "outside"):
        return lambda value, case, every: _against_workspace(value, case, written)
    globs = _texts(written)
    if not globs or not all(isinstance(glob, str) for glob in globs):
        raise ValueError("`path` is inside, outside, or a list of globs")

    def test(value: Any, case: Case, every: bool) -> Match:
        places = places_of(value, case)
        if places is None:
            return Match.MAYBE
        regexes = [_glob(glob, case) for glob in globs]
        held = [any(regex.fullmatch(path) for regex in regexes) for path in places]
        return Match.YES if (all(held) if every else any(held)) else Match.NO

    return test


def _against_workspace(value: Any, case: Case, wanted: str) -> Match:
    places = places_of(value, case)
    if places is None:
        return Match.MAYBE
    root = os.path.realpath(case.place.root)
    # Where links lead is what counts; where the words lead has to agree.
    inside = covered(places[1], (root,))
    return Match.YES if inside is (wanted == "inside") else Match.NO


def places_of(value: Any, case: Case) -> tuple[str, str] | None:
    """A path as written and as the links lead; None where it is none."""
    if not isinstance(value, str) or not value or "\0" in value:
        return None
    value = value.removeprefix("file://")
    written = absolute(value, case.place.start, case.place.home)
    # `..` after a link leads where the link leads, so the words are not joined before.
    home = value == "~" or value.startswith("~/")
    raw = case.place.home + value[1:] if home else os.path.expanduser(value)
    return written, os.path.realpath(os.path.join(case.place.start, raw))


def _glob(glob: str, case: Case) -> re.Pattern[str]:
    """`*` stays in one folder, `**` goes down; relative ones start at the workspace."""
    fixed = re.split(r"[*?\[]", glob, maxsplit=1)[0]
    base = absolute(fixed or ".", case.place.root, case.place.home)
    rest = glob[len(fixed) :]
    start = os.path.realpath(base) + ("/" if fixed.endswith("/") or not fixed else "")
    parts = re.split(r"(/\*\*(?=/|\Z)|\*\*/?|\*|\?)", rest)
    meaning = {"/**": "(?:/.*)?", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    middle = "".join(meaning.get(part, re.escape(part)) for part in parts)
    alternatives = {re.escape(start.rstrip("/")), re.escape(base.rstrip("/"))}
    slash = "/" if start.endswith("/") else ""
    if slash and middle == ".*":
        return re.compile(f"(?:{'|'.join(sorted(alternatives))})(?:/.*)?", re.DOTALL)
    return re.compile(f"(?:{'|'.join(sorted(alternatives))}){slash}{middle}", re.DOTALL)


def _host(written: Any) -> Callable[[Any, Case, bool], Match]:
    names = tuple(name.lower().rstrip(".") for name in _texts(written))

    def test(value: Any, case: Case, every: bool) -> Match:
        host = host_of(value) if isinstance(value, str) else None
        if host is None:
            return Match.MAYBE
        return Match.YES if _any_host(names, host) else Match.NO

    return test


def _any_host(names: Sequence[str], host: str) -> bool:
    """`*.example.org` is every name below it, as in permissions."""
    return any(
        host.endswith(name[1:]) if name.startswith("*.") else name in ("*", host) for name in names
    )


def host_of(url: str) -> str | None:
    """The host that a URL leads to; None where programs could disagree about it."""
    if re.search(r"[\x00-\x20\x7f\\]", url.strip()):
        return None
    url = url.strip()
    match = _SCHEME.match(url)
    rest = url[match.end() :] if match else url.removeprefix("//")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    host = authority.rpartition("@")[2]
    host = host.partition("]")[0] + "]" if host.startswith("[") else host.partition(":")[0]
    if not host.isascii():
        try:
            host = host.encode("idna").decode()
        except UnicodeError:
            return None
    if "@" in authority.rpartition("@")[0] or not _HOST.fullmatch(host):
        return None
    return host.strip("[]").lower().rstrip(".")


_VALUE_TESTS: dict[str, Callable[[Any], Callable[[Any, Case, bool], Match]]] = {
    "pattern": _pattern,
    "equals": _equals,
    "path": _path,
    "host": _host,
}
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
