"""Which files `tongs lint` looks at, and what the linter has to know about this place."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from tongs.authoring.lint import RULES, Format, in_order, lint_document
from tongs.authoring.lint.loading import SHAPELESS, named
from tongs.authoring.lint.names import check_calls, check_names
from tongs.authoring.lint.view import Definition, definitions
from tongs.config.environment import host_environment
from tongs.config.ownership import why_not_own
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.record import dataclass, field
from tongs.core.scope import Scope
from tongs.core.tool import Origin
from tongs.formats import yaml, yaml_parameters
from tongs.formats.yaml_steps import Host
from tongs.registry import Entry
from tongs.runtime import Runtime
from tongs.runtime.wiring import default_shell, platform
from tongs.schema.document import Document, parse

# Where a project keeps its tools; a folder that has none of them is looked at itself.
_TOOL_FOLDERS = (".tongs/tools", ".cycod/tools")


@dataclass(frozen=True, slots=True)
class Report:
    """`files` are those that were looked at; the problems stand in the order of their lines."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]


@dataclass(slots=True)
class _Found:
    """One file and what could be made of it."""

    entry: Entry
    problems: list[Problem]
    document: Document | None = None
    definitions: list[Definition] = field(default_factory=list)


def lint_scopes(runtime: Runtime, scope: Scope = Scope.ANY) -> Report:
    """Every definition that a call at this place could find."""
    format_ = _format(runtime)
    found = [_lint(runtime, entry, format_) for entry in runtime.entries()]
    for item in found:
        item.problems += _place(item.entry)
    problems = _together(found, frozenset())
    wanted = {item.entry.path for item in found if scope.covers(item.entry.scope)}
    return _report(wanted, problems)


def lint_paths(runtime: Runtime, paths: Sequence[str]) -> Report:
    """These files, and the definitions lying in these folders; ToolError if one is not there."""
    format_ = _format(runtime)
    known = frozenset(entry.name for entry in runtime.entries())
    problems: list[Problem] = []
    wanted: set[str] = set()
    for files in _folders(paths):
        found = [_lint(runtime, Entry(_stem(path), path=path), format_) for path in files]
        problems += _together(found, known)
        wanted.update(files)
    return _report(wanted, problems)


def tool_files(folder: str) -> list[str]:
    """The definitions directly in a folder, sorted."""
    names = sorted(os.listdir(folder))
    return [
        os.path.join(folder, name)
        for name in names
        if name.endswith(yaml.ENDINGS) and not name.startswith(".")
    ]


def _folders(paths: Sequence[str]) -> Iterator[list[str]]:
    """The files to look at, one list for each folder: names clash only inside one."""
    single: dict[str, list[str]] = {}
    for path in map(os.path.abspath, paths):
        if os.path.isdir(path):
            inside = [folder for folder in _TOOL_FOLDERS if os.path.isdir(f"{path}/{folder}")]
            yield from (tool_files(f"{path}/{folder}") for folder in inside)
            if not inside:
                yield tool_files(path)
        else:
            single.setdefault(os.path.dirname(path), []).append(path)
    yield from (sorted(set(files)) for files in single.values())


def _format(runtime: Runtime) -> Format:
    host = Host(platform(), default_shell(runtime.settings, host_environment()))
    return Format(
        load=lambda document: yaml.load(document, Origin(format="yaml"), host),
        slots=yaml_parameters.slots,
        default_shell=host.default_shell,
    )


def _lint(runtime: Runtime, entry: Entry, format_: Format) -> _Found:
    try:
        data = runtime.definitions.catalogue.read(entry.path)
        document = parse(data, entry.path)
    except ToolError as error:
        fix = RULES["unreadable"].fix
        return _Found(entry, [Problem(entry.path, error.message, rule="unreadable", hint=fix)])
    except DefinitionInvalid as invalid:
        return _Found(entry, named(invalid.problems))
    problems = lint_document(document, format_)
    name = Entry(yaml.name_of(document), scope=entry.scope, family=entry.family, path=entry.path)
    shaped = not any(problem.rule in SHAPELESS for problem in problems)
    return _Found(name, problems, document, list(definitions(document, format_)) if shaped else [])


def _together(found: Sequence[_Found], known: frozenset[str]) -> list[Problem]:
    """The problems of each file, and those that show only beside the others."""
    entries = [item.entry for item in found]
    documents = {item.entry.path: item.document for item in found if item.document is not None}
    named_definitions = [(item.entry.name, each) for item in found for each in item.definitions]
    names = known | {entry.name for entry in entries}
    problems = [problem for item in found for problem in item.problems]
    problems += check_names(entries, documents)
    problems += check_calls(named_definitions, names)
    return problems


def _place(entry: Entry) -> list[Problem]:
    """User and global folders are trusted for their place, so it must be the person's own."""
    if entry.scope is Scope.LOCAL:
        return []
    reason = why_not_own(os.path.dirname(entry.path)) or why_not_own(entry.path)
    return [Problem(entry.path, reason, rule="place", hint=RULES["place"].fix)] if reason else []


def _report(wanted: set[str], problems: Sequence[Problem]) -> Report:
    kept = [problem for problem in problems if problem.file in wanted]
    return Report(tuple(sorted(wanted)), tuple(in_order(kept)))


def _stem(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]
