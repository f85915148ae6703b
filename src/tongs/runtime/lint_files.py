"""One file of any shape as the linter sees it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tongs.authoring.lint import RULES, Format, lint_document
from tongs.authoring.lint.executables import (
    lint_description,
    no_interpreter_line,
    not_asked,
    refused,
)
from tongs.authoring.lint.loading import SHAPELESS, named
from tongs.authoring.lint.manifest_files import is_plain_text
from tongs.authoring.lint.manifests import ManifestPlace, lint_manifest
from tongs.authoring.lint.view import Definition, definitions
from tongs.config.environment import host_environment
from tongs.config.named import named_files, problems_of
from tongs.config.places import Places
from tongs.config.servers import is_name, server_files
from tongs.config.settings import Settings
from tongs.core.digest import digest_of
from tongs.core.errors import DefinitionInvalid, Problem, ToolError
from tongs.core.record import dataclass, field, replace
from tongs.core.scope import Scope
from tongs.core.tool import Origin, Tool
from tongs.formats import executable, manifest, python_file, yaml, yaml_parameters
from tongs.formats.yaml_steps import Host
from tongs.registry import Entry
from tongs.runtime.bundle import bundle
from tongs.runtime.catalogue import Catalogue
from tongs.runtime.ruling import rule_problems
from tongs.runtime.shapes import EXECUTABLE, MANIFEST, MANIFESTS, PYTHON
from tongs.runtime.wiring import default_shell, platform
from tongs.schema.check_document import check_document
from tongs.schema.document import MAX_BYTES, Document, parse, parse_config
from tongs.store.files import read_whole

CONFIG, NAMED, SERVER = "config", "named", "server"
# The format of an entry and the schema of its file.
SCHEMAS = {
    "yaml": yaml.SCHEMA,
    "manifest": manifest.SCHEMA,
    CONFIG: "config",
    NAMED: "config",
    SERVER: "server",
}
# Those that define no tool.
SETTINGS = (CONFIG, NAMED, SERVER)
CONFIG_FILE = "config.yml"
_FIXES = {shape: {"schema": f"compare with `tongs schema {SCHEMAS[shape]}`"} for shape in SETTINGS}


@dataclass(slots=True)
class Found:
    """One file and what could be made of it."""

    entry: Entry
    problems: list[Problem]
    document: Document | None = None
    definitions: list[Definition] = field(default_factory=list)
    # Where the relative paths of a manifest start.
    base: str = ""
    # The person named this very file.
    by_hand: bool = False
    # What it defines, where that can be loaded, and whether that may be run.
    tool: Tool | None = None
    trusted: bool = False

    def again(self, linter: Linter | None, data: bytes) -> Found:
        """The same file with other content."""
        if linter is None or self.entry.format in SETTINGS:
            return look_at_config(self.entry, data)
        seen = linter.look(self.entry, data, project=self.base)
        return Found(self.entry, seen.problems, seen.document, base=seen.base, by_hand=self.by_hand)


class Linter:
    """Looks at files of all shapes. Runs nothing that the person has not trusted."""

    def __init__(self, catalogue: Catalogue, settings: Settings, root: str) -> None:
        self._catalogue = catalogue
        # Where the relative paths of the project's tools start.
        self._root = root
        host = self._host = Host(platform(), default_shell(settings, host_environment()))
        self._format = Format(
            load=lambda document: yaml.load(document, Origin(format="yaml"), host),
            slots=yaml_parameters.slots,
            inputs=yaml_parameters.input_schema,
            default_shell=host.default_shell,
        )

    def look(self, entry: Entry, data: bytes | None = None, *, project: str = "") -> Found:
        """What is wrong with a file, or with `data` in its place.

        `project` is where a manifest belongs that lies in no tool folder.
        """
        try:
            if entry.format == EXECUTABLE:
                return self._executable(entry, project)
            if entry.format == PYTHON:
                return Found(entry, self._python(entry, project))
            data = self._catalogue.folders.read(entry.path) if data is None else data
            document = parse(data, entry.path)
        except ToolError as error:
            fix = RULES["unreadable"].fix
            return Found(entry, [Problem(entry.path, error.message, rule="unreadable", hint=fix)])
        except DefinitionInvalid as invalid:
            return Found(entry, named(invalid.problems))
        if entry.format == MANIFEST:
            return self._manifest(entry, document, project)
        problems = lint_document(document, self._format)
        shaped = not any(problem.rule in SHAPELESS for problem in problems)
        views = list(definitions(document, self._format)) if shaped else []
        seen = Found(_renamed(entry, yaml.name_of(document)), problems, document, views)
        if shaped and _requires(document):
            seen.tool = _loaded(lambda: yaml.load(document, Origin(path=entry.path), self._host))
        return seen

    def _manifest(self, entry: Entry, document: Document, project: str) -> Found:
        origin = self._origin(entry, project)
        base = origin.project or os.path.dirname(entry.path)

        def load(document: Document) -> Tool:
            tool = manifest.load(document, origin)
            # Trust covers the whole directory, so it must be one that can be read.
            try:
                bundle(os.path.dirname(entry.path), tool.parts)
            except DefinitionInvalid as invalid:
                raise DefinitionInvalid([_about(entry.path, p) for p in invalid.problems]) from None
            return tool

        problems = lint_manifest(document, ManifestPlace(load, base))
        folder = os.path.dirname(entry.path)
        if all(os.path.lexists(os.path.join(folder, name)) for name in MANIFESTS):
            message = f"{' and '.join(MANIFESTS)} define the same tool; {MANIFESTS[0]} is read"
            problems.append(_finding("duplicate-file", entry.path, message))
        name = manifest.name_of(document)
        seen = Found(_renamed(entry, name), problems, document, base=base)
        seen.tool = _loaded(lambda: load(document)) if _requires(document) else None
        return seen

    def _executable(self, entry: Entry, project: str) -> Found:
        describer = self._catalogue.folders.describer()
        data = describer.read(entry.path)
        problems = [no_interpreter_line(entry.path)] if is_plain_text(entry.path) else []
        origin = replace(self._origin(entry, project), digest=digest_of(data))
        if not describer.trust(origin).holds:
            return Found(entry, [*problems, not_asked(entry.path)])
        try:
            described = describer.described(origin, data)
        except DefinitionInvalid as invalid:
            return Found(entry, [*problems, *refused(invalid)])

        def load() -> Tool:
            return executable.load(described, origin, data, describer.settings)

        problems += lint_description(entry.path, described.description, load)
        return Found(entry, problems, tool=_loaded(load))

    def _python(self, entry: Entry, project: str) -> list[Problem]:
        """It is imported once it is trusted; its tools are told as those of an executable are."""
        data = self._catalogue.folders.read(entry.path)
        files = self._catalogue.folders.python_files()
        origin = replace(self._origin(entry, project), digest=digest_of(data))
        if not files.trust(origin).holds:
            return [not_asked(entry.path)]
        try:
            python_file.load(files.described(origin, data), origin, data)
        except DefinitionInvalid as invalid:
            return refused(invalid)
        return []

    def _origin(self, entry: Entry, project: str) -> Origin:
        local = entry.scope is Scope.LOCAL
        return Origin(
            scope=entry.scope,
            path=entry.path,
            format=entry.format,
            family=entry.family,
            project=(project or self._root) if local else None,
        )


def _loaded(load: Callable[[], Tool]) -> Tool | None:
    """The tool; None where its problems have been told already."""
    try:
        return load()
    except DefinitionInvalid:
        return None


def _requires(document: Document) -> bool:
    return isinstance(document.data, dict) and bool(document.data.get("requires"))


def config_entries(places: Places, scope: Scope = Scope.ANY) -> Iterator[Entry]:
    """Every config.yml, named config and profile of a scope."""
    for place, path in places.config_files():
        if scope.covers(place):
            yield from config_entries_in(os.path.dirname(path), place)


def config_entries_in(folder: str, scope: Scope = Scope.LOCAL) -> Iterator[Entry]:
    """The config.yml of a folder, and those beside it that have a name."""
    path = os.path.join(folder, CONFIG_FILE)
    if os.path.lexists(path):
        yield Entry(CONFIG_FILE, path=path, format=CONFIG, scope=scope)
    for file in named_files(folder):
        yield named_entry(file, scope)
    for file in server_files(folder):
        yield named_entry(file, scope, SERVER)


def named_entry(path: str, scope: Scope = Scope.LOCAL, shape: str = NAMED) -> Entry:
    stem = os.path.splitext(os.path.basename(path))[0]
    return Entry(stem, path=path, format=shape, scope=scope)


def look_at_config(entry: Entry, data: bytes | None = None) -> Found:
    """What is wrong with a file of settings, or with `data` in its place."""
    path = entry.path
    try:
        data = read_whole(path, MAX_BYTES) if data is None else data
    except OSError as error:
        return Found(entry, [_finding("unreadable", path, f"cannot be read: {error.strerror}")])
    try:
        document = parse_config(data or b"", path)
    except DefinitionInvalid as invalid:
        return Found(entry, named(invalid.problems))
    if entry.format == NAMED:
        problems = list(problems_of(document))
    else:
        problems = list(check_document(document, SCHEMAS[entry.format]))
    if entry.format == SERVER and not is_name(entry.name):
        problems.append(_bad_server_name(path, entry.name))
    if not problems and entry.format != SERVER:
        problems = list(rule_problems(document, trusted=False))
    return Found(entry, named(problems, _FIXES[entry.format]), document)


def _bad_server_name(path: str, name: str) -> Problem:
    hint = "letters, digits, `-` and single `_` in between"
    return Problem(path, f"{name!r} is no name for a server", rule="schema", hint=hint)


def _about(path: str, problem: Problem) -> Problem:
    """A problem of another file, told of the one that needs it."""
    return replace(problem, file=path, message=f"{problem.file}: {problem.message}")


def _renamed(entry: Entry, name: str) -> Entry:
    return replace(entry, name=name)


def _finding(rule: str, path: str, message: str) -> Problem:
    known = RULES[rule]
    return Problem(path, message, rule=rule, severity=known.severity, hint=known.fix)
