"""Every setting that counts, and the line it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tongs.config.merging import merged_settings
from tongs.config.named import Voice
from tongs.config.settings import CustomTools
from tongs.config.voices import Voices
from tongs.core.annotations import Any
from tongs.core.errors import Problem
from tongs.core.permissions import Limits
from tongs.core.record import dataclass
from tongs.schema.document import Document, PathTuple, field_name
from tongs.schema.units import duration, size

DEFAULT = "default"

# Lists to which every voice adds.
_JOINED = (
    ("security", "auto_approve"),
    ("security", "auto_deny"),
    ("security", "allow_private_hosts"),
    ("web", "allow"),
)
# Each of these holds beside the others.
_CEILING = ("security", "max_permissions")
# Read by later versions only, so nothing inside of them is told apart.
_WHOLE = ("mcp", "store")
_NOTHING_YET = "nothing reads it yet"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value as it is written, and the lines it comes from; `default` where no file says it."""

    path: tuple[str, ...]
    value: Any
    sources: tuple[str, ...]
    note: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    settings: tuple[Setting, ...]
    ignored: tuple[Problem, ...]


def listing(voices: Voices) -> Listing:
    """What everything that speaks comes to."""
    ignored = merged_settings(voices).ignored
    refused = {(problem.file, problem.field) for problem in ignored}
    found: dict[tuple[str, ...], Setting] = {one.path: one for one in _defaults()}
    bounds: dict[tuple[str, ...], Setting] = {}
    ceilings: list[Setting] = []
    for voice in voices.all:
        for setting in _said(voice, refused):
            if setting.path == _CEILING:
                ceilings.append(setting)
            elif not voice.trusted and setting.path[0] == "tools":
                bounds[setting.path] = _smaller(bounds.get(setting.path), setting)
            else:
                found[setting.path] = _after(found.get(setting.path), setting)
    for path, bound in bounds.items():
        # Whoever speaks later, what a project takes away from a tool stays away.
        found[path] = _smaller(found.get(path), bound)
    ceilings += [
        Setting(_CEILING, ceiling.permissions.to_wire(), (ceiling.source,))
        for ceiling in voices.ceilings
    ]
    order = sorted([*found.values(), *ceilings], key=lambda setting: setting.path)
    return Listing(tuple(order), ignored + voices.foreign)


def _said(voice: Voice, refused: set[tuple[str, str]]) -> Iterator[Setting]:
    document = voice.settings
    for path in _leaves(document.data, ()):
        fields = {(document.source, field_name(path[:n])) for n in range(1, len(path) + 1)}
        if fields & refused:
            continue
        source = f"{document.source}:{document.line_of(path)}"
        if voice.name:
            source += f" (profile {voice.name})"
        note = _NOTHING_YET if path[0] in _WHOLE else ""
        yield Setting(path, _value(document, path), (source,), note)


def _leaves(data: Any, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    whole = path == _CEILING or path[-1:] == ("permissions",) or (path and path[0] in _WHOLE)
    # A later file says all of a model, or nothing.
    whole = whole or (len(path) == 2 and path[0] == "models")
    if not isinstance(data, Mapping) or whole or (path and not data):
        yield path
        return
    for key, value in data.items():
        if (*path, key) != ("profiles",):
            yield from _leaves(value, (*path, key))


def _value(document: Document, path: PathTuple) -> Any:
    data = document.data
    for key in path:
        data = data[key]
    return data


def _after(before: Setting | None, said: Setting) -> Setting:
    if before is None or said.path not in _JOINED:
        return said
    joined = list(dict.fromkeys((*before.value, *said.value)))
    return Setting(said.path, joined, (*before.sources, *said.sources))


def _smaller(before: Setting | None, said: Setting) -> Setting:
    """The one that leaves less; both were checked to be sizes, times or counts."""
    return said if before is None or _amount(said) <= _amount(before) else before


def _amount(setting: Setting) -> float:
    read = duration if setting.path[-1] in ("timeout", "cpu") else size
    return float(read(setting.value))


def _defaults() -> Iterator[Setting]:
    limits, custom = Limits(), CustomTools()
    values: dict[tuple[str, ...], Any] = {
        ("security", "enforcement"): "strict",
        ("limits", "memory"): _size(limits.memory),
        ("limits", "processes"): limits.processes,
        ("limits", "file_size"): _size(limits.file_size),
        ("limits", "open_files"): limits.open_files,
        ("limits", "output"): _size(limits.output),
        ("custom_tools", "enabled"): custom.enabled,
        ("custom_tools", "timeout"): f"{custom.timeout:g}s",
        ("custom_tools", "prefix"): custom.prefix,
    }
    for path, value in values.items():
        yield Setting(path, value, (DEFAULT,))


def _size(count: int) -> str:
    for unit, factor in (("GiB", 1024**3), ("MiB", 1024**2)):
        if count % factor == 0:
            return f"{count // factor}{unit}"
    return str(count)
