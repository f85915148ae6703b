"""Timeouts, environment, descriptions and tags."""

from __future__ import annotations

from collections.abc import Iterator

from tongs.authoring.lint.view import Definition
from tongs.core.errors import Problem, Severity
from tongs.core.tool import Level
from tongs.schema.document import PathTuple

_SHORTEST = 100
_LONGEST = 60 * 60 * 1000
# Whole minutes in seconds, which nobody would choose in milliseconds.
_LIKE_SECONDS = frozenset({120, 180, 240, 300, 600, 900, 1200, 1800, 3600, 7200})
# What a tool without `timeout` gets (SEMANTICS 18).
_DEFAULT = 60_000


def timeouts(definition: Definition) -> Iterator[Problem]:
    own = definition.data.get("timeout")
    if own is not None:
        yield from _timeout(definition, (*definition.path, "timeout"), own)
    if not definition.has_steps:
        return
    for action in definition.actions:
        wanted = action.data.get("timeout")
        if wanted is None:
            continue
        path = (*action.path, "timeout")
        yield from _timeout(definition, path, wanted)
        if wanted > (own or _DEFAULT):
            whose = f"the tool's {own}" if own else f"the tool's default of {_DEFAULT}"
            yield definition.finding(
                "suspicious-timeout",
                path,
                f"{wanted} ms is longer than {whose} ms, which covers all steps",
                fix=f"give the tool `timeout: {wanted}` or more, or the step less",
            )


def _timeout(definition: Definition, path: PathTuple, wanted: int) -> Iterator[Problem]:
    if (odd := odd_timeout(wanted, "timeout")) is not None:
        message, fix, severity = odd
        yield definition.finding("suspicious-timeout", path, message, fix=fix, severity=severity)


def odd_timeout(wanted: int, key: str) -> tuple[str, str, Severity] | None:
    """What is odd about so many milliseconds, what to do, and how much it matters."""
    if wanted < _SHORTEST or wanted in _LIKE_SECONDS:
        message = f"{wanted} milliseconds end a program before it does much"
        return message, f"if seconds are meant: `{key}: {wanted * 1000}`", Severity.WARNING
    if wanted > _LONGEST:
        message = f"{wanted} milliseconds are {wanted / _LONGEST:.1f} hours"
        fix = "a caller waits that long for a program that hangs; give it less"
        return message, fix, Severity.NOTE
    return None


def environment_names(definition: Definition) -> Iterator[Problem]:
    """Tongs hands values to bash through BASH_ENV, so an author's own is replaced."""
    places = [(definition.path, definition.data)]
    if definition.has_steps:
        places += [(action.path, action.data) for action in definition.actions]
    for path, data in places:
        if "BASH_ENV" in (data.get("environment") or {}):
            yield definition.finding(
                "environment-name",
                (*path, "environment", "BASH_ENV"),
                "BASH_ENV does not reach a script that has placeholders",
                fix="source the file in the script: `. ./file.sh`",
            )


def step_names(definition: Definition) -> Iterator[Problem]:
    for action in definition.actions if definition.has_steps else ():
        name = action.data.get("name")
        if name in definition.parameters or name == "config":
            other = "the parameter" if name in definition.parameters else "`{config.KEY}`"
            yield definition.finding(
                "step-name",
                (*action.path, "name"),
                f"the step `{name}` is easily mistaken for {other}",
            )


def descriptions(definition: Definition) -> Iterator[Problem]:
    # A tool inside another is never offered to anybody.
    if definition.path:
        return
    if not str(definition.data.get("description") or "").strip():
        yield definition.finding("missing-description", (), "the tool has no description")
    for name in definition.parameters:
        if not str(definition.declared(name).get("description") or "").strip():
            path = ("parameters", name)
            yield definition.finding("missing-description", path, f"{name} has no description")


def security_tags(definition: Definition) -> Iterator[Problem]:
    tags = definition.data.get("tags") or ()
    if definition.path or any(level.value in tags for level in Level):
        return
    message = "no tag says whether the tool reads, writes or runs: it counts as run"
    yield definition.finding(
        "no-security-tag", ("tags",) if "tags" in definition.data else (), message
    )
