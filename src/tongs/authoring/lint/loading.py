"""What makes a definition unusable: everything that loading it says, and what it would say next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from tongs.authoring.lint.rules import RULES
from tongs.authoring.lint.view import SHELLS, Definition, Format
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import replace
from tongs.schema.document import Document
from tongs.template.shell import check_programs
from tongs.template.values import TemplateError

# With one of these the data does not have the shape that the other checks rely on.
SHAPELESS = frozenset({"yaml", "colon-trap", "schema"})


def load_problems(document: Document, format_: Format) -> list[Problem]:
    """Why this document cannot be loaded; empty if it can."""
    try:
        format_.load(document)
    except DefinitionInvalid as invalid:
        return named(invalid.problems)
    return []


def named(problems: Iterable[Problem], fixes: Mapping[str, str] | None = None) -> list[Problem]:
    """Problems of the loader with the linter's names for them, each with something to do.

    `fixes` by rule say it better than the rules themselves for one kind of file.
    """
    return [_named(problem, fixes or {}) for problem in problems]


def with_subject(problem: Problem) -> str:
    """The message, with its subject where it has none."""
    if problem.field and problem.message.startswith(("must ", "is ", "has ", "the default ")):
        return f"{problem.field} {problem.message}".replace(" the default ", ": the default ")
    return problem.message


def _named(problem: Problem, fixes: Mapping[str, str]) -> Problem:
    rule = problem.rule
    if rule == "yaml" and "`: `" in problem.message:
        rule = "colon-trap"
    if rule == "ownership":
        rule = "place"
    fix = fixes.get(rule) or (RULES[rule].fix if rule in RULES else "")
    return replace(problem, rule=rule, hint=problem.hint or fix)


def program_problems(definition: Definition) -> Iterator[Problem]:
    """Every value that a second interpreter would run; loading stops at the first of a script."""
    for passage in definition.passages:
        if passage.language not in SHELLS:
            continue
        try:
            errors = check_programs(passage.text, passage.slots, dialect=passage.language)
        except TemplateError:
            # Loading has said so already.
            continue
        for error in errors:
            rule = error.rule or "second-interpreter"
            yield definition.finding(
                rule, passage.path, error.message, fix=error.hint, offset=error.offset
            )
