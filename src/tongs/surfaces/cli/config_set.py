"""`tongs config set KEY VALUE`: one line of a config file, and nothing else of it."""

# ruff: noqa: PLC0415 - imports inside functions are how the command line starts fast

from __future__ import annotations

from tongs.core.scope import Scope
from tongs.surfaces.cli import failure
from tongs.surfaces.cli.config_get import key_path
from tongs.surfaces.cli.config_list import shown
from tongs.surfaces.cli.invocation import Invocation
from tongs.surfaces.cli.parser import Parser, add_scope_options

SCOPES = ("local", "user", "global")


def options(parser: Parser) -> None:
    parser.add_argument("key", metavar="KEY")
    parser.add_argument("value", metavar="VALUE")
    add_scope_options(parser, default="user", scopes=SCOPES)


def run(invocation: Invocation) -> int:
    from tongs.runtime.configuring import Configuring

    options, console = invocation.options, invocation.console
    configuring = Configuring.here()
    path = key_path(options.key)
    file, value = configuring.set(path, options.value, invocation.scope)
    console.say(f"{options.key} is {shown(value)} now: {file}")
    if invocation.scope is Scope.LOCAL:
        say_untrusted(invocation, file)
    return failure.OK


def say_untrusted(invocation: Invocation, file: str) -> None:
    """A project's file counts in full only where its reader has accepted it."""
    console = invocation.console
    console.say("a project's file may only tighten until it is trusted")
    console.hint(f"tongs trust {file}")
