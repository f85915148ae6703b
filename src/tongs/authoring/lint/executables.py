"""What is odd about an executable: its file, and what it says of itself."""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator, Mapping

from tongs.authoring.lint.loading import named
from tongs.authoring.lint.rules import RULES
from tongs.authoring.lint.shared import Declared, input_descriptions, shared_problems
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem, Severity
from tongs.schema.files import load as schema_called
from tongs.schema.nearest import nearest

_FIXES = {
    "definition": "compare with `tongs schema description`",
    "description": RULES["description"].fix,
}


def lint_description(
    path: str, said: Mapping[str, Any], load: Callable[[], object]
) -> list[Problem]:
    """Every Problem of an answer to `description`; `load` raises DefinitionInvalid."""
    try:
        load()
    except DefinitionInvalid as invalid:
        return [*refused(invalid), *_unknown_keys(Declared(path, said, {}))]
    schema = said.get("input_schema")
    declared = Declared(path, said, schema if isinstance(schema, Mapping) else {})
    return [
        *_unknown_keys(declared),
        *_name(declared),
        *input_descriptions(declared, ("input_schema", "properties")),
        *shared_problems(declared),
    ]


def refused(invalid: DefinitionInvalid) -> list[Problem]:
    """Why an executable is no tool, under the linter's names."""
    return named(invalid.problems, _FIXES)


def not_asked(path: str) -> Problem:
    """Nothing of a stranger's is run, not even to lint it."""
    return _finding("not-asked", path, "it is not trusted, so it was not run")


def not_executable(path: str) -> Problem:
    return _finding(
        "no-executable-bit", path, "it has a `#!` line, but is not executable: it is no tool"
    )


def no_interpreter_line(path: str) -> Problem:
    return _finding("no-interpreter-line", path, "it is a text without a `#!` line")


def _finding(rule: str, path: str, message: str) -> Problem:
    known = RULES[rule]
    return Problem(path, message, rule=rule, severity=known.severity, hint=known.fix)


def _unknown_keys(declared: Declared) -> Iterator[Problem]:
    """Other programs may know further keys, so one that is like none of ours is only a note."""
    known = schema_called("description")["properties"]
    for key in declared.data:
        if key in known:
            continue
        close = nearest(str(key), known)
        yield declared.finding(
            "ignored-key",
            (str(key),),
            f"`{key}` in its description has no effect",
            fix=f"did you mean `{close[0]}`?" if close else "",
            severity=Severity.WARNING if close else Severity.NOTE,
        )


def _name(declared: Declared) -> Iterator[Problem]:
    file, said = os.path.basename(declared.file), str(declared.data["name"])
    if said not in (file, os.path.splitext(file)[0]):
        message = f"it calls itself `{said}`, but its file is `{file}`"
        yield declared.finding("name-differs", ("name",), message)
