"""Configs and profiles that have a name: `configs/NAME.yml`, `profiles/NAME.yml`, or `profiles:`.

One holds settings as config.yml does, and any other keys as values for `{config.KEY}`. The nearest
that the person can vouch for is taken. What a project brings along may tighten beside it, and
takes its place only once it is trusted: a project cannot undo a profile by having one of its name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress

from tongs.config.ownership import why_not_own
from tongs.config.places import Places
from tongs.core.annotations import Any
from tongs.core.errors import DefinitionInvalid, Problem
from tongs.core.record import dataclass, replace
from tongs.core.scope import SEARCH_ORDER, Scope
from tongs.schema.document import Document

CONFIGS, PROFILES = "configs", "profiles"
ENDINGS = (".yml", ".yaml")
SCHEMA = "named"

# The keys of config.yml that are settings here, too; every other key is a value.
SETTINGS = (
    *("security", "approvals", "custom_tools", "mcp", "limits", "store", "models"),
    *("interpreters", "tools", "web", "audit", "telemetry", "secrets"),
)
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
# From here on a key looks like a setting that was misspelt, and would be without effect.
_ALIKE = 0.85


@dataclass(frozen=True, slots=True)
class Voice:
    """One that speaks: config.yml, a profile or a named config. Untrusted, it only tightens."""

    document: Document
    scope: Scope
    trusted: bool
    # What it is called where it is not the config.yml of its scope.
    name: str = ""

    @property
    def settings(self) -> Document:
        return settings_of(self.document) if self.name else self.document

    @property
    def values(self) -> dict[str, Any]:
        return values_of(self.document.data)


@dataclass(frozen=True, slots=True)
class NamedConfigs:
    """Looks for them around one place. `parse` and `trusted` as for `load_settings`."""

    places: Places
    parse: Callable[[str], Document]
    trusted: Callable[[Document], bool]
    # The config.yml of each scope, for the profiles inside them.
    inline: tuple[Voice, ...] = ()

    def find(self, kind: str, name: str) -> list[Voice]:
        """The one that counts, and after it a project's own if that may only tighten.

        Empty where there is none. Raises DefinitionInvalid for one that cannot be used.
        """
        if not _NAME.fullmatch(name):
            return []
        tightening: list[Voice] = []
        for scope in SEARCH_ORDER:
            voice = self._in_scope(scope, kind, name)
            if voice is not None and voice.trusted:
                return [voice, *tightening]
            tightening += [voice] if voice is not None else []
        return tightening

    def names(self, kind: str) -> list[str]:
        """Every name there is, each once."""
        found = []
        for scope in SEARCH_ORDER:
            with suppress(OSError):
                found += os.listdir(self._folder(scope, kind) or "")
        stems = [stem for stem, ending in map(os.path.splitext, found) if ending in ENDINGS]
        inside = [name for voice in self.inline for name in voice.document.data.get(PROFILES) or ()]
        return sorted({*filter(_NAME.fullmatch, stems), *(inside if kind == PROFILES else ())})

    def paths(self, kind: str, name: str) -> list[str]:
        """Every file that may have a say, whether it exists or not."""
        if not _NAME.fullmatch(name):
            return []
        folders = [self._folder(scope, kind) for scope in SEARCH_ORDER]
        files = [f"{folder}/{name}{ending}" for folder in folders if folder for ending in ENDINGS]
        return files + [path for _, path in self.places.config_files() if kind == PROFILES]

    def _in_scope(self, scope: Scope, kind: str, name: str) -> Voice | None:
        found = [*self._files(scope, kind, name), *self._inside(scope, kind, name)]
        if len(found) > 1:
            places = " and ".join(voice.document.source for voice in found)
            reason = f"{places} both define `{name}`"
            raise DefinitionInvalid([Problem(found[0].document.source, reason, hint="keep one")])
        return found[0] if found else None

    def _files(self, scope: Scope, kind: str, name: str) -> Iterator[Voice]:
        folder = self._folder(scope, kind)
        for path in (f"{folder}/{name}{ending}" for ending in ENDINGS if folder):
            if not os.path.lexists(path):
                continue
            if scope is not Scope.LOCAL and (reason := _not_own(path)):
                raise DefinitionInvalid([Problem(path, reason, rule="ownership")])
            document = checked(self.parse(path))
            yield Voice(document, scope, scope is not Scope.LOCAL or self.trusted(document), name)

    def _inside(self, scope: Scope, kind: str, name: str) -> Iterator[Voice]:
        for voice in self.inline if kind == PROFILES else ():
            if voice.scope is scope and name in (voice.document.data.get(PROFILES) or {}):
                inner = voice.document.at((PROFILES, name))
                yield replace(voice, document=checked(inner), name=name)

    def _folder(self, scope: Scope, kind: str) -> str | None:
        for place, path in self.places.config_files():
            if place is scope:
                return os.path.join(os.path.dirname(path), kind)
        return None


def named_files(folder: str) -> list[str]:
    """Every named config and profile beside the config.yml of a folder."""
    found: list[str] = []
    for kind in (CONFIGS, PROFILES):
        with suppress(OSError):
            names = sorted(os.listdir(os.path.join(folder, kind)))
            found += [os.path.join(folder, kind, name) for name in names if name.endswith(ENDINGS)]
    return found


def settings_of(document: Document) -> Document:
    """Only what config.yml would understand, with its lines."""
    return document.only(SETTINGS)


def values_of(data: Mapping[str, Any]) -> dict[str, Any]:
    """What is no setting."""
    return {key: value for key, value in data.items() if key not in SETTINGS}


def checked(document: Document) -> Document:
    """The document, its settings checked; DefinitionInvalid with every problem."""
    if document.checked == SCHEMA:
        return document
    problems = list(problems_of(document))
    if problems:
        raise DefinitionInvalid(problems)
    return replace(document, checked=SCHEMA)


def problems_of(document: Document) -> Iterator[Problem]:
    """What is wrong with a named or inline config."""
    from difflib import SequenceMatcher  # noqa: PLC0415 - first time only

    from tongs.schema.check_document import check_document  # noqa: PLC0415 - first time only

    if not isinstance(document.data, dict):
        yield document.problem((), "must be keys and values", rule="schema")
        return
    for key in document.data:
        if key == PROFILES:
            yield document.problem((key,), "a named config cannot hold profiles", rule="schema")
        alike = [one for one in SETTINGS if SequenceMatcher(None, key, one).ratio() > _ALIKE]
        if alike and key not in SETTINGS:
            hint = f"write `{alike[0]}`, or give the value another name"
            yield document.problem((key,), "looks like a misspelt setting", hint=hint)
    yield from check_document(settings_of(document), "config")


def merged(values: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Both together; where both say something, the second is right."""
    found = dict(values)
    for key, value in over.items():
        before = found.get(key)
        both = isinstance(before, dict) and isinstance(value, dict)
        found[key] = merged(before, value) if both else value  # type: ignore[arg-type]  # both are
    return found


def _not_own(path: str) -> str | None:
    folder = os.path.dirname(path)
    return why_not_own(path) or why_not_own(folder) or why_not_own(os.path.dirname(folder))
