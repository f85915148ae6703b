"""Which files `tongs lint` looks at, and what the linter has to know about this place."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from tongs.authoring.lint import RULES, in_order
from tongs.authoring.lint.executables import not_executable
from tongs.authoring.lint.loading import named
from tongs.authoring.lint.manifest_files import interpreted
from tongs.authoring.lint.names import check_calls, check_names, check_servers
from tongs.config.environment import host_environment
from tongs.config.named import CONFIGS, ENDINGS, PROFILES
from tongs.config.ownership import why_not_own
from tongs.config.places import Places, find_places
from tongs.config.servers import FOLDER
from tongs.core.errors import DefinitionInvalid, ErrorCode, Problem, ToolError
from tongs.core.record import dataclass
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.registry import Entry
from tongs.runtime import Runtime
from tongs.runtime.lint_files import (
    CONFIG,
    CONFIG_FILE,
    SERVER,
    SETTINGS,
    Found,
    Linter,
    config_entries,
    config_entries_in,
    look_at_config,
    named_entry,
)
from tongs.runtime.lint_requirements import unmet
from tongs.runtime.shapes import (
    EXECUTABLE,
    MANIFEST,
    MANIFESTS,
    OF_FAMILY,
    YAML,
    listed,
    manifest_in,
    shape_at,
)

# Where a project keeps its tools, each with its family. A folder that has none of them is looked
# at itself.
_TOOL_FOLDERS = (
    (".tongs/tools", "tongs"),
    (".cycod/tools", "cycod"),
    ("kodelet-tools", "kodelet"),
    (".kodelet/tools", "kodelet"),
    (".glee/tools", "glee"),
)
# The format of a file that would be an executable if it had the bit.
_UNLISTED = ""


@dataclass(frozen=True, slots=True)
class Report:
    """`files` are those that were looked at; the problems stand in the order of their lines."""

    files: tuple[str, ...]
    problems: tuple[Problem, ...]
    # What was made of each file, for whoever mends them.
    found: tuple[Found, ...] = ()


def linter_of(runtime: Runtime) -> Linter:
    return Linter(runtime.definitions.catalogue, runtime.settings, runtime.places.root)


def lint_scopes(runtime: Runtime, scope: Scope = Scope.ANY) -> Report:
    """Every definition that a call at this place could find, and every config file."""
    linter = linter_of(runtime)
    found = [linter.look(entry) for entry in runtime.definitions.catalogue.folders.files()]
    for item in found:
        item.problems += _place(item.entry)
        item.trusted = item.entry.trust.holds
    found += _unlisted(runtime, scope)
    problems = _together(found, frozenset(), server_names(runtime))
    problems += _servers_names(runtime, found)
    settings = [look_at_config(entry) for entry in config_entries(runtime.places)]
    for item in settings:
        item.problems += _place(item.entry)
        problems += item.problems
    found += settings
    problems += runtime.settings.ignored
    wanted = [item for item in found if scope.covers(item.entry.scope)]
    problems += unmet(runtime, wanted)
    return _report(wanted, problems)


def lint_configs(places: Places, scope: Scope, why: DefinitionInvalid) -> Report:
    """The config files alone, and `why` there is no runtime that could look at the tools."""
    found = [look_at_config(entry) for entry in config_entries(places, scope)]
    problems = [problem for item in found for problem in item.problems]
    known = {(problem.file, problem.line, problem.message) for problem in problems}
    others = [p for p in named(why.problems) if (p.file, p.line, p.message) not in known]
    files = {item.entry.path for item in found} | {problem.file for problem in others}
    return Report(tuple(sorted(files)), tuple(in_order([*problems, *others])), tuple(found))


def lint_paths(runtime: Runtime, paths: Sequence[str]) -> Report:
    """These files, and the definitions lying in these folders; ToolError if one is not there."""
    linter = linter_of(runtime)
    entries = runtime.definitions.catalogue.folders.files()
    known = frozenset(entry.name for entry in entries)
    by_path = {os.path.realpath(entry.path): entry for entry in entries}
    servers = server_names(runtime)
    problems: list[Problem] = []
    looked: dict[str, Found] = {}
    by_hand = {os.path.abspath(path) for path in paths}
    for group in _groups(paths):
        found = []
        for entry in group:
            listed_as = by_path.get(os.path.realpath(entry.path))
            if entry.format in SETTINGS:
                found.append(look_at_config(entry))
            elif entry.format == _UNLISTED:
                found.append(Found(entry, [not_executable(entry.path)]))
            else:
                seen = linter.look(listed_as or entry, project=_project(runtime, entry))
                seen.trusted = listed_as is not None and listed_as.trust.holds
                found.append(seen)
        problems += _together(found, known, servers)
        problems += unmet(runtime, found)
        for item in found:
            item.by_hand = item.entry.path in by_hand
            looked[item.entry.path] = item
    return _report(looked.values(), problems)


def _groups(paths: Sequence[str]) -> Iterator[list[Entry]]:
    """The files to look at, one list for each folder: names clash only inside one."""
    single: dict[str, list[Entry]] = {}
    for path in map(os.path.abspath, paths):
        if not os.path.isdir(path):
            single.setdefault(os.path.dirname(path), []).append(_named(path))
            continue
        inside = [pair for pair in _TOOL_FOLDERS if os.path.isdir(os.path.join(path, pair[0]))]
        if settings := [*config_entries_in(os.path.join(path, ".tongs"))]:
            yield settings
        elif not inside and (manifest := manifest_in(path)) is not None:
            single.setdefault(path, []).append(_named(manifest))
            continue
        elif not inside:
            inside = [("", "tongs")]
        for folder, family in inside:
            yield _in_folder(os.path.join(path, folder).rstrip(os.sep), family)
    yield from ([*{entry.path: entry for entry in group}.values()] for group in single.values())


def _named(path: str) -> Entry:
    """A file that somebody named, by what it looks like."""
    folder, name = os.path.split(path)
    if name == CONFIG_FILE and os.path.basename(folder) != "tools":
        return Entry(CONFIG_FILE, path=path, format=CONFIG)
    if os.path.basename(folder) in (CONFIGS, PROFILES) and name.endswith(ENDINGS):
        return named_entry(path)
    if os.path.basename(folder) == FOLDER and name.endswith(ENDINGS):
        return named_entry(path, shape=SERVER)
    if name in MANIFESTS and os.path.basename(folder) != "tools":
        return Entry(os.path.basename(folder), path=path, format=MANIFEST)
    shape = shape_at(path)
    if shape == YAML and not name.endswith((".yaml", ".yml")) and interpreted(path):
        return Entry(name, path=path, format=_UNLISTED)
    return Entry(os.path.splitext(name)[0] if shape == YAML else name, path=path, format=shape)


def _in_folder(folder: str, family: str) -> list[Entry]:
    entries = []
    try:
        found = sorted(listed(folder, OF_FAMILY[family]))
    except OSError as error:
        message = f"{folder} cannot be read: {error.strerror}"
        raise ToolError(ErrorCode.INVALID_PATH, message, hint="check who may read it") from None
    for name, shape, _ in found:
        stem = os.path.dirname(name) or os.path.splitext(name)[0]
        path = os.path.join(folder, name)
        entries.append(Entry(stem, path=path, format=shape, family=family))
    return entries + [
        Entry(os.path.basename(path), path=path, format=_UNLISTED, family=family)
        for path in _without_bit(folder, family)
    ]


def _unlisted(runtime: Runtime, scope: Scope) -> Iterator[Found]:
    """What lies in a tool folder and would be a tool, if it were executable."""
    custom = runtime.settings.custom_tools
    for place in SEARCH_ORDER if custom.enabled else ():
        if not scope.covers(place):
            continue
        for folder, family in runtime.places.tool_folders(
            place, global_dir=custom.global_dir, local_dir=custom.local_dir
        ):
            for path in _without_bit(folder, family):
                name = os.path.basename(path)
                entry = Entry(name, scope=place, format=_UNLISTED, family=family, path=path)
                yield Found(entry, [not_executable(path)])


def _without_bit(folder: str, family: str) -> list[str]:
    if EXECUTABLE not in OF_FAMILY[family]:
        return []
    found = []
    with suppress(OSError), os.scandir(folder) as files:
        for file in files:
            # A `.py` file without the bit is a tool of another kind, but for Kodelet.
            other = file.name.endswith((".yaml", ".yml")) or (
                family == "tongs" and file.name.endswith(".py")
            )
            if file.name.startswith(".") or other or not file.is_file():
                continue
            if not file.stat().st_mode & 0o111 and interpreted(file.path):
                found.append(file.path)
    return sorted(found)


def _project(runtime: Runtime, entry: Entry) -> str:
    """Where the relative paths of a manifest start that no scope has."""
    places = find_places(os.path.dirname(entry.path), host_environment())
    return places.project or runtime.places.root


def _servers_names(runtime: Runtime, found: Sequence[Found]) -> Iterator[Problem]:
    """Names that begin with that of a server are the server's: a file has its qualified one."""
    for item in found:
        if runtime.definitions.catalogue.is_served(item.entry.name):
            message = f"`{item.entry.name}` is kept for an MCP server"
            fix = f"choose another name, or call it as {item.entry.qualified_name}"
            severity = RULES["reserved-name"].severity
            yield Problem(
                item.entry.path, message, rule="reserved-name", severity=severity, hint=fix
            )


def server_names(runtime: Runtime) -> frozenset[str]:
    """Every MCP server that is written down somewhere, whether it counts yet or not."""
    files = runtime.settings_files
    written = [voice.settings.data.get("mcp") or {} for voice in files.voices().all]
    names = {name for each in written for name in each.get("servers") or ()}
    return frozenset({*names, *files.servers().names()})


def _together(
    found: Sequence[Found], known: frozenset[str], servers: frozenset[str]
) -> list[Problem]:
    """The problems of each file, and those that show only beside the others."""
    tools = [item for item in found if item.entry.format not in (_UNLISTED, *SETTINGS)]
    entries = [item.entry for item in tools]
    documents = {item.entry.path: item.document for item in tools if item.document is not None}
    named_definitions = [(item.entry.name, each) for item in tools for each in item.definitions]
    names = known | {entry.name for entry in entries}
    problems = [problem for item in found for problem in item.problems]
    problems += check_names(entries, documents)
    problems += check_calls(named_definitions, names)
    problems += check_servers(named_definitions, servers)
    return problems


def _place(entry: Entry) -> list[Problem]:
    """User and global folders are trusted for their place, so it must be the person's own."""
    if entry.scope is Scope.LOCAL:
        return []
    folder = os.path.dirname(entry.path)
    around = os.path.dirname(folder) if entry.format == MANIFEST else folder
    reasons = (why_not_own(path) for path in (around, folder, entry.path))
    reason = next(filter(None, reasons), None)
    return [Problem(entry.path, reason, rule="place", hint=RULES["place"].fix)] if reason else []


def _report(found: Iterable[Found], problems: Sequence[Problem]) -> Report:
    items = tuple(found)
    wanted = {item.entry.path for item in items}
    kept = [problem for problem in problems if problem.file in wanted]
    return Report(tuple(sorted(wanted)), tuple(in_order(kept)), items)
