"""Find mistakes and traps in tool definitions.

    rules         every rule: its name, how much it matters, why, and the fix
    view          a definition as the checks see it
    loading       what makes a definition unusable
    placeholders  unknown, unused and RAW names
    commands      shell and `run:` texts as words; `options` and `urls` look at those words
    scripts       keys without effect
    settings      timeouts, environment, descriptions, tags
    names         definitions side by side
    manifests     manifests; `manifest_files` looks at the files they name
    executables   executables, and what they say of themselves
    shared        the keys that mean the same in every shape
    fixes         what can be mended by itself
    sarif         the report for code hosts

A check is a function of a Definition that yields Problems. To add one, give its rule a row in
`rules` and list it in CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tongs.authoring.lint.loading import SHAPELESS, load_problems, program_problems
from tongs.authoring.lint.options import bare_booleans, missing_end_of_options
from tongs.authoring.lint.placeholders import (
    raw_placeholders,
    unknown_placeholders,
    unknown_steps,
    unused_parameters,
)
from tongs.authoring.lint.rules import RULES, Rule
from tongs.authoring.lint.scripts import arguments_unused, ignored_keys, platforms
from tongs.authoring.lint.settings import (
    descriptions,
    environment_names,
    security_tags,
    step_names,
    timeouts,
)
from tongs.authoring.lint.shared import Declared, shared_problems
from tongs.authoring.lint.urls import urls_without_encoding
from tongs.authoring.lint.view import Definition, Format, definitions
from tongs.core.errors import Problem
from tongs.schema.document import Document

CHECKS: tuple[Callable[[Definition], Iterator[Problem]], ...] = (
    program_problems,
    raw_placeholders,
    bare_booleans,
    unknown_placeholders,
    unknown_steps,
    unused_parameters,
    missing_end_of_options,
    urls_without_encoding,
    arguments_unused,
    ignored_keys,
    platforms,
    timeouts,
    environment_names,
    step_names,
    descriptions,
    security_tags,
)


def lint_document(document: Document, format_: Format) -> list[Problem]:
    """Every Problem of one file by itself, in the order of its lines."""
    problems = load_problems(document, format_)
    if not any(problem.rule in SHAPELESS for problem in problems):
        for definition in definitions(document, format_):
            for check in CHECKS:
                problems += check(definition)
        problems += shared_problems(_declared(document, format_))
    return in_order(problems)


def _declared(document: Document, format_: Format) -> Declared:
    inputs = format_.inputs(document.data.get("parameters") or {})
    return Declared(document.source, document.data, inputs, document)


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """By file and line, each finding once."""
    once = {(p.file, p.line, p.rule, p.message): p for p in reversed(list(problems))}
    return sorted(once.values(), key=lambda p: (p.file, p.line, p.rule, p.message))


__all__ = ["CHECKS", "RULES", "Format", "Rule", "in_order", "lint_document"]
