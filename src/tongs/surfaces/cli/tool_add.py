"""`tongs tool add`: write a definition from options."""

from __future__ import annotations

from tongs.authoring.definition import definition
from tongs.authoring.yaml_text import yaml_text
from tongs.registry import RESERVED
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, UsageError, add_scope_options


def options(parser: Parser) -> None:
    parser.add_argument("name", metavar="NAME")
    parser.add_argument("--description", required=True, metavar="DESC")
    for kind in ("bash", "cmd", "pwsh", "python", "run"):
        parser.add_argument(f"--{kind}", metavar="COMMAND")
    parser.add_argument("--script", metavar="SCRIPT")
    parser.add_argument("--shell", metavar="SHELL")
    parser.add_argument("--tool", metavar="NAME")
    parser.add_argument("--arguments", metavar="ARGS")
    parser.add_argument("--input", metavar="INPUT")
    parser.add_argument("--step", action="append", nargs="+", metavar="NAME")
    parser.add_argument("--parameter", action="append", nargs="+", metavar="NAME")
    parser.add_argument("--network", action="append", nargs="?", const=True, metavar="HOST")
    for permission in ("read", "write"):
        parser.add_argument(f"--{permission}", action="append", metavar="PATH")
    parser.add_argument("--secret", action="append", metavar="NAME")
    parser.add_argument("--approval", metavar="REASON")
    platforms = ("windows", "linux", "macos")
    parser.add_argument("--platform", action="append", choices=platforms)
    parser.add_argument("--tag", action="append", metavar="TAG")
    parser.add_argument("--timeout", metavar="MILLISECONDS")
    parser.add_argument("--working-directory", metavar="DIR")
    parser.add_argument("--env", action="append", metavar="NAME=VALUE")
    parser.add_argument("--force", action="store_true")
    add_scope_options(parser, default="local", scopes=("local", "user", "global"))


def run(invocation: Invocation) -> int:
    given = vars(invocation.options)
    name = given["name"]
    if given["shell"] and given["script"] is None:
        raise UsageError("tool add: --shell needs --script", "tongs help tool add")
    text = yaml_text(definition(name, given))
    definitions = invocation.runtime.definitions
    path = definitions.write(name, text, invocation.scope, force=given["force"])
    invocation.console.say(f"added {name}: {path}")
    if name in RESERVED:
        invocation.console.warn(
            f"`{name}` is a tool that comes with Tongs: yours answers to yaml:{name}"
        )
    return 0
