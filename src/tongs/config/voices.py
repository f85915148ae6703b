"""Everything that speaks when settings are made: config.yml three times, a profile, Glee."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from tongs.config.named import PROFILES, NamedConfigs, Voice
from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.config.settings import Ceiling, Parse, Trusted, may_exist
from tongs.core.errors import DefinitionInvalid, Problem, Severity
from tongs.core.permissions import Permissions
from tongs.core.record import dataclass, replace
from tongs.core.scope import Scope
from tongs.schema.document import Document


@dataclass(frozen=True, slots=True)
class Voices:
    """The weakest first. The rest is what the file of another system adds."""

    all: tuple[Voice, ...]
    named: NamedConfigs
    ceilings: tuple[Ceiling, ...] = ()
    ignored: tuple[Problem, ...] = ()
    # Lines that are meant for that system alone; nobody needs to be warned about them.
    foreign: tuple[Problem, ...] = ()


def read_voices(
    places: Places,
    parse: Parse,
    *,
    project_trusted: Trusted = False,
    profile: str | None = None,
    parse_named: Parse | None = None,
    parse_foreign: Parse | None = None,
) -> Voices:
    """As `load_settings`, before anything is merged."""

    def trusted(document: Document) -> bool:
        return project_trusted if isinstance(project_trusted, bool) else project_trusted(document)

    problems: list[Problem] = []
    voices = list(_config_files(places, parse, trusted, problems))
    named = NamedConfigs(places, parse_named or parse, trusted, tuple(voices))
    if profile is not None:
        try:
            voices += _profile(named, profile)
        except DefinitionInvalid as invalid:
            problems += invalid.problems
    if problems:
        raise DefinitionInvalid(problems)
    return _with_foreign(Voices(tuple(voices), named), places, parse_foreign or parse, trusted)


def _config_files(
    places: Places, parse: Parse, trusted: Callable[[Document], bool], problems: list[Problem]
) -> Iterator[Voice]:
    from tongs.schema.check_document import require_valid  # noqa: PLC0415 - where there is a file

    for scope, path in places.config_files():
        if not may_exist(path):
            continue
        if scope is not Scope.LOCAL and (reason := _not_own(path)):
            problems.append(Problem(path, reason, rule="ownership"))
            continue
        try:
            document = require_valid(parse(path), "config")
        except DefinitionInvalid as invalid:
            problems += invalid.problems
            continue
        yield Voice(document, scope, scope is not Scope.LOCAL or trusted(document))


def _profile(named: NamedConfigs, name: str) -> list[Voice]:
    voices = named.find(PROFILES, name)
    if not voices:
        from tongs.schema.nearest import did_you_mean  # noqa: PLC0415 - only for the message

        known = named.names(PROFILES)
        hint = f"there are: {', '.join(known)}" if known else "write one: profiles/NAME.yml"
        message = f"there is no profile `{name}`{did_you_mean(name, known)}"
        raise DefinitionInvalid([Problem("--profile", message, rule="profile", hint=hint)])
    return voices


def _with_foreign(
    voices: Voices, places: Places, parse: Parse, trusted: Callable[[Document], bool]
) -> Voices:
    """`.glee/config.yml`: its ceiling holds, and nothing else of it means anything here.

    One that cannot be read may have had a ceiling, so it stands for the lowest.
    """
    path = places.foreign_config
    if path is None or not may_exist(path):
        return voices
    try:
        document = parse(path)
        vouched = trusted(document)
        ceilings = tuple(replace(one, vouched=vouched) for one in _glee_ceiling(document))
    except (DefinitionInvalid, OSError) as trouble:
        problem = Problem(path, f"its ceiling is taken as nothing at all: {trouble}")
        lowest = Ceiling(Permissions(), path, vouched=False)
        return replace(voices, ceilings=(lowest,), ignored=(_warning(problem),))
    others: list[tuple[str, ...]] = [(key,) for key in document.data if key != "security"]
    if isinstance(security := document.data.get("security"), dict):
        others += [("security", key) for key in security if key != "max_permissions"]
    foreign = [
        document.problem(path, "has no effect: only security.max_permissions is read")
        for path in others
    ]
    return replace(voices, ceilings=ceilings, foreign=tuple(map(_warning, foreign)))


def _glee_ceiling(document: Document) -> tuple[Ceiling, ...]:
    from tongs.config.merging import ceiling_of  # noqa: PLC0415 - where there is such a file
    from tongs.schema.check_document import check_document  # noqa: PLC0415 - as above

    if not isinstance(document.data, dict):
        raise DefinitionInvalid([document.problem((), "must be keys and values")])
    if not isinstance(document.data.get("security"), dict):
        return ()
    security = document.only(("security",))
    inner = security.at(("security",)).only(("max_permissions",))
    alone = Document({"security": inner.data}, [security.lines[0], inner.lines], document.source)
    if problems := check_document(alone, "config"):
        raise DefinitionInvalid(problems)
    found = ceiling_of(alone)
    return () if found is None else (found,)


def _warning(problem: Problem) -> Problem:
    return replace(problem, severity=Severity.WARNING, rule="config-ignored")


def _not_own(path: str) -> str | None:
    return why_not_own(path) or why_not_own(os.path.dirname(path))
