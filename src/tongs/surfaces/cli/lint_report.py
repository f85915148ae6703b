"""What `tongs lint` tells a person."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence

from tongs.authoring.lint.loading import with_subject
from tongs.authoring.lint.rules import why
from tongs.core.errors import Problem
from tongs.output import visible
from tongs.runtime.fixing import Fixed
from tongs.runtime.linting import Report
from tongs.surfaces.cli.console import Console

_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def show(console: Console, report: Report, counts: Counter[str]) -> None:
    """Each finding with file and line, rule, why, and fix; then how many there are."""
    if not report.files:
        console.say("no tools found")
        console.hint("tongs help lint")
        return
    before = ""
    for problem in report.problems:
        if before and problem.file != before:
            console.styled("\n")
        before = problem.file
        for line in _lines(console, problem):
            console.styled(f"{line}\n")
    if report.problems:
        console.styled("\n")
    console.styled(f"{_summary(report, counts)}\n")


def show_fixed(console: Console, fixed: Sequence[Fixed], *, dry_run: bool) -> None:
    """What was done, or the difference it would make."""
    for each in fixed:
        if each.failure:
            console.warn(f"{_shown(each.file)} was not mended: {visible(each.failure)}")
        elif dry_run:
            console.data(_difference(each))
        else:
            for line, what in each.done:
                where = _shown(each.file) + (f":{line}" if line else "")
                console.styled(f"{console.paint('fixed', 'green')} {visible(f'{where}: {what}')}\n")
    if not dry_run and any(each.needs_trust for each in fixed):
        console.flush()  # where both streams lead to one place, what was done comes first
        console.hint("what was mended has changed, and has to be trusted again: tongs trust")
    if any(not each.failure for each in fixed):
        console.styled("\n")


def _difference(fixed: Fixed) -> str:
    from difflib import unified_diff  # noqa: PLC0415 - where somebody wants to see one

    name = _shown(fixed.file)
    if fixed.before == fixed.after:
        return "".join(f"would {what}\n" for _, what in fixed.done)
    lines = unified_diff(
        fixed.before.splitlines(keepends=True), fixed.after.splitlines(keepends=True), name, name
    )
    return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)


def _lines(console: Console, problem: Problem) -> Iterator[str]:
    where = _shown(problem.file) + (f":{problem.line}" if problem.line else "")
    severity = console.paint(problem.severity.value, _COLORS[problem.severity.value])
    yield (
        f"{console.paint(visible(where), 'bold')}: {severity} {problem.rule}:"
        f" {visible(with_subject(problem))}"
    )
    for label, text in (("why:", why(problem.rule)), ("fix:", problem.hint)):
        first, *more = visible(text).split("\n") if text else ("",)
        if text:
            yield f"    {console.paint(label, 'dim')} {first}"
        yield from (f"         {line}" for line in more)


def _shown(path: str) -> str:
    """As short as it can be typed here."""
    here = os.path.relpath(path)
    return path if here.startswith(os.pardir) else here


def _summary(report: Report, counts: Counter[str]) -> str:
    files = _counted(len(report.files), "file")
    if not report.problems:
        return f"{files} checked, nothing found"
    found = [_counted(counts[severity], severity) for severity in _COLORS if counts[severity]]
    return f"{files} checked: {', '.join(found)}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
