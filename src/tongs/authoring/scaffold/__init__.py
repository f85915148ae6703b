"""Small tools to start from: one for each shape, kind and language, with everything explained.

The texts lie in `files/`; `@NAME@` and the like stand for what differs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from tongs.core.errors import ErrorCode, ToolError
from tongs.core.record import dataclass

SHAPES = ("yaml", "executable", "manifest")
KINDS = ("http", "command", "python")
LANGUAGES = ("bash", "python", "node")

_FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "files")
_REQUIRES = {"bash": '["jq>=1.5"]', "python": '["python3>=3.8"]', "node": '["node>=14"]'}
_ENTRYPOINT = {"bash": "count.sh", "python": "count.py", "node": "count.js"}
_ARGUMENTS = {
    "yaml": "TEXT='to be or not to be' WORD=be",
    "http": "owner=python repo=cpython",
}


@dataclass(frozen=True, slots=True)
class File:
    """`path` is relative to the tool folder, or to the project root where `in_project`."""

    path: str
    text: str
    executable: bool = False
    in_project: bool = False


@dataclass(frozen=True, slots=True)
class Scaffold:
    """The files of a tool; the first is its definition. `arguments` are typed after its name."""

    files: tuple[File, ...]
    arguments: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """What kind of tool to start from; None leaves it open. `local`: it belongs to a project."""

    name: str
    shape: str | None = None
    kind: str | None = None
    language: str | None = None
    local: bool = True


def scaffold(wanted: Wanted) -> Scaffold:
    """The tool; ToolError where the wishes do not go together."""
    shape = wanted.shape or _shape_of(wanted)
    if wanted.kind is not None and shape != "manifest":
        raise _refused(f"--kind {wanted.kind} is for manifests", "--shape manifest")
    if shape == "yaml":
        return _yaml(wanted)
    if shape == "executable":
        return _executable(wanted)
    return _manifest(wanted)


def _shape_of(wanted: Wanted) -> str:
    if wanted.kind is not None:
        return "manifest"
    return "yaml" if wanted.language is None else "executable"


def _yaml(wanted: Wanted) -> Scaffold:
    language = wanted.language or "bash"
    if language == "node":
        raise _refused("a YAML tool is written in bash or python", "--shape executable --lang node")
    text = _text(f"yaml.{language}.yaml", {"NAME": wanted.name})
    return Scaffold((File(f"{wanted.name}.yaml", text),), _ARGUMENTS["yaml"])


def _executable(wanted: Wanted) -> Scaffold:
    text = _text(f"executable.{wanted.language or 'bash'}", {"NAME": wanted.name})
    return Scaffold((File(wanted.name, text, executable=True),), _arguments("executable"))


def _manifest(wanted: Wanted) -> Scaffold:
    kind = wanted.kind or "command"
    if wanted.language is not None and kind not in ("command", wanted.language):
        raise _refused(f"a manifest of kind {kind} has no --lang", "leave --lang out")
    beside: tuple[File, ...] = ()
    names = {"NAME": wanted.name}
    if kind == "command":
        language = wanted.language or "bash"
        file = _ENTRYPOINT[language]
        # Paths start at the project root; elsewhere at the directory of the tool.
        folder = f".tongs/tools/{wanted.name}" if wanted.local else "."
        names |= {"ENTRYPOINT": f"{folder}/{file}", "REQUIRES": _REQUIRES[language]}
        text = _text(f"command.{language}", names)
        beside = (File(f"{wanted.name}/{file}", text, executable=True),)
    elif kind == "python":
        module = "".join(letter if letter.isalnum() else "_" for letter in wanted.name)
        module = module if module[0].isalpha() or module[0] == "_" else f"_{module}"
        names["MODULE"] = f"tools.{module}" if wanted.local else module
        path = f"tools/{module}.py" if wanted.local else f"{wanted.name}/{module}.py"
        beside = (File(path, _text("module.python", names), in_project=wanted.local),)
    definition = File(f"{wanted.name}/tool.yml", _text(f"{kind}.yml", names))
    return Scaffold((definition, *beside), _arguments(kind))


def _arguments(kind: str) -> str:
    return _ARGUMENTS.get(kind, "text='to be or not to be' word=be")


def _text(file: str, names: Mapping[str, str]) -> str:
    with open(os.path.join(_FOLDER, file), encoding="utf-8") as opened:
        text = opened.read()
    for name, value in names.items():
        text = text.replace(f"@{name}@", value)
    return text


def _refused(message: str, hint: str) -> ToolError:
    return ToolError(ErrorCode.INVALID_ARGUMENTS, f"tool new: {message}", hint=hint)
