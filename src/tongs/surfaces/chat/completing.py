"""What Tab offers for an unfinished line: commands, tools, their parameters, and values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tongs.core.annotations import Any
from tongs.core.record import dataclass
from tongs.core.tool import Tool
from tongs.surfaces.chat.slash import divided, name_of, order

# Names of parameters that take a path, where the schema does not say so itself.
_PATHS = ("path", "file", "filename", "dir", "directory", "folder")
_PATH_FORMATS = ("path", "file-path", "directory-path")
_MOST_FILES = 200


@dataclass(frozen=True, slots=True)
class Offered:
    """`text` takes the place of the last `replaces` characters; `note` stands beside it."""

    text: str
    replaces: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What can be named. `tool` gives None where nobody knows its parameters."""

    commands: Mapping[str, str]
    tools: Callable[[], Iterable[tuple[str, str]]]
    tool: Callable[[str], Tool | None]
    values: Callable[[str], Iterable[str]]
    folder: str


def offered(line: str, known: Known) -> list[Offered]:
    """For the text before the cursor; nothing where it is no command."""
    if not line.startswith("/") or line.startswith("//") or "\n" in line:
        return []
    name, blank, rest = line[1:].partition(" ")
    if not blank:
        return list(_names(name, known))
    if "/" in name:
        return []
    before, last = divided(rest)
    current, typed = last.text, len(rest) - last.began
    if name in known.commands:
        return [Offered(value, typed) for value in _of_command(name, before, current, known)]
    tool = known.tool(name)
    if tool is None:
        return []
    return [Offered(text, typed, note) for text, note in _arguments(tool, before, current, known)]


def _of_command(name: str, before: Sequence[str], current: str, known: Known) -> Iterable[str]:
    if before:
        return ()
    if name == "save":
        return map(quoted, _files(current, known.folder))
    return (value for value in known.values(name) if value.startswith(current))


def _names(start: str, known: Known) -> Iterator[Offered]:
    for name, note in known.commands.items():
        if name.startswith(start):
            yield Offered(f"/{name}", len(start) + 1, note)
    for name, note in known.tools():
        if name.startswith(start) and name not in known.commands:
            yield Offered(f"/{name}", len(start) + 1, note)


def _arguments(
    tool: Tool, before: Sequence[str], current: str, known: Known
) -> Iterator[tuple[str, str]]:
    """What the word that is being typed may become, each with a note."""
    properties: Mapping[str, Any] = tool.input_schema.get("properties", {})
    given = {name for word in before if (name := name_of(tool, word))}
    name, equals, value = current.partition("=")
    if equals and name in properties:
        for each in _values(name, properties[name], value, known.folder):
            yield f"{name}={quoted(each)}", ""
        return
    free = [name for name in order(tool) if name not in given]
    # A word without a name is for the next parameter: its values come first.
    nameless = sum(not name_of(tool, word) for word in before)
    if nameless < len(free):
        expected = free[nameless]
        # A whole folder is no help where nobody has begun to name a file.
        listed = _listed(properties[expected])
        if current or listed:
            for each in _values(expected, properties[expected], current, known.folder):
                yield quoted(each), expected if listed else ""
    for each in free[nameless:]:
        if each.startswith(current):
            yield f"{each}=", _note(properties[each])


def _values(name: str, schema: Any, start: str, folder: str) -> Iterable[str]:
    if known := _listed(schema):
        return [value for value in known if value.startswith(start)]
    return _files(start, folder) if takes_path(name, schema) else ()


def _listed(schema: Any) -> list[str]:
    """The values a schema allows, as they are typed."""
    if not isinstance(schema, Mapping):
        return []
    if schema.get("type") == "boolean":
        return ["true", "false"]
    values = schema.get("enum", (schema["const"],) if "const" in schema else ())
    return [str(value) for value in values if isinstance(value, str | int | float)]


def takes_path(name: str, schema: Any) -> bool:
    """Whether a parameter is a path: its schema says so, or it is text with such a name."""
    if not isinstance(schema, Mapping) or schema.get("type", "string") != "string":
        return False
    last = name.lower().replace("-", "_").rpartition("_")[2]
    return schema.get("format") in _PATH_FORMATS or last in _PATHS


def _files(start: str, folder: str) -> Iterator[str]:
    above, _, beginning = start.rpartition("/")
    prefix = f"{above}/" if "/" in start else ""
    where = os.path.join(folder, os.path.expanduser(prefix)) if prefix else folder
    try:
        with os.scandir(where) as entries:
            found = sorted((entry.name, entry.is_dir()) for entry in entries)
    except OSError:
        return
    fitting = [
        (name, is_folder)
        for name, is_folder in found
        if name.startswith(beginning) and (beginning or not name.startswith("."))
    ]
    for name, is_folder in fitting[:_MOST_FILES]:
        yield f"{prefix}{name}{'/' if is_folder else ''}"


def quoted(value: str) -> str:
    """As it must be typed to be one word."""
    if value and not any(character.isspace() or character in "'\"\\" for character in value):
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _note(schema: Any) -> str:
    text = schema.get("description", "") if isinstance(schema, Mapping) else ""
    return " ".join(str(text).split())
