"""Names in braces: unknown ones, unused ones, and those whose value is inserted as code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from tongs.authoring.lint.commands import read_by_shell
from tongs.authoring.lint.view import Definition, Passage
from tongs.core.errors import Problem, Severity
from tongs.schema.nearest import nearest
from tongs.template.placeholder import Mode, Placeholder, find
from tongs.template.plan import STEP_PROPERTIES

# Not `${X}` (shell), `%{X}` (formats), `@{X}` (git), `#{X}` (Ruby), `{{X}}` (templates).
_TOKEN = re.compile(r"(?<![$%@#\\{])\{(?P<mode>(?:RAW|URL|JSON):)?(?P<name>[\w.-]+)\}(?!\})")
# `$ENV{PATH}` of Perl.
_HASH = re.compile(r"\$\w+\Z")
_CAPITALS = re.compile(r"[A-Z][A-Z0-9_-]*\Z")
_COMMENT = re.compile(r"^[ \t]*#.*$", re.MULTILINE)


def unknown_placeholders(definition: Definition) -> Iterator[Problem]:
    for passage in definition.passages:
        for match in _unknown(passage):
            name = match["name"]
            if "." in name or not (match["mode"] or _CAPITALS.match(name)):
                continue
            if _HASH.search(passage.text, 0, match.start()) or _is_variable(name, passage):
                continue
            yield definition.finding(
                "unknown-placeholder",
                passage.path,
                f"{match[0]} names no parameter and stays as it is",
                fix=_instead(match, name, definition.parameters)
                or f"declare {name} under `parameters:`, or leave it if braces are meant",
                offset=match.start(),
            )


def unknown_steps(definition: Definition) -> Iterator[Problem]:
    """`{s.output}` of a later or unknown step, and `{s.outptu}` of a known one."""
    if not definition.has_steps:
        return
    every = [action.name for action in definition.actions]
    for passage in definition.passages:
        earlier = sorted({name.partition(".")[0] for name in passage.slots if "." in name})
        for match in _unknown(passage):
            step, _, kind = match["name"].rpartition(".")
            if step in ("", "config") or not (step in every or kind in STEP_PROPERTIES):
                continue
            message, fix = _about_step(match, step, kind, every, earlier)
            yield definition.finding(
                "unknown-step", passage.path, message, fix=fix, offset=match.start()
            )


def unused_parameters(definition: Definition) -> Iterator[Problem]:
    used = {item.slot.name for passage in definition.passages for item in _used(passage)}
    for name in definition.parameters:
        if name in used:
            continue
        path = (*definition.path, "parameters", name)
        script = next((p for p in definition.passages if _reads_variable(p, name)), None)
        yield definition.finding(
            "unused-parameter",
            path,
            f"no placeholder uses {name}",
            fix=f"write {{{name}}} instead of ${name}, which is not set"
            if script
            else f"use {{{name}}} somewhere, or remove it",
        )


def raw_placeholders(definition: Definition) -> Iterator[Problem]:
    for passage in definition.passages:
        raw = {i.slot.name: i for i in _used(passage) if i.mode is Mode.RAW}
        for name, item in raw.items():
            bounded = item.slot.harmless or item.slot.patterned
            yield definition.finding(
                "raw",
                passage.path,
                f"the value of {name} is inserted as it is"
                + (", bounded by its parameter" if bounded else ""),
                fix="make sure that no allowed value is harmful as code"
                if bounded
                else f"write {{{name}}}, or bound {name} with `enum` or `pattern`",
                offset=item.start,
                severity=Severity.NOTE if bounded else None,
            )


def _unknown(passage: Passage) -> Iterator[re.Match[str]]:
    # Blanked, not cut, so that offsets stay.
    text = passage.text
    if passage.language not in ("text", "run"):
        text = _COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    return (match for match in _TOKEN.finditer(text) if match["name"] not in passage.slots)


def _used(passage: Passage) -> list[Placeholder]:
    """The placeholders that have an effect: not those in comments of a shell script."""
    items = [i for i in find(passage.text, passage.slots) if isinstance(i, Placeholder)]
    scanned = read_by_shell(passage)
    return items if scanned is None else [item for item in items if item in scanned.effective]


def _instead(match: re.Match[str], name: str, known: Iterable[str]) -> str:
    close = nearest(name, known)
    return f"did you mean {{{match['mode'] or ''}{close[0]}}}?" if close else ""


def _is_variable(name: str, passage: Passage) -> bool:
    """The author's own name, as in `f"{NAME}"`."""
    if passage.language not in ("python", "pwsh"):
        return False
    return re.search(rf"(?<![\w{{]){re.escape(name)}(?![\w}}])", passage.text) is not None


def _reads_variable(passage: Passage, name: str) -> bool:
    if passage.language not in ("bash", "sh"):
        return False
    return re.search(rf"\$(?:\{{{re.escape(name)}\b|{re.escape(name)}\b)", passage.text) is not None


def _about_step(
    match: re.Match[str], step: str, kind: str, every: Sequence[str], earlier: Sequence[str]
) -> tuple[str, str]:
    if step in earlier:
        close = nearest(kind, STEP_PROPERTIES) or ["output"]
        return f"a step has no `{kind}`", f"did you mean {{{step}.{close[0]}}}?"
    if step in every:
        return (
            f"{match[0]} names a step that has not run yet",
            "move that step before this one",
        )
    close = nearest(step, earlier)
    listed = f"earlier steps are: {', '.join(earlier)}" if earlier else "no step runs before this"
    return (
        f"{match[0]} names no step",
        f"did you mean {{{close[0]}.{kind}}}?" if close else listed,
    )
