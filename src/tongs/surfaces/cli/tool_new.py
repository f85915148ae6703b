"""`tongs tool new`: a small tool to start from."""

from __future__ import annotations

import os
import re

from tongs.authoring.scaffold import KINDS, LANGUAGES, SHAPES, Scaffold, Wanted, scaffold
from tongs.core.scope import Scope
from tongs.registry import RESERVED
from tongs.runtime.definitions import NewFile
from tongs.surfaces.cli.failure import OK
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options

# As in the schemas.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--shape", choices=SHAPES)
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--lang", choices=LANGUAGES)
    parser.add_argument("--force", action="store_true")
    add_scope_options(parser, default="local", scopes=("local", "user", "global"))


def run(invocation: Invocation) -> int:
    options = invocation.options
    check_name("tool new", options.name)
    local = invocation.scope is Scope.LOCAL
    made = scaffold(Wanted(options.name, options.shape, options.kind, options.lang, local))
    files = _files(invocation, made)
    definitions = invocation.runtime.definitions
    tool = definitions.create(options.name, files, invocation.scope, force=options.force)
    show_written(invocation, [file.path for file in files])
    invocation.console.say(f"next:  tongs tool run {tool.name} {made.arguments}")
    invocation.console.say(f"       tongs tool test {tool.name}")
    if local:
        where = tool.parts[0] if tool.origin.format == "manifest" else tool.origin.path
        path = os.path.relpath(where)
        invocation.console.say(f"       tongs trust --dev {path}   while you edit it")
    return OK


def check_name(command: str, name: str) -> None:
    """Refuse what no new tool should be called; it becomes the name of a file."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{command}: `{name}` is no name for a tool",
            "up to 128 letters, digits, `_`, `.` and `-`, and neither `.` nor `-` at its start",
        )
    if name in RESERVED:
        raise UsageError(
            f"{command}: `{name}` is a tool that comes with Tongs, and would answer instead",
            "choose another name",
        )


def show_written(invocation: Invocation, paths: list[str]) -> None:
    for path in paths:
        invocation.console.say(f"wrote {path}")


def _files(invocation: Invocation, made: Scaffold) -> list[NewFile]:
    places = invocation.runtime.places
    tools = places.folder_for_writing(invocation.scope)
    return [
        NewFile(
            os.path.join(places.root if file.in_project else tools, file.path),
            file.text.encode(),
            file.executable,
        )
        for file in made.files
    ]
