"""`tongs lint`: what is wrong with tool definitions, why, and how to mend it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from tongs.authoring.lint.rules import why
from tongs.config.environment import host_environment
from tongs.config.places import find_places
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Severity
from tongs.core.scope import Scope
from tongs.runtime import Runtime
from tongs.runtime.fixing import Fixed, fix
from tongs.runtime.lint_files import Linter
from tongs.runtime.linting import Report, lint_configs, lint_paths, lint_scopes, linter_of
from tongs.surfaces.cli.failure import OK, USAGE, result_json
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.lint_report import show, show_fixed
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options

_PAGE = "tongs help lint"


def options(parser: Parser) -> None:
    parser.add_argument("paths", nargs="*", metavar="PATH")
    parser.add_argument("--root", metavar="DIR")
    add_scope_options(parser, default="any")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--fix", action="store_true")
    parser.add_argument("--dry-run", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--sarif", action="store_true")


def run(invocation: Invocation) -> int:
    _refuse_contradictions(invocation.options)
    root = _root(invocation)
    report, fixed = _looked(invocation)
    counts = Counter(problem.severity.value for problem in report.problems)
    if invocation.options.sarif:
        from tongs._version import __version__  # noqa: PLC0415 - SARIF only
        from tongs.authoring.lint.sarif import sarif  # noqa: PLC0415 - as above

        invocation.console.data(result_json(sarif(report.problems, root, __version__)))
    elif invocation.options.json:
        invocation.console.data(result_json(_wire(report, counts, fixed)))
    else:
        show(invocation.console, report, counts)
    failed = counts["error"] or (invocation.options.strict and counts["warning"])
    return USAGE if failed else OK


def _refuse_contradictions(options: Any) -> None:
    paths, root = options.paths, options.root
    for path in (*paths, *([root] if root is not None else [])):
        if not os.path.exists(path):
            raise UsageError(f"lint: there is no file or folder `{path}`")
    if root is not None and not os.path.isdir(root):
        raise UsageError(f"lint: `{root}` is no folder", "name a file without --root")
    for first, second in (
        ("--root" if root is not None else "", "PATH" if paths else ""),
        ("--scope" if options.scope != "any" else "", "PATH" if paths else ""),
        ("--scope" if options.scope != "any" else "", "--root" if root is not None else ""),
        ("--json" if options.json else "", "--sarif" if options.sarif else ""),
    ):
        if first and second:
            raise UsageError(f"lint: {first} and {second} cannot be used together", _PAGE)
    if options.dry_run and not options.fix:
        raise UsageError("lint: --dry-run needs --fix", "tongs lint --fix --dry-run")


def _root(invocation: Invocation) -> str:
    """Where the names of files start in a report for a code host."""
    start = invocation.options.root or os.curdir
    return find_places(os.path.abspath(start), host_environment()).root


def _looked(invocation: Invocation) -> tuple[Report, list[Fixed]]:
    """The report, after whatever could be mended was mended."""
    paths, root = invocation.options.paths, invocation.options.root
    scope = Scope.LOCAL if root is not None else invocation.scope
    try:
        if root is not None:
            with Runtime.open(
                root, log_level=invocation.options.log_level, single_thread=True
            ) as runtime:
                project = runtime.places.project == os.path.realpath(root)
                return _mended(
                    invocation,
                    runtime,
                    lambda: lint_scopes(runtime, scope) if project else lint_paths(runtime, [root]),
                )
        runtime = invocation.runtime
    except DefinitionInvalid as invalid:
        return _config_alone(invocation, invalid, scope)
    return _mended(
        invocation,
        runtime,
        lambda: lint_paths(runtime, paths) if paths else lint_scopes(runtime, scope),
    )


def _mended(
    invocation: Invocation, runtime: Runtime, look: Callable[[], Report]
) -> tuple[Report, list[Fixed]]:
    report = look()
    if not invocation.options.fix:
        return report, []
    fixed = _fix(invocation, report, linter_of(runtime))
    return (look() if _changed(fixed, invocation) else report), fixed


def _config_alone(
    invocation: Invocation, invalid: DefinitionInvalid, scope: Scope
) -> tuple[Report, list[Fixed]]:
    """With a wrong config file no tool can be looked at: it might say where they are."""
    places = find_places(os.path.abspath(invocation.options.root or os.curdir), host_environment())
    report = lint_configs(places, scope, invalid)
    fixed = _fix(invocation, report, None) if invocation.options.fix else []
    if _changed(fixed, invocation):
        later, more = _looked(invocation)
        return later, [*fixed, *more]
    invocation.console.say("the tools were not looked at: the config has to be mended first")
    return report, fixed


def _fix(invocation: Invocation, report: Report, linter: Linter | None) -> list[Fixed]:
    fixed = fix(
        report.found,
        lambda item, data: item.again(linter, data),
        dry_run=invocation.options.dry_run,
    )
    if not (invocation.options.json or invocation.options.sarif):
        show_fixed(invocation.console, fixed, dry_run=invocation.options.dry_run)
    return fixed


def _changed(fixed: Sequence[Fixed], invocation: Invocation) -> bool:
    return not invocation.options.dry_run and any(not each.failure for each in fixed)


def _wire(report: Report, counts: Counter[str], fixed: Sequence[Fixed]) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "problems": [
            {**problem.to_wire(), "why": why(problem.rule)} for problem in report.problems
        ],
        "counts": {severity.value: counts[severity.value] for severity in reversed(Severity)},
        "files": len(report.files),
    }
    if fixed:
        wire["fixed"] = [
            {
                "file": each.file,
                "changes": [{"line": line, "what": what} for line, what in each.done],
                "needsTrust": each.needs_trust,
                "failure": each.failure,
            }
            for each in fixed
        ]
    return wire
