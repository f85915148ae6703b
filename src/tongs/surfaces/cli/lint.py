"""`tongs lint`: what is wrong with tool definitions, why, and how to mend it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

from tongs.authoring.lint.rules import why
from tongs.core.annotations import Any
from tongs.core.errors import Problem
from tongs.core.scope import Scope
from tongs.output import visible
from tongs.runtime import Runtime
from tongs.runtime.linting import Report, lint_paths, lint_scopes
from tongs.surfaces.cli.console import Console
from tongs.surfaces.cli.failure import OK, USAGE, result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError

_COLORS = {"error": "red", "warning": "yellow", "note": "cyan"}


def options(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--root", metavar="DIR")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--json", action="store_true")


def run(invocation: Invocation) -> int:
    report = _report(invocation)
    counts = Counter(problem.severity.value for problem in report.problems)
    if invocation.options.json:
        invocation.console.data(result_json(_wire(report, counts)))
    else:
        _show(invocation.console, report, counts)
    failed = counts["error"] or (invocation.options.strict and counts["warning"])
    return USAGE if failed else OK


def _report(invocation: Invocation) -> Report:
    paths, root = invocation.options.paths, invocation.options.root
    for path in (*paths, *([root] if root is not None else [])):
        if not os.path.exists(path):
            raise UsageError(f"lint: there is no file or folder `{path}`")
    if root is not None and not os.path.isdir(root):
        raise UsageError(f"lint: `{root}` is no folder", "name a file without --root")
    if root is None:
        return lint_paths(invocation.runtime, paths) if paths else lint_scopes(invocation.runtime)
    if paths:
        raise UsageError("lint: --root and PATH cannot be used together", "tongs help lint")
    return _under(root, invocation)


def _under(root: str, invocation: Invocation) -> Report:
    """The tools of the project at `root`; of a folder that is no project, its definitions."""
    with Runtime.open(root, log_level=invocation.options.log_level, single_thread=True) as runtime:
        if runtime.places.project == os.path.realpath(root):
            return lint_scopes(runtime, Scope.LOCAL)
        return lint_paths(runtime, [root])


def _wire(report: Report, counts: Counter[str]) -> dict[str, Any]:
    return {
        "problems": [
            {**problem.to_wire(), "why": why(problem.rule)} for problem in report.problems
        ],
        "counts": {severity: counts[severity] for severity in _COLORS},
        "files": len(report.files),
    }


def _show(console: Console, report: Report, counts: Counter[str]) -> None:
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


def _lines(console: Console, problem: Problem) -> Iterator[str]:
    where = _shown(problem.file) + (f":{problem.line}" if problem.line else "")
    severity = console.paint(problem.severity.value, _COLORS[problem.severity.value])
    yield (
        f"{console.paint(visible(where), 'bold')}: {severity} {problem.rule}:"
        f" {visible(problem.message)}"
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
