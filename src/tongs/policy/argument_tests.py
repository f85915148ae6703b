"""What `when.argument` says of one value: a pattern, a path, a host, or the value itself."""

from __future__ import annotations

import json
import os.path
import re
from collections.abc import Callable, Mapping, Sequence

from tongs.core.annotations import Any, TypeAlias
from tongs.core.permissions import absolute, covered
from tongs.policy.command_pattern import Match
from tongs.policy.looking import Case

# A regular expression is never tried on more than this.
_LONGEST = 64 * 1024
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/{2}", re.ASCII)
_HOST = re.compile(r"[A-Za-z0-9_.-]+|\[[0-9A-Fa-f:.]+\]", re.ASCII)
# An address about whose host no program disagrees with another.
_PLAIN = re.compile(r"(?:https?|ftp|wss?)://[^\s/?#@\\]+(?:[/?#][!-~]*)?", re.ASCII | re.IGNORECASE)

# The value, the call, and whether the rule allows.
ValueTest: TypeAlias = Callable[[Any, Case, bool], Match]
# No value at all, which is something else than null.
MISSING = object()


def value_at(arguments: Any, name: str) -> Any:
    """An argument by name, or by JSON pointer."""
    if not name.startswith("/"):
        return arguments.get(name, MISSING)
    for part in name[1:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(arguments, Mapping):
            arguments = arguments.get(key, MISSING)
        elif isinstance(arguments, list) and key.isdigit() and int(key) < len(arguments):
            arguments = arguments[int(key)]
        else:
            return MISSING
    return arguments


def leaves(value: Any) -> list[Any]:
    """A list stands for its elements."""
    if value is None or value is MISSING:
        return []
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    return [value]


def considered(value: Any, kind: str, *, every: bool) -> list[Any]:
    """Which values a test of this kind looks at: to allow, only the very value equals another."""
    if kind != "equals":
        return leaves(value)
    if value is MISSING:
        return []
    return [value] if every else [value, *(leaves(value) if isinstance(value, list) else ())]


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 is not true, and the order of keys does not matter."""
    return _canonical(left) == _canonical(right)


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=str)


def _equals(written: Any) -> ValueTest:
    return lambda value, case, every: Match.YES if same(written, value) else Match.NO


def _pattern(written: str) -> ValueTest:
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


def _path(written: Any) -> ValueTest:
    if written in ("inside", "outside"):
        return lambda value, case, every: _against_workspace(value, case, written, every=every)
    globs = (written,) if isinstance(written, str) else written
    if not globs or not all(isinstance(glob, str) for glob in globs):
        raise ValueError("`path` is inside, outside, or a list of globs")

    def test(value: Any, case: Case, every: bool) -> Match:
        places = places_of(value, case, every=every)
        if places is None:
            return Match.MAYBE
        regexes = [_glob(glob, case) for glob in globs]
        held = [any(regex.fullmatch(path) for regex in regexes) for path in places]
        return Match.YES if (all(held) if every else any(held)) else Match.NO

    return test


def _against_workspace(value: Any, case: Case, wanted: str, *, every: bool) -> Match:
    places = places_of(value, case, every=every)
    if places is None:
        return Match.MAYBE
    root = os.path.realpath(case.place.root)
    # Where links lead is what counts; where the words lead has to agree.
    inside = covered(places[1], (root,))
    return Match.YES if inside is (wanted == "inside") else Match.NO


def places_of(value: Any, case: Case, *, every: bool = False) -> tuple[str, str] | None:
    """A path as written and as the links lead; None where it is none.

    To allow, what some programs expand and others do not is none.
    """
    if not isinstance(value, str) or not value or "\0" in value or (every and value[0] == "~"):
        return None
    value = value.removeprefix("file://")
    written = absolute(value, case.place.start, case.place.home)
    # `..` after a link leads where the link leads, so the words are not joined before.
    home = value == "~" or value.startswith("~/")
    raw = case.place.home + value[1:] if home else os.path.expanduser(value)
    return written, os.path.realpath(os.path.join(case.place.start, raw))


def _glob(glob: str, case: Case) -> re.Pattern[str]:
    """`*` stays in one folder, `**` goes down; relative ones start at the workspace.

    `[*]`, `[?]` and `[[]` stand for the character itself.
    """
    fixed = re.split(r"[*?\[]", glob, maxsplit=1)[0]
    base = absolute(fixed or ".", case.place.root, case.place.home)
    rest = glob[len(fixed) :]
    start = os.path.realpath(base) + ("/" if fixed.endswith("/") or not fixed else "")
    parts = re.split(r"(\[[*?[]\]|/\*\*(?=/|\Z)|\*\*/?|\*|\?)", rest)
    meaning = {"/**": "(?:/.*)?", "**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    plain = {f"[{char}]": re.escape(char) for char in "*?["}
    middle = "".join((meaning | plain).get(part, re.escape(part)) for part in parts)
    alternatives = {re.escape(start.rstrip("/")), re.escape(base.rstrip("/"))}
    slash = "/" if start.endswith("/") else ""
    if slash and middle == ".*":
        return re.compile(f"(?:{'|'.join(sorted(alternatives))})(?:/.*)?", re.DOTALL)
    return re.compile(f"(?:{'|'.join(sorted(alternatives))}){slash}{middle}", re.DOTALL)


def _host(written: Any) -> ValueTest:
    listed = (written,) if isinstance(written, str) else written
    names = tuple(name.lower().rstrip(".").strip("[]") for name in listed)

    def test(value: Any, case: Case, every: bool) -> Match:
        # To allow, it has to be an address that every program reads in the same way.
        host = plain_host(value) if every else host_of(value) if isinstance(value, str) else None
        if not host:
            return Match.MAYBE
        return Match.YES if _any_host(names, host) else Match.NO

    return test


def _any_host(names: Sequence[str], host: str) -> bool:
    """`*.example.org` is every name below it, as in permissions."""
    return any(
        host.endswith(name[1:]) if name.startswith("*.") else name in ("*", host) for name in names
    )


def plain_host(value: Any) -> str:
    """The host of a value that is an address and nothing else; else empty."""
    if not isinstance(value, str) or not value.isascii() or not _PLAIN.fullmatch(value):
        return ""
    return host_of(value) or ""


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


TESTS: dict[str, Callable[[Any], ValueTest]] = {
    "pattern": _pattern,
    "equals": _equals,
    "path": _path,
    "host": _host,
}
